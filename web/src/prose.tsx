// Sentences with `names` in code type, and the small part of Markdown that rule pages use. Nothing is ever parsed as HTML.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

export function Prose({ text }: { text: string }) {
  return <>{text.split(/`([^`]*)`/).map((part, i) => (i % 2 ? <code key={i}>{part}</code> : part))}</>;
}

/** Where a page gets the texts of rules from that it was not given; a report has them all inside. */
export const rulePages: { fetch: ((code: string) => Promise<string>) | null } = { fetch: null };

export function AboutRule({ code, text }: { code: string; text?: string }) {
  const [page, setPage] = useState(text ?? "");
  if (!text && !rulePages.fetch) return null;
  const load = (open: boolean) => { if (open && !page) void rulePages.fetch?.(code).then(setPage); };
  return (
    <details onToggle={(e) => load((e.target as HTMLDetailsElement).open)}>
      <summary>About {code}: how the rule decides, and when it is wrong</summary>{page && <RulePage text={page} />}
    </details>
  );
}

export function RulePage({ text }: { text: string }) {
  const blocks: ComponentChildren[] = [];
  const lines = text.split("\n");
  for (let i = 0; i < lines.length;) {
    const line = lines[i];
    if (line.startsWith("```")) {
      const end = lines.findIndex((each, j) => j > i && each.startsWith("```"));
      blocks.push(<pre tabIndex={0}>{lines.slice(i + 1, end < 0 ? undefined : end).join("\n")}</pre>);
      i = end < 0 ? lines.length : end + 1;
    } else if (line.startsWith("#")) {
      const words = line.replace(/^#+\s*/, "");
      blocks.push(line.startsWith("##") ? <h4>{words}</h4> : <h3>{words}</h3>);
      i += 1;
    } else if (/^(\d+\.|-) /.test(line)) {
      const ordered = /^\d/.test(line);
      const items: string[] = [];
      while (i < lines.length && (/^(\d+\.|-) /.test(lines[i]) || /^\s+\S/.test(lines[i]))) {
        if (/^\s/.test(lines[i])) items[items.length - 1] += ` ${lines[i].trim()}`;
        else items.push(lines[i].replace(/^(\d+\.|-) /, ""));
        i += 1;
      }
      const list = items.map((item) => <li><Prose text={item} /></li>);
      blocks.push(ordered ? <ol>{list}</ol> : <ul>{list}</ul>);
    } else if (line.trim()) {
      const words: string[] = [];
      while (i < lines.length && lines[i].trim() && !/^(#|```|(\d+\.|-) )/.test(lines[i])) words.push(lines[i++]);
      blocks.push(<p><Prose text={words.join(" ")} /></p>);
    } else i += 1;
  }
  return <div class="rulepage">{blocks}</div>;
}
