// Readings on their way to a chart: unpacked, appended to while a run grows, smoothed.

import type { Curve, Curves, RawCurves } from "./types";

const MOST = 3000; // points of a growing curve; then neighbours are merged, and no extreme is lost

export function unpacked(raw: RawCurves, into: Curves = new Map()): Curves {
  for (const [key, each] of Object.entries(raw.series)) {
    into.set(key, {
      steps: raw.steps[each.axis],
      mean: each.mean,
      low: each.low ?? null,
      high: each.high ?? null,
      recorded: each.recorded,
      notFinite: each.not_finite ?? [],
    });
  }
  return into;
}

/** The curve with newer readings behind it; steps that it already has are left out. */
export function appended(curve: Curve | undefined, more: Curve, most = MOST): Curve {
  if (!curve || curve.steps.length === 0) return more;
  const last = curve.steps[curve.steps.length - 1];
  const from = more.steps.findIndex((step) => step > last);
  if (from < 0) return curve;
  const tail = <T,>(list: T[]) => list.slice(from);
  const banded = curve.low !== null || more.low !== null;
  return merged(most, {
    steps: [...curve.steps, ...tail(more.steps)],
    mean: [...curve.mean, ...tail(more.mean)],
    low: banded ? [...(curve.low ?? curve.mean), ...tail(more.low ?? more.mean)] : null,
    high: banded ? [...(curve.high ?? curve.mean), ...tail(more.high ?? more.mean)] : null,
    recorded: curve.recorded + more.recorded,
    notFinite: [...curve.notFinite, ...more.notFinite.filter(([step]) => step > last)].slice(-400),
  });
}

function merged(most: number, curve: Curve): Curve {
  if (curve.steps.length <= most) return curve;
  const low = curve.low ?? curve.mean;
  const high = curve.high ?? curve.mean;
  const half: Curve = { steps: [], mean: [], low: [], high: [], recorded: curve.recorded, notFinite: curve.notFinite };
  for (let i = 0; i < curve.steps.length; i += 2) {
    const j = Math.min(i + 1, curve.steps.length - 1);
    half.steps.push(curve.steps[i]);
    half.mean.push(both(curve.mean[i], curve.mean[j], (a, b) => (a + b) / 2));
    half.low!.push(both(low[i], low[j], Math.min));
    half.high!.push(both(high[i], high[j], Math.max));
  }
  return half;
}

function both(a: number | null, b: number | null, join: (a: number, b: number) => number): number | null {
  return a === null ? b : b === null ? a : join(a, b);
}

/** The mean of the `readings` around each point, fewer at the ends; what is no number stays a gap. */
export function smoothed(curve: Curve, readings: number): (number | null)[] {
  const perPoint = Math.max(1, curve.recorded / Math.max(1, curve.steps.length));
  const half = Math.max(1, Math.round(readings / perPoint / 2));
  return curve.mean.map((value, i) => {
    if (value === null) return null;
    const room = Math.min(half, i, curve.mean.length - 1 - i); // as much on both sides, so that the line does not lag
    let sum = 0; // added up anew each time: in a running sum a spike of 1e11 would take the digits of all after it
    let have = 0;
    for (let j = i - room; j <= i + room; j++) {
      const near = curve.mean[j];
      if (near !== null) { sum += near; have += 1; }
    }
    return sum / have;
  });
}

/** The value of a curve at a step, read off the line between its neighbours. */
export function at(steps: number[], values: (number | null)[], step: number): number | null {
  let low = 0;
  let high = steps.length - 1;
  if (high < 0 || step < steps[0] || step > steps[high]) return null;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (steps[middle] <= step) low = middle; else high = middle;
  }
  const a = values[low];
  const b = values[high];
  if (a === null || b === null) return a ?? b;
  const span = steps[high] - steps[low];
  return span ? a + ((b - a) * (step - steps[low])) / span : a;
}
