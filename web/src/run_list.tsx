// Every run of the folder, the newest first: verdict, loss and how far it has come.

import { useEffect, useRef, useState } from "preact/hooks";
import { Prose } from "./prose";
import { ask, link, type Listing, type Row } from "./server";

const EVERY = 2500; // milliseconds; only rows that changed are sent
const MAX_CHOSEN = 6;

export function RunList() {
  const [listing, setListing] = useState<Listing | null>(null);
  const [failed, setFailed] = useState("");
  const [wanted, setWanted] = useState("");
  const [chosen, setChosen] = useState<string[]>([]);
  const rows = useRef(new Map<string, Row>());
  const version = useRef(0);
  useEffect(() => {
    let timer = 0;
    const look = async () => {
      if (!document.hidden) {
        try {
          const answer = await ask<Listing>("runs", [["version", String(version.current)]]);
          answer.rows.forEach((row) => rows.current.set(row.name, row));
          version.current = answer.version;
          setListing(answer);
          setFailed("");
        } catch (error) { setFailed(`The server does not answer: ${(error as Error).message}`); }
      }
      timer = window.setTimeout(look, EVERY);
    };
    void look();
    return () => clearTimeout(timer);
  }, []);
  if (!listing) return <p class="card" aria-live="polite">{failed || "Looking for runs …"}</p>;
  const shown = listing.seen.filter(([name]) => name.toLowerCase().includes(wanted.toLowerCase()));
  const choose = (name: string) => setChosen(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name].slice(-MAX_CHOSEN));
  return <>
    <header class="listhead"><h1><bdi>{listing.folder}</bdi></h1>
      <span class="quiet">{listing.seen.length} {listing.seen.length === 1 ? "run" : "runs"}{tally(listing, rows.current)}</span>
      <label class="search">find <input type="search" value={wanted} onInput={(e) => setWanted((e.target as HTMLInputElement).value)} /></label>
      {chosen.length > 1
        ? <a class="button" href={link("compare", chosen.map((name) => ["run", name]))}>Compare {chosen.length} runs</a>
        : <span class="quiet">choose two or more to compare</span>}
    </header>
    {failed && <p class="card alarmtext" role="alert">{failed}</p>}
    {!shown.length && <p class="card">No run {wanted ? "has that in its name" : "here yet; this page will show it when it begins"}.</p>}
    <ul class="runs">{shown.map(([name, , training]) => <RunRow key={name} name={name} training={training} row={rows.current.get(name)} chosen={chosen.includes(name)} choose={choose} />)}</ul>
  </>;
}

function tally(listing: Listing, rows: Map<string, Row>): string {
  const counts = new Map<string, number>();
  for (const [name] of listing.seen) {
    const verdict = rows.get(name)?.verdict || "being read";
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  }
  return listing.seen.length ? `: ${[...counts].map(([verdict, n]) => `${n} ${verdict}`).join(", ")}` : "";
}

function RunRow({ name, training, row, chosen, choose }: { name: string; training: boolean; row?: Row; chosen: boolean; choose: (name: string) => void }) {
  return (
    <li class={`card run ${row?.verdict ?? ""}`}>
      <input type="checkbox" checked={chosen} onChange={() => choose(name)} aria-label={`compare ${name}`} />
      <div class="what"><a href={link("run", [["name", name]])}><bdi>{name}</bdi></a>
        <span class="quiet">{[row?.length, training ? "training now" : row?.finished === false ? "ended with an error" : ""].filter(Boolean).join(" · ")}</span></div>
      <span class={`verdictword ${row?.verdict ?? ""}`}>{row ? row.verdict : <span class="reading">being read</span>}</span>
      <Spark row={row} />
      <p class="said">{row && <Prose text={row.said || row.headline} />}</p>
    </li>
  );
}

function Spark({ row }: { row?: Row }) {
  const points = row?.spark?.steps.length ? row.spark : null;
  if (!points) return <svg class="spark" viewBox="0 0 120 32" aria-hidden="true" />;
  const finite = points.values.filter((v): v is number => v !== null);
  const positive = finite.every((v) => v > 0);
  const log = positive && Math.max(...finite) / Math.min(...finite) > 30;
  const level = (v: number) => (log ? Math.log(v) : v);
  const low = Math.min(...finite.map(level));
  const high = Math.max(...finite.map(level));
  const end = Math.max(1, points.steps[points.steps.length - 1]);
  const size = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const span = log ? Math.max(high - low, 0.3) : Math.max(high - low, 0.3 * size);
  const middle = (high + low) / 2;
  const parts: string[] = [];
  let down = false;
  points.values.forEach((v, i) => {
    if (v === null) { down = false; return; }
    const x = (118 * points.steps[i]) / end + 1;
    const y = 16 - (28 * (level(v) - middle)) / span;
    parts.push(`${down ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`);
    down = true;
  });
  const lost = points.values.findIndex((v) => v === null);
  const at = lost >= 0 ? (118 * points.steps[lost]) / end + 1 : 0;
  return (
    <svg class="spark" viewBox="0 0 120 32" role="img" aria-label={`${points.key}${log ? ", log" : ""}`} preserveAspectRatio="none">
      <path d={parts.join("")} fill="none" stroke="currentColor" stroke-width="1.4" />
      {lost >= 0 && <path d={`M${at.toFixed(1)} 1V31`} class="lost" />}
    </svg>
  );
}
