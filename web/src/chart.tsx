// One chart: curves over steps. Draw across it to zoom, double-click to see everything; the legend hides and shows.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { smoothed } from "./curves";
import { drawBehind, drawInFront, type Drawn } from "./drawing";
import { colour, lineColour, onLookChange } from "./look";
import { count, number } from "./numbers";
import type { Curve, Curves, Panel } from "./types";
import { view } from "./view";

// Of its level: a curve that moves less is drawn as the nearly flat line it is, not blown up until its noise fills the box.
const FLAT = 0.3;
const FLAT_METRIC = 0.5;
const cursors = uPlot.sync("steps");

interface Trace { line: number; smooth: boolean; values: (number | null)[]; curve: Curve }

function traces(panel: Panel, curves: Curves, log: boolean): Trace[] {
  const found: Trace[] = [];
  const usable = (values: (number | null)[]) => (log ? values.map((v) => (v !== null && v > 0 ? v : null)) : values);
  panel.lines.forEach((line, place) => {
    const curve = curves.get(line.key);
    if (!curve) return;
    found.push({ line: place, smooth: false, values: usable(curve.mean), curve });
    if (line.smooth) found.push({ line: place, smooth: true, values: usable(smoothed(curve, line.smooth)), curve });
  });
  return found;
}

function extent(panel: Panel, curves: Curves, hidden: Set<number>, log: boolean, from: number, to: number): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  const see = (v: number | null) => {
    if (v === null || (log && v <= 0)) return;
    if (v < low) low = v;
    if (v > high) high = v;
  };
  panel.lines.forEach((line, place) => {
    const curve = curves.get(line.key);
    if (!curve || hidden.has(place)) return;
    const lows = curve.low ?? curve.mean;
    const highs = curve.high ?? curve.mean;
    curve.steps.forEach((step, i) => { if (step >= from && step <= to) { see(lows[i]); see(highs[i]); } });
  });
  if (low > high) return log ? [0.1, 1] : [0, 1];
  panel.levels.forEach((level) => see(level.value));
  if (log) {
    const middle = Math.sqrt(low * high);
    if (high / low < 2) { low = middle / 1.6; high = middle * 1.6; }
    return [low / 1.15, high * 1.15];
  }
  const size = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const least = (panel.section === "metrics" ? FLAT_METRIC : FLAT) * size;
  if (high - low < least) {
    const middle = (high + low) / 2;
    low = middle - least / 2;
    high = middle + least / 2;
  }
  const room = (high - low) * 0.06;
  return [low >= 0 && low - room < 0 ? 0 : low - room, high + room];
}

export function Chart({ panel, curves, axis, version = 0 }: { panel: Panel; curves: Curves; axis: string; version?: number }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const readouts = useRef<(HTMLSpanElement | null)[]>([]);
  const [log, setLog] = useState(panel.log);
  const [hidden, setHidden] = useState<Set<number>>(new Set());
  const hiddenNow = useRef(hidden);
  hiddenNow.current = hidden;
  const curvesNow = useRef(curves);
  curvesNow.current = curves;
  const panelNow = useRef(panel); // while a run grows, marks move and words change
  panelNow.current = panel;
  const ready = panel.lines.filter((line) => curves.get(line.key)?.steps.length).length;

  const colours = useMemo(() => {
    let other = 0;
    const named = panel.lines.some((line) => line.role === "training" || line.role === "validation") ? 2 : 0;
    return panel.lines.map((line) => {
      const place = line.role === "other" ? other++ + named : 0;
      return () => lineColour(line.role, place);
    });
  }, [panel]);

  const drawn: Drawn[] = panel.lines.map((line, place) => ({
    line, colour: colours[place], shown: () => !hiddenNow.current.has(place),
  }));

  useEffect(() => {
    const host = box.current;
    if (!host) return;
    const all = traces(panel, curves, log);
    if (!all.length) return;
    const height = panel.slim ? 130 : panel.section === "evidence" ? 180 : 230;
    const options: uPlot.Options = {
      width: Math.max(200, host.clientWidth),
      height,
      legend: { show: false },
      cursor: {
        sync: { key: cursors.key, setSeries: false, scales: ["x", null as unknown as string], filters: { pub: (type) => type === "mousemove" || type === "mouseleave", sub: () => true } },
        drag: { x: true, y: false, setScale: false },
        focus: { prox: 24 },
        points: { size: 6 },
        bind: { dblclick: () => () => { view.show(null); return null; } },
      },
      scales: {
        x: { time: false, range: (_u, min, max) => view.range ?? padded(Math.min(min, view.whole[0]), Math.max(max, view.whole[1])) },
        y: {
          distr: log ? 3 : 1,
          range: (u) => extent(panelNow.current, curvesNow.current, hiddenNow.current, log, u.scales.x.min ?? -Infinity, u.scales.x.max ?? Infinity),
        },
      },
      axes: [
        axisLooks({ values: (_u, splits) => splits.map((v) => (Number.isInteger(v) ? short(v) : "")), size: 26, space: 80 }),
        axisLooks({ values: (_u, splits) => splits.map((v) => (v === null ? "" : number(v))), size: 52, space: 30, ...(log ? { splits: decades, filter: (_u: uPlot, splits: number[]) => splits } : {}) }),
      ],
      series: [
        {},
        ...all.map((trace): uPlot.Series => {
          const line = panel.lines[trace.line];
          const thin = line.smooth > 0 && !trace.smooth;
          return {
            stroke: () => colours[trace.line](),
            width: thin ? 1 : line.role === "limit" ? 1.2 : 1.8,
            alpha: thin ? 0.38 : 1,
            dash: line.role === "limit" ? [6, 4] : undefined,
            show: !hiddenNow.current.has(trace.line),
            points: { show: !trace.smooth && trace.curve.steps.length <= 40, size: 5 },
          };
        }),
      ],
      hooks: {
        drawClear: [(u) => drawBehind(u, panelNow.current, curvesNow.current, drawn, log)],
        draw: [(u) => drawInFront(u, panelNow.current, curvesNow.current, drawn)],
        setSelect: [(u) => {
          if (u.select.width > 4) view.show([u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")]);
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
        setCursor: [(u) => showValues(u, all)],
      },
    };
    const made = new uPlot(options, joined(all), host);
    plot.current = made;
    const release = [
      view.subscribe(() => made.setData(made.data, true)),
      onLookChange(() => made.redraw(true)),
    ];
    const resize = new ResizeObserver(() => {
      if (host.clientWidth && Math.abs(host.clientWidth - made.width) > 1) made.setSize({ width: host.clientWidth, height });
    });
    resize.observe(host);
    return () => {
      release.forEach((each) => each());
      resize.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [panel.id, log, ready]);

  useEffect(() => {
    // More of the run has come in: the same chart gets longer.
    const made = plot.current;
    if (!made || version === 0) return;
    const all = traces(panel, curves, log);
    if (all.length + 1 === made.series.length) made.setData(joined(all), true);
  }, [version]);

  function showValues(u: uPlot, all: Trace[]): void {
    const step = u.cursor.left !== undefined && u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null;
    panelNow.current.lines.forEach((line, place) => {
      const target = readouts.current[place];
      if (!target) return;
      const mine = all.filter((each) => each.line === place);
      target.textContent = step === null ? "" : mine.map((each) => readout(curvesNow.current.get(line.key) ?? each.curve, each, line.smooth, step)).join(" · ");
    });
  }

  function toggle(place: number): void {
    const next = new Set(hidden);
    if (!next.delete(place)) next.add(place);
    hiddenNow.current = next;
    setHidden(next);
    const all = traces(panel, curves, log);
    all.forEach((trace, i) => { if (trace.line === place) plot.current?.setSeries(i + 1, { show: !next.has(place) }); });
    plot.current?.redraw(true, true);
  }

  const any = panel.lines.some((line) => curves.get(line.key)?.steps.length);
  return (
    <div class="chart">
      <div class="plot" ref={box} role="img" aria-label={spoken(panel, curves, axis)} />
      {any && <div class="chartfoot">
        <ul class="legend">
          {panel.lines.map((line, place) => {
            const curve = curves.get(line.key);
            return curve && (
              <li key={line.key}>
                <button type="button" aria-pressed={!hidden.has(place)} onClick={() => toggle(place)} title={line.key}>
                  <Swatch role={line.role} colour={colours[place]} />{line.label}{note(line.smooth, curve)}
                </button>
                <span class="readout" ref={(el) => { readouts.current[place] = el; }} />
              </li>
            );
          })}
        </ul>
        <span class="tools">
          <button type="button" aria-pressed={log} onClick={() => setLog(!log)}>log</button>
        </span>
      </div>}
    </div>
  );
}

function Swatch({ role, colour: stroke }: { role: string; colour: () => string }) {
  const [tint, setTint] = useState(stroke());
  useEffect(() => onLookChange(() => setTint(stroke())), [stroke]);
  return <i class={role === "limit" ? "swatch dashed" : "swatch"} style={{ background: role === "limit" ? undefined : tint, borderColor: tint }} />;
}

/** Says what the reader sees: which line is raw, which is smoothed, and how much was summed up. */
function note(smooth: number, curve: Curve): string {
  const drawn = curve.steps.length;
  const parts = [];
  if (curve.recorded > drawn) parts.push(`${count(drawn)} of ${count(curve.recorded)} points, band: lowest to highest`);
  if (smooth) parts.push(`thin: raw, thick: mean of ${count(smooth)}`);
  return parts.length ? ` (${parts.join("; ")})` : "";
}

function readout(curve: Curve, trace: Trace, smooth: number, step: number): string {
  if (!curve.steps.length) return "";
  let best = 0;
  curve.steps.forEach((each, i) => { if (Math.abs(each - step) < Math.abs(curve.steps[best] - step)) best = i; });
  const values = trace.smooth ? trace.values : curve.mean;
  const bad = trace.smooth ? undefined : curve.notFinite.find(([each]) => each === curve.steps[best]);
  const said = bad ? bad[1] : number(values[best]);
  if (trace.smooth) return `mean ${said}`;
  return smooth ? `raw ${said}` : `${said} at ${count(curve.steps[best])}`;
}

function joined(all: Trace[]): uPlot.AlignedData {
  return uPlot.join(all.map((each) => [each.curve.steps, each.values] as uPlot.AlignedData), all.map(() => [1, 1]));
}

function axisLooks(more: Partial<uPlot.Axis>): uPlot.Axis {
  return {
    stroke: () => colour("quiet"),
    grid: { stroke: () => colour("grid"), width: 1 },
    ticks: { stroke: () => colour("grid"), width: 1, size: 4 },
    font: "11px system-ui, sans-serif",
    gap: 3,
    ...more,
  };
}

function padded(from: number, to: number): [number, number] {
  return to > from ? [from, to] : [from - 1, to + 1];
}

/** Powers of ten, at most six of them; between two of them also 2 and 5. */
function decades(_u: uPlot, _axis: number, min: number, max: number): number[] {
  const from = Math.ceil(Math.log10(min) - 1e-9);
  const to = Math.floor(Math.log10(max) + 1e-9);
  const every = Math.max(1, Math.ceil((to - from + 1) / 6));
  const found: number[] = [];
  for (let power = from - 1; power <= to; power++) {
    for (const digit of to - from < 2 ? [1, 2, 5] : [1]) {
      const value = Number(`${digit}e${power}`);
      if ((power - from) % every === 0 && value >= min && value <= max) found.push(value);
    }
  }
  return found.length ? found : [min, max];
}

function short(step: number): string {
  return step >= 1e6 ? `${number(step / 1e6)}M` : step >= 1e5 ? `${number(step / 1e3)}k` : count(step);
}

function spoken(panel: Panel, curves: Curves, axis: string): string {
  const each = panel.lines.slice(0, 6).map((line) => {
    const curve = curves.get(line.key);
    const values = (curve?.mean ?? []).filter((v): v is number => v !== null);
    return values.length ? `${line.label}: ${number(values[0])} to ${number(values[values.length - 1])}` : `${line.label}: no number`;
  });
  return `${panel.title} by ${axis}. ${each.join("; ")}`;
}
