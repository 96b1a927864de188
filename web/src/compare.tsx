// Several runs on one axis, and where the others diverge from the first.

import { useEffect, useState } from "preact/hooks";
import { unpacked } from "./curves";
import { count } from "./numbers";
import { PanelView } from "./panel";
import { Prose } from "./prose";
import { Zoom } from "./report";
import { ask, link, type Compared, type PanelData, type RunIndex } from "./server";
import type { Curves, Mark, Panel } from "./types";
import { view } from "./view";

const MAX_SHOWN = 6; // lines at first; more can be switched on in the legend
const LOG = /^(grad_norm|relative_update|update_norm|param_norm|lr$|effective)/;

export function ComparePage({ names }: { names: string[] }) {
  const [keys, setKeys] = useState<string[]>([]);
  const [key, setKey] = useState("loss");
  const [curves, setCurves] = useState<Curves>(new Map());
  const [answer, setAnswer] = useState<Compared[] | null>(null);
  const [failed, setFailed] = useState("");
  const [version, setVersion] = useState(1);
  const runs = names.slice(0, 12);
  useEffect(() => {
    view.range = null;
    view.whole = [0, 1];
    void Promise.all(runs.map((name) => ask<RunIndex>("run", [["run", name]]))).then((found) => {
      const common = found[0].keys.filter((each) => found.every((run) => run.keys.includes(each)));
      setKeys(common);
      if (!common.includes("loss") && common.length) setKey(common.includes("val/loss") ? "val/loss" : common[0]);
    }, (error: Error) => setFailed(error.message));
    void ask<{ comparisons: Compared[] }>("compare", runs.map((name) => ["run", name])).then((found) => setAnswer(found.comparisons), (error: Error) => setFailed(error.message));
  }, []);
  useEffect(() => {
    let current = true;
    void Promise.all(runs.map((name) => ask<PanelData>("series", [["run", name], ["key", key]]))).then((found) => {
      if (!current) return;
      const next: Curves = new Map();
      found.forEach((data, i) => {
        const curve = unpacked(data.curves).get(key);
        if (curve) { next.set(runs[i], curve); view.whole = [0, Math.max(view.whole[1], curve.steps.at(-1) ?? 1)]; }
      });
      setCurves(next);
      setVersion((v) => v + 1);
    }, (error: Error) => setFailed(error.message));
    return () => { current = false; };
  }, [key]);
  const marks: Mark[] = (answer ?? []).flatMap((each) => {
    const here = each.divergences.find((one) => one.key === key) ?? each.divergences[0];
    if (!here) return [];
    const who = (answer ?? []).length > 1 ? `${each.b} diverges` : "they diverge";
    return [{ step: here.step, label: `${who}${here.key === key ? "" : ` in ${here.key}`}, ${count(here.step)}` }];
  });
  const panel: Panel = {
    id: `compare:${key}`, section: "loss", title: key, say: "", kind: "lines", levels: [], ranges: [], marks, gap: [], slim: false, folded: false, extra: {},
    log: LOG.test(key) || wide(curves), lines: runs.map((name) => ({ key: name, label: name, role: "other", smooth: 0 })),
  };
  return <>
    <header class="listhead"><h1>{runs.length} runs on one axis</h1>
      <label class="picker">of <select value={key} onChange={(e) => setKey((e.target as HTMLSelectElement).value)}>{(keys.length ? keys : [key]).map((each) => <option key={each}>{each}</option>)}</select></label>
      <Zoom steps={view.whole[1] + 1} axis="step" />
    </header>
    {names.length > MAX_SHOWN && <p class="quiet">Names in the legend hide and show their line.</p>}
    {failed && <p class="card alarmtext" role="alert">{failed}</p>}
    <div class="grid">{curves.size > 0 && <PanelView key={`${key}:${panel.log}`} panel={panel} curves={curves} axis="step" version={version} wide />}</div>
    <section class="instruments" aria-label="Where they diverge"><h2>Where they diverge</h2>
      {!answer && !failed && <p class="card" aria-live="polite">Comparing …</p>}
      {(answer ?? []).map((each) => <Answer key={each.b} each={each} pick={setKey} keys={keys} />)}
    </section>
  </>;
}

function Answer({ each, pick, keys }: { each: Compared; pick: (key: string) => void; keys: string[] }) {
  const rows = [...each.settings, ...each.environment];
  return (
    <article class="card"><h3><a href={link("run", [["name", each.a]])}>{each.a}</a> and <a href={link("run", [["name", each.b]])}>{each.b}</a></h3>
      <p class="message"><Prose text={each.summary} /></p>
      {each.divergences.length > 1 && <details><summary>In the order in which they diverge</summary><ol>{each.divergences.slice(0, 30).map((one) => (
        <li key={one.key}>{count(one.step)}: {keys.includes(one.key) ? <button type="button" onClick={() => pick(one.key)}>{one.key}</button> : one.key}</li>))}</ol></details>}
      {rows.length > 0 && <div class="scroll" tabIndex={0} role="group" aria-label="What was set differently"><table class="plain"><thead><tr><th scope="col">set differently</th><th scope="col">{each.a}</th><th scope="col">{each.b}</th></tr></thead>
        <tbody>{rows.slice(0, 40).map((row) => <tr key={row.name}><th scope="row">{row.name}</th><td>{shown(row.a)}</td><td>{shown(row.b)}</td></tr>)}</tbody></table></div>}
    </article>
  );
}

/** A linear axis would show nothing but the beginning. */
function wide(curves: Curves): boolean {
  const all = [...curves.values()].flatMap((each) => each.mean).filter((v): v is number => v !== null);
  const low = all.reduce((a, b) => Math.min(a, b), Infinity);
  return low > 0 && all.reduce((a, b) => Math.max(a, b), 0) / low > 100;
}

function shown(value: unknown): string {
  return value === null || value === undefined ? "nothing" : typeof value === "object" ? JSON.stringify(value) : String(value);
}
