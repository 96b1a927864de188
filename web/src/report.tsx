// One run on one page: the story on top, the instruments below, and how it was made at the end.

import { useEffect, useState } from "preact/hooks";
import { switchLook } from "./look";
import { count } from "./numbers";
import { PanelView } from "./panel";
import { StoryView, Verdict } from "./story";
import type { Curves, Panel, Report, Story } from "./types";
import { unpacked } from "./curves";
import { view } from "./view";

export function ReportPage({ report }: { report: Report }) {
  const [curves] = useState(() => {
    view.whole = [Math.min(...report.curves.steps.map((each) => each[0] ?? 0)), report.steps - 1];
    return unpacked(report.curves);
  });
  return (
    <main>
      <div class="topline"><span class="brand">bedside {report.bedside}</span><LookButton /></div>
      <Verdict story={report} />
      <StoryView story={report} curves={curves} />
      <Instruments story={report} panels={report.panels} curves={curves} />
      <Experiments story={report} />
      <Facts story={report} />
    </main>
  );
}

export function LookButton() {
  return <button type="button" class="look" onClick={switchLook}>light / dark</button>;
}

export function Instruments({ story, panels, curves, version }: { story: Story; panels: Panel[]; curves: Curves; version?: number }) {
  const sections = Object.entries(story.sections).filter(([id]) => panels.some((panel) => panel.section === id));
  if (!sections.length) return null;
  return <>
    <nav class="sections" aria-label="Instruments">
      {sections.map(([id, title]) => <a key={id} href={`#section-${id}`} onClick={(e) => { e.preventDefault(); document.getElementById(`section-${id}`)?.scrollIntoView(); }}>{title}</a>)}
      <Zoom steps={story.steps} axis={story.axis} />
    </nav>
    {sections.map(([id, title]) => (
      <section key={id} id={`section-${id}`} class="instruments" aria-label={title}>
        <h2>{title}</h2>
        <div class="grid">{laidOut(panels.filter((panel) => panel.section === id)).map(([panel, wide]) => <PanelView key={panel.id} panel={panel} wide={wide} curves={curves} axis={story.axis} version={version} />)}</div>
      </section>
    ))}
  </>;
}

/** Two in a row where two fit; one that would stand alone takes the whole row. */
export function laidOut<P extends { id: string; kind?: string; folded: boolean }>(panels: P[]): [P, boolean][] {
  const whole = (panel: P) => panel.id === "loss" || panel.id === "lr" || /^(layers|histograms):/.test(panel.id);
  const found: [P, boolean][] = [];
  for (let i = 0; i < panels.length; i++) {
    const alone = !panels[i].folded && (whole(panels[i]) || i + 1 === panels.length || whole(panels[i + 1]));
    found.push([panels[i], alone]);
    if (!alone && i + 1 < panels.length) found.push([panels[++i], false]);
  }
  return found;
}

/** The zoom for the keyboard and the phone; on a chart one drags. */
export function Zoom({ steps, axis }: { steps: number; axis: string }) {
  const [range, setRange] = useState(view.range);
  useEffect(() => view.subscribe(setRange), []);
  const last = Math.max(1, steps - 1);
  const [from, to] = range ?? [0, last];
  const set = (a: number, b: number) => { if (b > a) view.show([a, b]); };
  return (
    <span class="zoom">
      <label>{axis} <input type="number" aria-label={`first ${axis} shown`} min={0} max={last} value={Math.round(from)} onChange={(e) => set(Number((e.target as HTMLInputElement).value), to)} /></label>
      <label>to <input type="number" aria-label={`last ${axis} shown`} min={0} max={last} value={Math.round(to)} onChange={(e) => set(from, Number((e.target as HTMLInputElement).value))} /></label>
      <button type="button" onClick={() => view.show(null)} disabled={!range}>all {count(steps)}</button>
    </span>
  );
}

/** What the lab was asked during this run, and what it answered. */
export function Experiments({ story }: { story: Story }) {
  if (!story.experiments.length) return null;
  return (
    <section class="instruments" aria-label="Experiments">
      <h2>Experiments</h2>
      <div class="grid">{story.experiments.map((each, place) => (
        <section class="panel wide experiment" key={place}><h3>{each.title} <span class="when">{each.when}</span></h3>
          <pre tabIndex={0}>{each.text}</pre>
          {each.picture && <img src={`data:image/png;base64,${each.picture}`} alt={`The picture of ${each.title}`} />}
        </section>
      ))}</div>
    </section>
  );
}

export function Facts({ story }: { story: Story }) {
  return (
    <section class="instruments" aria-label="How it was made">
      <h2>How it was made</h2>
      <div class="grid">{story.facts.map((each) => (
        <section class="panel" key={each.title}><h3>{each.title}</h3>
          <table class="plain facts"><tbody>{each.rows.map(([name, said]) => <tr key={name}><th scope="row">{name}</th><td>{said}</td></tr>)}</tbody></table>
        </section>
      ))}
        <section class="panel"><h3>What was examined</h3><p>{story.examined || "Nothing."}</p>
          {story.not_examined.groups.length > 0 && <details><summary>{story.not_examined.title}</summary><ul>{story.not_examined.groups.map((each) => <li key={each}>{each}</li>)}</ul></details>}
        </section>
      </div>
    </section>
  );
}
