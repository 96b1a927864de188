// A panel with its title and sentence; it is drawn when it comes near the window, or at the latest when all is quiet.

import { useEffect, useRef, useState } from "preact/hooks";
import { Chart } from "./chart";
import { Distributions } from "./distributions";
import { Layers } from "./layers";
import { Prose } from "./prose";
import type { Curves, Panel } from "./types";

interface Props { panel: Panel; curves: Curves; axis: string; version?: number; bare?: boolean; wide?: boolean }

const waiting: (() => void)[] = [];
let running = false;

/** One chart after the other while nobody scrolls, so that a printed page has all of them. */
function whenQuiet(draw: () => void): void {
  waiting.push(draw);
  if (running) return;
  running = true;
  const next = () => {
    waiting.shift()?.();
    if (waiting.length) setTimeout(next, 30); else running = false;
  };
  setTimeout(next, 600);
}

export function PanelView({ panel, curves, axis, version, bare, wide }: Props) {
  const box = useRef<HTMLElement>(null);
  const [near, setNear] = useState(false);
  useEffect(() => {
    if (near || !box.current) return;
    const observer = new IntersectionObserver((seen) => { if (seen.some((each) => each.isIntersecting)) setNear(true); }, { rootMargin: "300px" });
    observer.observe(box.current);
    if (!panel.folded) whenQuiet(() => setNear(true));
    return () => observer.disconnect();
  }, [near]);
  const height = panel.kind === "lines" ? (panel.slim ? 165 : bare ? 215 : 265) : 180;
  const inside = !near ? <div style={{ height: `${height}px` }} />
    : panel.kind === "layers" ? <Layers {...{ panel, curves, axis, version }} />
    : panel.kind === "histograms" ? <Distributions {...{ panel, axis }} />
    : <Chart {...{ panel, curves, axis, version }} />;
  if (panel.folded) {
    return (
      <details class="folded" ref={box as never}><summary>{panel.title}</summary>
        {panel.say && <p class="say"><Prose text={panel.say} /></p>}{inside}
      </details>
    );
  }
    return (
    <section class={`${bare ? "panel bare" : "panel"}${wide && !bare ? " wide" : ""}`} ref={box as never} aria-label={panel.title} data-panel={panel.id}>
      <h3>{panel.title}</h3>
      {panel.say && <p class="say"><Prose text={panel.say} /></p>}
      {inside}
    </section>
  );
}
