// A vital per layer: a bar for each, first layer on top, at the step of the slider; and all steps as a map.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { colour, heat, onLookChange } from "./look";
import { count, number } from "./numbers";
import type { Curves, Panel } from "./types";

interface Table { names: string[]; steps: number[]; rows: (number | null)[][]; bad: Set<number>[] }

/** All layers on the steps of the one that was read most often. */
function table(panel: Panel, curves: Curves): Table {
  const known = panel.lines.filter((line) => curves.get(line.key)?.steps.length);
  const longest = known.reduce((best, line) => {
    const steps = curves.get(line.key)!.steps;
    return steps.length > best.length ? steps : best;
  }, [] as number[]);
  const rows = known.map((line) => {
    const curve = curves.get(line.key)!;
    let place = 0;
    return longest.map((step) => {
      while (place + 1 < curve.steps.length && curve.steps[place + 1] <= step) place += 1;
      return curve.steps[place] <= step ? curve.mean[place] : null;
    });
  });
  const bad = known.map((line) => new Set(curves.get(line.key)!.notFinite.map(([step]) => step)));
  return { names: known.map((line) => line.label), steps: longest, rows, bad };
}

export function Layers({ panel, curves, axis, version = 0 }: { panel: Panel; curves: Curves; axis: string; version?: number }) {
  const data = useMemo(() => table(panel, curves), [panel, curves, version]);
  const end = data.steps.length - 1;
  const [chosen, setChosen] = useState<number | null>(null);
  const at = Math.min(chosen ?? end, end);
  const [hover, setHover] = useState("");
  const finite = data.rows.flat().filter((v): v is number => v !== null && (!panel.log || v > 0));
  if (!finite.length) return <p class="quiet">Nothing but zeros or values that are no numbers.</p>;
  let low = panel.log ? finite.reduce((a, b) => Math.min(a, b), Infinity) : 0;
  const high = finite.reduce((a, b) => Math.max(a, b), -Infinity) || 1;
  if (panel.log && high / low > 1e12) low = high / 1e12;
  if (panel.log) low /= Math.max(1.5, (high / low) ** 0.05); // the smallest has a bar too
  const share = (v: number) => (panel.log ? (high > low ? Math.log(v / low) / Math.log(high / low) : 1) : (v - low) / (high - low || 1));
  const now = data.rows.map((row) => row[at] ?? null);
  const largest = Math.max(...now.map((v) => v ?? 0));
  const total = now.reduce((sum: number, v) => sum + (v ?? 0) ** 2, 0);
  const [from, to] = band(panel, largest, low, high);
  const gradient = panel.id === "layers:grad_norm";
  return (
    <div class="layers">
      <div class="bars" tabIndex={data.names.length > 16 ? 0 : undefined} role="group" aria-label={`${panel.title}, bars`}>
        <table>
          <thead><tr><th scope="col">layer</th><th scope="col"><span class="sr">bar</span></th><th scope="col">value</th>{gradient && <th scope="col">share</th>}</tr></thead>
          <tbody>
            {data.names.map((name, row) => {
              const value = now[row];
              const good = value !== null && !(panel.extra.faint && value < panel.extra.faint * largest) && !outside(panel, value);
              return (
                <tr key={name}>
                  <th scope="row" title={name}><bdi>{name}</bdi></th>
                  <td class="track">
                    <span class="band" style={{ left: `${100 * share2(from, share)}%`, width: `${100 * (share2(to, share) - share2(from, share))}%` }} />
                    <span class={good ? "bar" : "bar off"} style={{ width: value === null || (panel.log && value <= 0) ? "0" : `${Math.max(1, 100 * Math.min(1, Math.max(0, share(value))))}%` }} />
                  </td>
                  <td class="num">{value === null ? "NaN" : number(value)}</td>
                  {gradient && <td class="num">{value === null || !total ? "–" : percent(value ** 2 / total)}</td>}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <div class="map">
        <Heatmap
          rows={data.rows} column={at} heatOf={(v) => (panel.log && v <= 0 ? null : share(v))} label={`${panel.title}, map of layer by ${axis}`}
          onHover={(row, column) => setHover(row < 0 ? "" : `${data.names[row]}, ${axis} ${count(data.steps[column])}: ${data.rows[row][column] === null ? "no number" : number(data.rows[row][column])}`)}
          onPick={setChosen}
        />
        <label class="slider">{axis} {count(data.steps[at])}
          <input type="range" min={0} max={end} value={at} aria-valuetext={`${axis} ${data.steps[at]}`} onInput={(e) => setChosen(Number((e.target as HTMLInputElement).value))} />
        </label>
        <p class="scale"><span class="ramp" aria-hidden="true" /><span>{number(low)} to {number(high)}{panel.log ? ", log" : ""}</span>
          {from !== null && to !== null && <span><i class="bandkey" /> usual: {number(from)} to {number(to)}</span>}
          <span class="hover" aria-live="off">{hover}</span></p>
      </div>
      {panel.extra.table && (
        <details class="wide"><summary>Gradient summary: layer, norm, share, status</summary>
          <div class="scroll"><table class="plain"><thead><tr><th scope="col">layer</th><th scope="col">norm</th><th scope="col">share</th><th scope="col">status</th></tr></thead>
            <tbody>{panel.extra.table.map((row) => <tr key={row.layer}><th scope="row">{row.layer}</th><td>{row.norm}</td><td>{row.share}</td><td class={row.status === "in balance" ? "" : "alarmtext"}>{row.status}</td></tr>)}</tbody></table></div>
        </details>
      )}
    </div>
  );
}

/** Where bars usually end: given for the vital, or for gradients within a factor of the largest. */
function band(panel: Panel, largest: number, low: number, high: number): [number | null, number | null] {
  if (panel.extra.range) return [Math.max(panel.extra.range[0], low), Math.min(panel.extra.range[1], high)];
  if (panel.extra.faint) return [Math.max(low, panel.extra.faint * largest), Math.min(high, largest)];
  return [null, null];
}

function outside(panel: Panel, value: number): boolean {
  return panel.extra.range ? value < panel.extra.range[0] || value > panel.extra.range[1] : false;
}

function share2(value: number | null, share: (v: number) => number): number {
  return value === null || value < 0 ? 0 : Math.min(1, Math.max(0, share(value) || 0));
}

function percent(share: number): string {
  return share > 0 && share < 0.005 ? "< 1 %" : `${Math.round(100 * share)} %`;
}

interface HeatmapProps {
  rows: (number | null)[][]; column: number | null; heatOf: (v: number) => number | null; label: string;
  onHover: (row: number, column: number) => void; onPick?: (column: number) => void; fromBottom?: boolean;
}

export function Heatmap({ rows, column, heatOf, label, onHover, onPick, fromBottom }: HeatmapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = rows[0]?.length ?? 0;
  const draw = () => {
    const c = canvas.current?.getContext("2d");
    if (!c || !canvas.current || !width) return;
    canvas.current.width = width * 6;
    canvas.current.height = rows.length * 6;
    rows.forEach((row, y) => row.forEach((value, x) => {
      const hot = value === null ? null : heatOf(value);
      c.fillStyle = value === null ? colour("alarm") : hot === null ? colour("zero") : heat(hot);
      c.fillRect(x * 6, (fromBottom ? rows.length - 1 - y : y) * 6, 6, 6);
    }));
    if (column !== null) {
      c.fillStyle = colour("ink");
      c.fillRect(column * 6 + 2, 0, 2, canvas.current.height);
    }
  };
  useEffect(draw);
  useEffect(() => onLookChange(draw), []);
  const cell = (event: MouseEvent): [number, number] => {
    const rect = canvas.current!.getBoundingClientRect();
    const inside = (share: number, cells: number) => Math.min(cells - 1, Math.max(0, Math.floor(share * cells)));
    const row = inside((event.clientY - rect.top) / rect.height, rows.length);
    return [fromBottom ? rows.length - 1 - row : row, inside((event.clientX - rect.left) / rect.width, width)];
  };
  return (
    <canvas
      ref={canvas} class="heat" role="img" aria-label={label} style={{ height: `${Math.min(360, Math.max(110, rows.length * 14))}px` }}
      onMouseMove={(e) => onHover(...cell(e))} onMouseLeave={() => onHover(-1, -1)} onClick={(e) => onPick?.(cell(e)[1])}
    />
  );
}
