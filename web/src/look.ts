// Colours of what is drawn on a canvas, taken from the style sheet, and the choice between light and dark.

export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#888";
}

const OTHERS = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];

export function lineColour(role: string, place: number): string {
  if (role === "training") return colour("training");
  if (role === "validation") return colour("validation");
  if (role === "limit") return colour("limit");
  return colour(OTHERS[place % OTHERS.length]);
}

const listeners = new Set<() => void>();

export function onLookChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const changed = () => listeners.forEach((each) => each());

export function watchLook(): void {
  for (const query of ["(prefers-color-scheme: dark)", "print"]) {
    window.matchMedia(query).addEventListener("change", changed);
  }
  try {
    const kept = localStorage.getItem("bedside-theme");
    if (kept) document.documentElement.dataset.theme = kept;
  } catch { /* a page opened from disk may have no storage */ }
}

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

export function switchLook(): void {
  const next = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("bedside-theme", next); } catch { /* as above */ }
  changed();
}

/** From dark blue to yellow; readable in grey and for the colour-blind. */
const STOPS: [number, number, number][] = [[48, 18, 92], [62, 74, 137], [38, 130, 142], [83, 197, 104], [253, 231, 37]];

export function heat(share: number): string {
  const at = Math.min(1, Math.max(0, share)) * (STOPS.length - 1);
  const low = Math.min(STOPS.length - 2, Math.floor(at));
  const mix = STOPS[low].map((from, i) => Math.round(from + (STOPS[low + 1][i] - from) * (at - low)));
  return `rgb(${mix.join(",")})`;
}
