// The rules, and the page of each.

import { useEffect, useState } from "preact/hooks";
import { RulePage } from "./prose";
import { ask, link, type RuleRow } from "./server";

export function RulesPage({ code }: { code: string }) {
  const [rules, setRules] = useState<RuleRow[]>([]);
  const [text, setText] = useState("");
  const [failed, setFailed] = useState("");
  useEffect(() => { void ask<{ rules: RuleRow[] }>("rules").then((answer) => setRules(answer.rules), (error: Error) => setFailed(error.message)); }, []);
  useEffect(() => {
    setText("");
    if (code) void ask<{ text: string }>(`rules/${encodeURIComponent(code)}`).then((answer) => setText(answer.text), (error: Error) => setFailed(error.message));
  }, [code]);
  if (code) return <article class="card"><p><a href={link("rules")}>All rules</a></p>{failed && <p class="alarmtext">{failed}</p>}{text && <RulePage text={text} />}</article>;
  const families = [...new Set(rules.map((each) => each.family))];
  return <>
    <header class="listhead"><h1>{rules.length} rules</h1>{failed && <span class="alarmtext">{failed}</span>}</header>
    {families.map((family) => (
      <section key={family} class="instruments" aria-label={family}><h2>{family}</h2>
        <ul class="rules">{rules.filter((each) => each.family === family).map((each) => (
          <li key={each.code}><a href={link("rules", [["code", each.code]])}>{each.code} {each.name}</a> <span class={`tag ${each.severity}`}>{each.severity}</span>{each.status !== "stable" && <span class="quiet"> preview</span>}<br /><span class="quiet">{each.title}</span></li>
        ))}</ul>
      </section>
    ))}
  </>;
}
