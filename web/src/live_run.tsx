// One run while it trains: panels are fetched when they come near the window, and grow by what is new.

import { useEffect, useRef, useState } from "preact/hooks";
import { appended, unpacked } from "./curves";
import { PanelView } from "./panel";
import { Experiments, Facts, laidOut, Zoom } from "./report";
import { ask, link, type Known, type PanelData, type RunIndex } from "./server";
import { StoryView, Verdict } from "./story";
import type { Curves, Panel, RawCurves, Story } from "./types";
import { view } from "./view";

const MAP_COLUMNS = 160; // of a map of layers while it grows
const RESOLVE = 350; // milliseconds after zooming until the finer curves are asked for

/** Everything that the page has of the run, and the stream that adds to it. */
class Following {
  curves: Curves = new Map();
  private panels = new Map<string, number>(); // up to which step each panel is complete
  private maps = new Set<string>();
  private keys = new Set<string>();
  private stream: EventSource | null = null;
  private restart = 0;

  constructor(readonly name: string, readonly changed: () => void, readonly told: (story: Story) => void, readonly state: (words: string) => void) {}

  async panel(id: string): Promise<Panel> {
    const data = await ask<PanelData>("panel", [["run", this.name], ["id", id]]);
    if (data.panel.kind === "layers") data.panel.lines.forEach((line) => this.maps.add(line.key));
    this.take(data.curves, false);
    if (data.panel.kind !== "histograms") {
      this.panels.set(id, data.cursor);
      this.listen();
    }
    return data.panel;
  }

  /** The series beside findings, as far as no panel has brought them yet. */
  async evidence(story: Story): Promise<void> {
    const panels = story.chapters.flatMap((each) => [...each.evidence, ...each.led_to.flatMap((more) => more.evidence)]);
    const keys = [...new Set(panels.flatMap((panel) => panel.lines.map((line) => line.key)))].filter((key) => !this.keys.has(key));
    if (!keys.length) return;
    keys.forEach((key) => this.keys.add(key));
    const data = await ask<PanelData>("series", [["run", this.name], ...keys.map((key): [string, string] => ["key", key])]);
    this.take(data.curves, false);
    this.listen();
  }

  private take(raw: RawCurves, more: boolean): void {
    for (const [key, curve] of unpacked(raw)) {
      this.curves.set(key, more ? appended(this.curves.get(key), curve, this.maps.has(key) ? MAP_COLUMNS : undefined) : curve);
      view.whole = [Math.min(view.whole[0], curve.steps[0] ?? 0), Math.max(view.whole[1], curve.steps.at(-1) ?? 0)];
    }
    this.changed();
  }

  /** Connect anew, soon, with all that is shown by then. A chart leaves out steps that it already has. */
  private listen(): void {
    clearTimeout(this.restart);
    this.restart = window.setTimeout(() => {
      this.stream?.close();
      const cursor = Math.min(...this.panels.values(), ...[...this.keys].map((key) => this.curves.get(key)?.steps.at(-1) ?? -1));
      const query = new URLSearchParams([["run", this.name], ["cursor", String(Number.isFinite(cursor) ? cursor : -1)],
        ...[...this.panels.keys()].map((id) => ["panel", id]), ...[...this.keys].map((key) => ["key", key])]);
      const stream = new EventSource(`api/stream?${query}`);
      stream.addEventListener("points", (e) => { this.take(JSON.parse((e as MessageEvent).data), true); this.reached((e as MessageEvent).lastEventId); this.state(""); });
      stream.addEventListener("hello", () => this.state(""));
      stream.addEventListener("story", (e) => { this.told(JSON.parse((e as MessageEvent).data)); });
      stream.onerror = () => this.state("connection lost, trying again");
      this.stream = stream;
    }, 250);
  }

  private reached(cursor: string): void {
    for (const id of this.panels.keys()) this.panels.set(id, Math.max(this.panels.get(id)!, Number(cursor)));
  }

  close(): void {
    clearTimeout(this.restart);
    this.stream?.close();
  }
}

export function LiveRunPage({ name }: { name: string }) {
  const [index, setIndex] = useState<RunIndex | null>(null);
  const [story, setStory] = useState<Story | null>(null);
  const [failed, setFailed] = useState("");
  const [state, setState] = useState("");
  const [version, setVersion] = useState(0);
  const following = useRef<Following>(null as unknown as Following);
  if (!following.current) {
    view.range = null;
    view.whole = [0, 1];
    following.current = new Following(name, () => setVersion((v) => v + 1), setStory, setState);
  }
  useEffect(() => {
    let again = 0;
    const load = () => ask<RunIndex>("run", [["run", name]]).then((found) => {
      setIndex(found);
      if (found.story) setStory(found.story);
      again = window.setTimeout(load, 15000); // a vital that was first read later has a panel of its own
    }, (error: Error) => {
      setFailed(error.message);
      again = window.setTimeout(load, 3000); // it may have just begun
    });
    void load();
    return () => { clearTimeout(again); following.current.close(); };
  }, [name]);
  useEffect(() => { if (story) void following.current.evidence(story).catch(() => undefined); }, [story]);
  if (failed && !index) return <p class="card alarmtext" role="alert">{failed} <a href={link("")}>All runs</a></p>;
  if (!index) return <p class="card" aria-live="polite">Opening {name} …</p>;
  const { curves } = following.current;
  const live = state || (index.training ? "live" : "");
  return <>
    {story ? <Verdict story={story} live={live} /> : <p class="card" aria-live="polite">{name} is being read …</p>}
    {story && <StoryView story={story} curves={curves} version={version} />}
    <LiveInstruments index={index} steps={view.whole[1] + 1} following={following.current} version={version} story={story} />
    {story && <Experiments story={story} />}
    {story && <Facts story={story} />}
  </>;
}

function LiveInstruments({ index, steps, following, version, story }: { index: RunIndex; steps: number; following: Following; version: number; story: Story | null }) {
  const sections = Object.entries(index.sections).filter(([id]) => index.instruments.some((each) => each.section === id));
  return <>
    <nav class="sections" aria-label="Instruments">
      {sections.map(([id, title]) => <a key={id} href={`#section-${id}`} onClick={(e) => { e.preventDefault(); document.getElementById(`section-${id}`)?.scrollIntoView(); }}>{title}</a>)}
      <Zoom steps={steps} axis={index.axis} />
    </nav>
    {sections.map(([id, title]) => (
      <section key={id} id={`section-${id}`} class="instruments" aria-label={title}>
        <h2>{title}</h2>
        <div class="grid">{laidOut(index.instruments.filter((each) => each.section === id)).map(([each, wide]) => (
          <LivePanel key={each.id} known={each} wide={wide} axis={index.axis} following={following} version={version} story={story} />
        ))}</div>
      </section>
    ))}
  </>;
}

interface LivePanelProps { known: Known; wide: boolean; axis: string; following: Following; version: number; story: Story | null }

function LivePanel({ known, wide, axis, following, version, story }: LivePanelProps) {
  const box = useRef<HTMLDivElement>(null);
  const [panel, setPanel] = useState<Panel | null>(null);
  const [failed, setFailed] = useState("");
  const finer = useFinerCurves(following, panel);
  const load = () => following.panel(known.id).then(setPanel, (error: Error) => setFailed(error.message));
  useEffect(() => {
    if (known.folded || !box.current) return;
    const observer = new IntersectionObserver((seen) => {
      if (seen.some((each) => each.isIntersecting)) { observer.disconnect(); void load(); }
    }, { rootMargin: "200px" });
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  if (panel) {
    const onset = story?.chapters[0]?.first_step;
    const marks = onset === undefined || panel.kind !== "lines" ? [] : [{ step: onset, label: known.id === "loss" ? `${story!.chapters[0].code} begins` : "" }];
    const words = story?.words?.[known.id];
    const said = words ? { say: words.say, extra: { ...panel.extra, table: words.table ?? panel.extra.table } } : {};
    return <PanelView panel={{ ...panel, ...said, marks, folded: false }} wide={wide || known.folded} curves={finer ?? following.curves} axis={axis} version={version} />;
  }
  return (
    <div class={`panel${wide ? " wide" : ""}`} ref={box} data-waiting={known.id}>
      <h3>{known.title}</h3>
      {failed ? <p class="alarmtext">{failed}</p> : known.folded ? <button type="button" onClick={load}>show</button> : <p class="quiet">…</p>}
    </div>
  );
}

/** While the page is zoomed in, the curves of this panel between these steps, as fine as they were recorded. */
function useFinerCurves(following: Following, panel: Panel | null): Curves | null {
  const [finer, setFiner] = useState<Curves | null>(null);
  useEffect(() => {
    let timer = 0;
    const release = view.subscribe((range) => {
      clearTimeout(timer);
      if (!range || panel?.kind !== "lines") { setFiner(null); return; }
      if (!panel.lines.some((line) => following.curves.get(line.key)?.low)) return;
      timer = window.setTimeout(async () => {
        const data = await ask<PanelData>("panel", [["run", following.name], ["id", panel.id], ["from", String(Math.floor(range[0]))], ["to", String(Math.ceil(range[1]))]]);
        if (view.range === range) setFiner(unpacked(data.curves));
      }, RESOLVE);
    });
    return () => { clearTimeout(timer); release(); };
  }, [panel]);
  return finer;
}
