// The part of the run that all charts show: one zoom for the whole page.

type Steps = [number, number] | null;

export class View {
  range: Steps = null;
  whole: [number, number] = [0, 1]; // first and last step of what the page shows
  private listeners = new Set<(range: Steps) => void>();

  show(range: Steps): void {
    if (range && range[1] <= range[0]) return;
    this.range = range;
    this.listeners.forEach((each) => each(range));
  }

  subscribe(listener: (range: Steps) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

export const view = new View();
