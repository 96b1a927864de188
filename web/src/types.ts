// What bedside.report.page sends, field for field. Every sentence in it was made there.

export interface Line { key: string; label: string; role: string; smooth: number }
export interface Level { value: number; label: string }
export interface Range { low: number; high: number; label: string }
export interface Mark { step: number; label: string }

export interface Panel {
  id: string; section: string; title: string; say: string; kind: "lines" | "layers" | "histograms";
  lines: Line[]; levels: Level[]; ranges: Range[]; marks: Mark[]; gap: string[];
  log: boolean; slim: boolean; folded: boolean; extra: Extra;
}

export interface Extra {
  faint?: number; range?: [number, number] | null; layers?: string[]; of?: number;
  table?: { layer: string; norm: string; share: string; status: string }[];
  owners?: Distribution[];
}

export interface Distribution { owner: string; steps: number[]; rows: string[]; shares: number[][] }

/** As it comes over the wire: steps are shared between series. */
export interface RawCurve {
  axis: number; recorded: number; mean: (number | null)[]; low?: (number | null)[]; high?: (number | null)[];
  not_finite?: [number, string][];
}
export interface RawCurves { steps: number[][]; series: Record<string, RawCurve> }

export interface Curve {
  steps: number[]; mean: (number | null)[]; low: (number | null)[] | null; high: (number | null)[] | null;
  recorded: number; notFinite: [number, string][];
}
export type Curves = Map<string, Curve>;

export interface LedTo {
  code: string; label: string; severity: string; when: string; message: string; evidence: Panel[];
}
export interface Chapter {
  code: string; label: string; severity: string; message: string; facts: [string, string][];
  numbers: [string, string][]; try: string[]; could_also_be: string[]; first_step: number; last_step: number;
  evidence: Panel[]; led_to: LedTo[];
}
export interface Question {
  question: string; summary: string; harmless: boolean;
  answers: { weight: string; title: string; for: string[]; against: string[] }[];
  experiment: { title: string; do: string; outcomes: string[] } | null;
}
export interface Story {
  bedside: string; run: string; axis: string; steps: number; finished: boolean | null;
  verdict: string; headline: string; reason: string; length: string;
  chapters: Chapter[]; questions: Question[]; notes: { label: string; message: string }[];
  baseline: string; about: string[]; examined: string;
  not_examined: { title: string; groups: string[] };
  rule_pages: Record<string, string>;
  experiments: { title: string; when: string; text: string; picture: string | null }[];
  facts: { title: string; rows: [string, string][] }[];
  sections: Record<string, string>;
  words?: Record<string, { say: string; table: Extra["table"] | null }>; // of panels that grow
}
export interface Report extends Story { panels: Panel[]; curves: RawCurves }
