// What uPlot does not draw by itself: bands, levels, marks, the gap, and where values were not finite.

import type uPlot from "uplot";
import { at, smoothed } from "./curves";
import { colour } from "./look";
import type { Curves, Line, Panel } from "./types";

export interface Drawn { line: Line; shown: () => boolean; colour: () => string }

function inside(u: uPlot, draw: (c: CanvasRenderingContext2D) => void): void {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(left, top, width, height);
  u.ctx.clip();
  draw(u.ctx);
  u.ctx.restore();
}

const usable = (value: number | null, log: boolean) => value !== null && (!log || value > 0);

/** Behind the lines: usual ranges, the gap, and the lowest and highest readings of what was summed up. */
export function drawBehind(u: uPlot, panel: Panel, curves: Curves, lines: Drawn[], log: boolean): void {
  const x = (step: number) => u.valToPos(step, "x", true);
  const y = (value: number) => u.valToPos(value, "y", true);
  inside(u, (c) => {
    for (const range of panel.ranges) {
      c.fillStyle = colour("range");
      const top = y(range.high);
      c.fillRect(u.bbox.left, top, u.bbox.width, Math.max(1, y(range.low) - top));
    }
    drawGap(u, c, panel, curves, lines, log);
    for (const { line, shown, colour: stroke } of lines) {
      const curve = curves.get(line.key);
      if (!curve?.low || !curve.high || !shown()) continue;
      c.fillStyle = stroke();
      c.globalAlpha = 0.22;
      c.beginPath();
      const good = curve.steps.map((_, i) => i).filter((i) => usable(curve.low![i], log) && usable(curve.high![i], log));
      good.forEach((i, place) => (place ? c.lineTo : c.moveTo).call(c, x(curve.steps[i]), y(curve.high![i]!)));
      good.reverse().forEach((i) => c.lineTo(x(curve.steps[i]), y(curve.low![i]!)));
      c.fill();
      c.globalAlpha = 1;
    }
  });
}

function drawGap(u: uPlot, c: CanvasRenderingContext2D, panel: Panel, curves: Curves, lines: Drawn[], log: boolean): void {
  if (panel.gap.length !== 2) return;
  const [a, b] = panel.gap.map((key) => lines.find((each) => each.line.key === key));
  if (!a?.shown() || !b?.shown()) return;
  const training = curves.get(a.line.key);
  const validation = curves.get(b.line.key);
  if (!training || !validation) return;
  const level = a.line.smooth ? smoothed(training, a.line.smooth) : training.mean;
  const points = validation.steps
    .map((step, i) => ({ step, up: validation.mean[i], down: at(training.steps, level, step) }))
    .filter((each) => usable(each.up, log) && usable(each.down, log));
  if (points.length < 2) return;
  c.fillStyle = colour("gap");
  c.beginPath();
  points.forEach(({ step, up }, i) => (i ? c.lineTo : c.moveTo).call(c, u.valToPos(step, "x", true), u.valToPos(up!, "y", true)));
  points.reverse().forEach(({ step, down }) => c.lineTo(u.valToPos(step, "x", true), u.valToPos(down!, "y", true)));
  c.fill();
}

/** In front of the lines: levels, marks, and ticks at the top where a reading was NaN or infinite. */
export function drawInFront(u: uPlot, panel: Panel, curves: Curves, lines: Drawn[]): void {
  const ratio = devicePixelRatio || 1;
  const { left, top, width, height } = u.bbox;
  const right = left + width;
  inside(u, (c) => {
    c.font = `${11 * ratio}px system-ui, sans-serif`;
    c.lineWidth = ratio;
    for (const range of panel.ranges) {
      label(c, range.label, right - 4 * ratio, Math.max(top + 12 * ratio, u.valToPos(range.high, "y", true) + 12 * ratio), "right", colour("quiet"));
    }
    for (const level of panel.levels) {
      const y = u.valToPos(level.value, "y", true);
      dashed(c, [left, y], [right, y], colour("limit"), ratio);
      label(c, level.label, right - 4 * ratio, y > top + 18 * ratio ? y - 4 * ratio : y + 13 * ratio, "right", colour("limit-text"));
    }
    for (const mark of panel.marks) {
      const x = u.valToPos(mark.step, "x", true);
      if (x < left - 1 || x > right + 1) continue;
      dashed(c, [x, top], [x, top + height], colour("alarm"), ratio);
      const side = x > left + width * 0.6 ? "right" : "left";
      if (mark.label) label(c, mark.label, x + (side === "left" ? 4 : -4) * ratio, freeHeight(u, curves, lines, mark.step, side), side, colour("alarm-text"));
    }
    c.strokeStyle = colour("alarm");
    c.lineWidth = 1.5 * ratio;
    for (const { line, shown } of lines) {
      const bad = shown() ? curves.get(line.key)?.notFinite ?? [] : [];
      for (const [step] of bad) {
        const x = u.valToPos(step, "x", true);
        c.beginPath(); c.moveTo(x, top); c.lineTo(x, top + 8 * ratio); c.stroke();
      }
      if (bad.length) {
        const x = Math.max(left, u.valToPos(bad[0][0], "x", true));
        const side = x > left + width * 0.7 ? "right" : "left";
        label(c, `${bad[0][1]} from ${bad[0][0]}`, x + (side === "left" ? 3 : -3) * ratio, top + 20 * ratio, side, colour("alarm-text"));
      }
    }
  });
}

/** Where the label of a mark hides the fewest points: at the bottom of the chart, at its top, or half-way up. */
function freeHeight(u: uPlot, curves: Curves, lines: Drawn[], step: number, side: "left" | "right"): number {
  const ratio = devicePixelRatio || 1;
  const { top, height } = u.bbox;
  const reach = 0.25 * ((u.scales.x.max ?? 0) - (u.scales.x.min ?? 0)); // about as far as the label goes
  const [from, upTo] = side === "left" ? [step, step + reach] : [step - reach, step];
  const points = lines.filter((each) => each.shown()).flatMap(({ line }) => {
    const curve = curves.get(line.key);
    return (curve?.steps ?? []).flatMap((at, i) => (at >= from && at <= upTo && curve!.mean[i] !== null ? [u.valToPos(curve!.mean[i]!, "y", true)] : []));
  });
  const heights = [top + height - 6 * ratio, top + 12 * ratio, top + height / 2];
  const hidden = heights.map((y) => points.filter((each) => Math.abs(each - (y - 4 * ratio)) < 9 * ratio).length);
  return heights[hidden.indexOf(Math.min(...hidden))];
}

function dashed(c: CanvasRenderingContext2D, from: [number, number], to: [number, number], stroke: string, ratio: number): void {
  c.save();
  c.strokeStyle = stroke;
  c.setLineDash([5 * ratio, 4 * ratio]);
  c.beginPath(); c.moveTo(...from); c.lineTo(...to); c.stroke();
  c.restore();
}

/** On a scrap of background, so that it reads on top of any line. */
function label(c: CanvasRenderingContext2D, text: string, x: number, y: number, side: "left" | "right", fill: string): void {
  c.textAlign = side;
  const wide = c.measureText(text).width;
  const tall = parseFloat(c.font);
  c.globalAlpha = 0.8;
  c.fillStyle = colour("card");
  c.fillRect(side === "left" ? x - 2 : x - wide - 2, y - tall, wide + 4, tall * 1.3);
  c.globalAlpha = 1;
  c.fillStyle = fill;
  c.fillText(text, x, y);
}
