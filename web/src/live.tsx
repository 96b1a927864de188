// The live page: which part of it is shown is in the address, after the #.

import { useEffect, useState } from "preact/hooks";
import { ComparePage } from "./compare";
import { GalleryPage } from "./gallery";
import { LiveRunPage } from "./live_run";
import { rulePages } from "./prose";
import { LookButton } from "./report";
import { RulesPage } from "./rules";
import { RunList } from "./run_list";
import { ask, link } from "./server";

rulePages.fetch = (code) => ask<{ text: string }>(`rules/${code}`).then((answer) => answer.text);

function place(): { page: string; query: URLSearchParams } {
  const [page, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { page, query: new URLSearchParams(query ?? "") };
}

export function LivePage() {
  const [{ page, query }, go] = useState(place);
  useEffect(() => {
    const moved = () => { go(place()); window.scrollTo(0, 0); };
    window.addEventListener("hashchange", moved);
    return () => window.removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => {
    document.title = `${page === "run" ? `${query.get("name")} · ` : page ? `${page} · ` : ""}bedside`;
  }, [page, query]);
  const here = (name: string) => (page === name ? "page" : undefined);
  return (
    <main>
      <nav class="topline" aria-label="Pages">
        <span class="brand"><a href={link("")}>bedside</a></span>
        <span class="pages">
          <a href={link("")} aria-current={here("")}>Runs</a>
          <a href={link("gallery")} aria-current={here("gallery")}>Gallery of failures</a>
          <a href={link("rules")} aria-current={here("rules")}>Rules</a>
        </span>
        <LookButton />
      </nav>
      {page === "run" ? <LiveRunPage key={query.get("name")} name={query.get("name") ?? ""} />
        : page === "compare" ? <ComparePage key={query.toString()} names={query.getAll("run")} />
        : page === "gallery" ? <GalleryPage />
        : page === "rules" ? <RulesPage code={query.get("code") ?? ""} />
        : <RunList />}
    </main>
  );
}
