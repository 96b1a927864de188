// The gallery of failures: real small trainings, each beside its healthy twin, from mild to severe.

import { useEffect, useState } from "preact/hooks";
import { Chart } from "./chart";
import { number } from "./numbers";
import { Prose } from "./prose";
import { ask } from "./server";
import type { Curve, Curves, Line, Panel } from "./types";
import { view } from "./view";

type Points = [number, number | null][];
interface Run {
  severity: string; steps: number; verdict: string; onset: number | null; diagnosis: string; prescription: string[];
  curves: Record<string, Points>; layers: Record<string, number | null>; readouts: [string, string][];
}
interface Card { name: string; title: string; kind: string; line: string; runs: Record<string, Run> }
interface Gallery {
  sections: { title: string; cards: string[] }[]; regimes: { title: string; card: string; severity: string }[];
  cards: Record<string, Card>;
}

const FAINT = 1e-3; // of the largest layer, as everywhere

export function GalleryPage() {
  const [gallery, setGallery] = useState<Gallery | null>(null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    view.range = null;
    view.whole = [0, 0];
    void ask<Gallery>("gallery").then(setGallery, (error: Error) => setFailed(error.message));
  }, []);
  if (!gallery) return <p class="card">{failed || "Opening the gallery …"}</p>;
  return <>
    <header class="listhead"><h1>What failing looks like</h1><span class="quiet">Real small trainings. Each differs from its healthy twin in one line.</span></header>
    <Regimes gallery={gallery} />
    {gallery.sections.map((section) => (
      <section key={section.title} class="instruments" aria-label={section.title}><h2>{section.title}</h2>
        <div class="grid">{section.cards.map((name) => <CardView key={name} card={gallery.cards[name]} />)}</div>
      </section>
    ))}
  </>;
}

function CardView({ card }: { card: Card }) {
  const severities = Object.keys(card.runs);
  const [place, setPlace] = useState(severities.length - 1);
  const severity = severities[place];
  const run = card.runs[severity];
  const twin = severity === "healthy" ? undefined : card.runs.healthy;
  return (
    <article class={`panel gallerycard ${run.verdict}`} aria-label={card.name}>
      <h3>{card.title}</h3>
      <p class="say">{card.name} · {card.kind}{run.severity && run.severity !== "None" ? ` · ${severity}: ${run.severity}` : ""}</p>
      {severities.length > 1 && <label class="slider">{severity}
        <input type="range" min={0} max={severities.length - 1} value={place} aria-label={`how badly: ${card.name}`} aria-valuetext={severity} onInput={(e) => setPlace(Number((e.target as HTMLInputElement).value))} /></label>}
      <LossChart key={severity} id={`${card.name}:${severity}`} run={run} twin={twin} />
      <Readouts run={run} />
      <Bars layers={run.layers} />
      <p class="message"><span class={`verdictword ${run.verdict}`}>{run.verdict}</span> <Prose text={run.diagnosis || "Nothing found."} /></p>
      {run.prescription.length > 0 && <p>→ <Prose text={run.prescription[0]} /></p>}
      {card.line && <details><summary>The one line</summary><pre tabIndex={0}>{card.line}</pre></details>}
    </article>
  );
}

/** The same loss on top may hide four different stories below. */
function Regimes({ gallery }: { gallery: Gallery }) {
  const [place, setPlace] = useState(0);
  const regime = gallery.regimes[place];
  const run = gallery.cards[regime.card].runs[regime.severity];
  return (
    <section class="card" aria-label="Four gradient regimes"><h2>Four gradient regimes</h2>
      <p class="tabs">{gallery.regimes.map((each, i) => <button type="button" key={each.title} aria-pressed={i === place} onClick={() => setPlace(i)}>{each.title}</button>)}</p>
      <div class="columns">
        <LossChart key={place} id={`regime:${place}`} run={run} />
        <div><Bars layers={run.layers} /><Readouts run={run} /><p><Prose text={run.diagnosis || "Every layer gets its share of the gradient."} /></p></div>
      </div>
    </section>
  );
}

function LossChart({ id, run, twin }: { id: string; run: Run; twin?: Run }) {
  const curves: Curves = new Map();
  const lines: Line[] = [];
  const add = (key: string, points: Points | undefined, label: string, role: string) => {
    if (!points?.length) return;
    curves.set(key, curveOf(points));
    lines.push({ key, label, role, smooth: 0 });
  };
  add("twin", twin?.curves.loss, "the healthy twin", "limit");
  add("loss", run.curves.loss, "training loss", "training");
  add("val/loss", run.curves["val/loss"], "validation loss", "validation");
  const marks = run.onset !== null && run.onset > 0 ? [{ step: run.onset, label: "it begins" }] : [];
  const panel: Panel = {
    id, section: "evidence", title: "Loss", say: "", kind: "lines", lines, levels: [], ranges: [], marks,
    gap: lines.length > 1 ? ["loss", "val/loss"] : [], log: true, slim: false, folded: false, extra: {},
  };
  return <Chart panel={panel} curves={curves} axis="step" />;
}

function curveOf(points: Points): Curve {
  const lost = points.filter(([, value]) => value === null).map(([step]): [number, string] => [step, "NaN"]);
  return { steps: points.map(([step]) => step), mean: points.map(([, value]) => value), low: null, high: null, recorded: points.length, notFinite: lost };
}

function Readouts({ run }: { run: Run }) {
  return <dl class="readouts">{run.readouts.map(([name, said]) => <div key={name}><dt>{name}</dt><dd>{said}</dd></div>)}</dl>;
}

function Bars({ layers }: { layers: Record<string, number | null> }) {
  const every = Object.entries(layers);
  const finite = every.map(([, v]) => v ?? 0).filter((v) => v > 0);
  if (every.length < 2) return null;
  const largest = Math.max(...finite, 1e-30);
  const first = every[0][1];
  const last = every[every.length - 1][1];
  return (
    <div class="minibars" role="img" aria-label={`Gradient norm of ${every.length} layers, first to last: ${every.map(([, v]) => number(v)).join(", ")}`}>
      {every.map(([name, v]) => {
        const share = v && v > 0 ? Math.max(0.02, 1 + Math.log10(v / largest) / 8) : 0;
        return <span key={name} class={v !== null && v >= FAINT * largest ? "ok" : "off"} title={`${name}: ${number(v)}`}><i style={{ height: `${100 * share}%` }} /></span>;
      })}
      <small>first over last layer: {first !== null && last ? number(first / last) : "–"}</small>
    </div>
  );
}
