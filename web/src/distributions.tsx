// Histograms over time: a column is a step, a row a power of two.

import { useState } from "preact/hooks";
import { Heatmap } from "./layers";
import { count } from "./numbers";
import type { Panel } from "./types";

export function Distributions({ panel, axis }: { panel: Panel; axis: string }) {
  const owners = panel.extra.owners ?? [];
  const [place, setPlace] = useState(0);
  const [hover, setHover] = useState("");
  const one = owners[Math.min(place, owners.length - 1)];
  if (!one) return null;
  const rows = one.rows.map((_, row) => one.shares.map((column) => column[row]));
  const most = Math.max(...one.shares.map((column) => Math.max(...column)), 1e-9);
  return (
    <div class="layers single">
      <label class="picker">of <select value={place} onChange={(e) => setPlace(Number((e.target as HTMLSelectElement).value))}>
        {owners.map((each, i) => <option key={each.owner} value={i}>{each.owner}</option>)}
      </select></label>
      <div class="map">
        <Heatmap rows={rows} column={null} fromBottom heatOf={(v) => (v > 0 ? Math.sqrt(v / most) : null)}
          label={`${panel.title}, ${one.owner}: ${one.rows[0]} at the bottom, ${one.rows[one.rows.length - 1]} at the top`}
          onHover={(row, column) => setHover(row < 0 ? "" : `${one.rows[row]}: ${(100 * rows[row][column]).toPrecision(3)} % at ${axis} ${count(one.steps[column])}`)} />
        <p class="scale"><span>{one.rows[0]} (bottom) … {one.rows[one.rows.length - 1]} (top)</span><span>{axis} {count(one.steps[0])} to {count(one.steps[one.steps.length - 1])}</span><span class="hover">{hover}</span></p>
      </div>
    </div>
  );
}
