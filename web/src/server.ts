// What the live page asks its server, and what it is sent.

import type { Panel, RawCurves, Story } from "./types";

export interface Row {
  name: string; verdict: string; headline: string; said: string; steps: number | null; length: string;
  finished: boolean | null; spark: { key: string; steps: number[]; values: (number | null)[] } | null;
}
export interface Listing { folder: string; version: number; seen: [string, number, boolean][]; rows: Row[] }
export interface Known { id: string; section: string; title: string; folded: boolean }
export interface RunIndex { name: string; training: boolean; axis: string; story: Story | null; instruments: Known[]; keys: string[]; sections: Record<string, string> }
export interface PanelData { panel: Panel; curves: RawCurves; cursor: number }
export interface Divergence { key: string; step: number }
export interface Compared {
  a: string; b: string; summary: string; verdict: string; divergences: Divergence[];
  settings: { name: string; a: unknown; b: unknown }[]; environment: { name: string; a: unknown; b: unknown }[];
}
export interface RuleRow { code: string; name: string; family: string; severity: string; status: string; title: string }

export async function ask<T>(path: string, query: [string, string][] = []): Promise<T> {
  const text = new URLSearchParams(query).toString();
  const answer = await fetch(`api/${path}${text ? `?${text}` : ""}`);
  const data = await answer.json().catch(() => ({ error: `${answer.status} ${answer.statusText}` }));
  if (!answer.ok) throw new Error(String(data.error ?? answer.statusText));
  return data as T;
}

/** The address of a page within the live page. */
export function link(page: string, query: [string, string][] = []): string {
  const text = new URLSearchParams(query).toString();
  return `#/${page}${text ? `?${text}` : ""}`;
}
