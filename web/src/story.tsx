// The top of the page: the verdict, the story, and what to do about it.

import { useState } from "preact/hooks";
import { PanelView } from "./panel";
import { AboutRule, Prose } from "./prose";
import type { Chapter, Curves, Question, Story } from "./types";

interface Props { story: Story; curves: Curves; version?: number }

export function Verdict({ story, live }: { story: Story; live?: string }) {
  return (
    <header class={`verdict ${story.verdict}`}>
      <p class="badge">{story.verdict}</p>
      <div><RunName name={story.run} />
        <p class="say">{story.length}{live ? ` · ${live}` : ""}{story.headline ? ` · ${story.headline}` : ""}</p>
        {story.reason && <p class="reason"><Prose text={story.reason} /></p>}</div>
    </header>
  );
}

/** The end of a path tells runs apart; the rest is small. */
function RunName({ name }: { name: string }) {
  const parts = name.split("/");
  const end = parts.slice(-2).join("/");
  return <h1 title={name}>{parts.length > 2 && <small><bdi>{name.slice(0, -end.length)}</bdi></small>}<bdi>{end}</bdi></h1>;
}

export function StoryView({ story, curves, version }: Props) {
  const [first, ...rest] = story.chapters;
  return (
    <div class="story">
      {first && <ChapterView chapter={first} story={story} curves={curves} version={version} open />}
      {!first && <p class="card calm">{story.examined.replace(/\.$/, "")}{story.verdict === "healthy" ? "; nothing found." : "."}</p>}
      {story.questions.map((each) => <QuestionView key={each.question} asked={each} open={!first} />)}
      {rest.map((each) => <ChapterView key={each.label + each.first_step} chapter={each} story={story} curves={curves} version={version} />)}
      {story.notes.length > 0 && (
        <ul class="notes">{story.notes.map((each) => <li key={each.label}><span class="tag note">note</span> <b>{each.label}</b>: <Prose text={each.message} /></li>)}</ul>
      )}
      {story.baseline && <p class="card"><Prose text={story.baseline} /></p>}
      {story.about.length > 0 && <details open><summary>About this log</summary><ul>{story.about.map((each) => <li key={each}><Prose text={each} /></li>)}</ul></details>}
    </div>
  );
}

function ChapterView({ chapter, story, curves, version, open }: { chapter: Chapter; story: Story; curves: Curves; version?: number; open?: boolean }) {
  return (
    <article class={`card chapter ${chapter.severity}`} data-code={chapter.code}>
      <h2><span class={`tag ${chapter.severity}`}>{chapter.severity}</span> {chapter.label}</h2>
      <p class="message"><Prose text={chapter.message} /></p>
      <div class={open ? "columns" : ""}>
        <div>
          {chapter.try.length > 0 && <h3>What to try, most likely first</h3>}
          <ol class="try">{chapter.try.slice(0, open ? undefined : 1).map((each) => <li key={each}><span><Prose text={each} /></span><Copy text={each} /></li>)}</ol>
          <dl>{chapter.facts.map(([name, said]) => [<dt>{name}</dt>, <dd>{said}</dd>])}</dl>
          {chapter.led_to.length > 0 && <>
            <h3>Which led to</h3>
            <ol class="ledto">{chapter.led_to.map((each) => (
              <li key={each.label + each.when}><b>{each.label}</b> <span class="when">{each.when}</span><br /><Prose text={each.message} />
                {each.evidence.length > 0 && <Evidence panels={each.evidence} curves={curves} axis={story.axis} version={version} />}</li>
            ))}</ol>
          </>}
          {!open && chapter.evidence.length > 0 && <Evidence panels={chapter.evidence} curves={curves} axis={story.axis} version={version} />}
          {!open && chapter.try.length > 1 && <details><summary>What else to try</summary><ol>{chapter.try.slice(1).map((each) => <li key={each}><Prose text={each} /></li>)}</ol></details>}
          {chapter.could_also_be.length > 0 && <details><summary>What else it could be, and how to tell</summary><ul>{chapter.could_also_be.map((each) => <li key={each}><Prose text={each} /></li>)}</ul></details>}
          {chapter.numbers.length > 0 && <details><summary>Numbers</summary><dl class="numbers">{chapter.numbers.map(([name, said]) => [<dt>{name}</dt>, <dd>{said}</dd>])}</dl></details>}
          <AboutRule code={chapter.code} text={story.rule_pages[chapter.code]} />
        </div>
        {open && <div>{chapter.evidence.map((each) => <PanelView key={each.id} panel={each} curves={curves} axis={story.axis} version={version} bare />)}</div>}
      </div>
    </article>
  );
}

function Evidence({ panels, curves, axis, version }: { panels: Chapter["evidence"]; curves: Curves; axis: string; version?: number }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(e) => setOpen((e.target as HTMLDetailsElement).open)}><summary>Evidence</summary>
      {open && <div class="columns">{panels.map((each) => <PanelView key={each.id} panel={each} curves={curves} axis={axis} version={version} bare />)}</div>}
    </details>
  );
}

function QuestionView({ asked, open }: { asked: Question; open: boolean }) {
  return (
    <article class="card question">
      <p class="message"><span class="tag note">question</span> <Prose text={asked.question} /></p>
      <details open={open && !asked.harmless}><summary>{asked.summary}</summary>
        <ul class="answers">{asked.answers.map((each) => (
          <li key={each.title}><b>{each.weight}</b> {each.title}
            <ul>{each.for.map((sign) => <li class="for"><Prose text={sign} /></li>)}{each.against.map((sign) => <li class="against"><Prose text={sign} /></li>)}</ul></li>
        ))}</ul>
        {asked.experiment && <><p><b>{asked.experiment.title}</b>. <Prose text={asked.experiment.do} /></p>
          <ul>{asked.experiment.outcomes.map((each) => <li key={each}><Prose text={each} /></li>)}</ul></>}
      </details>
    </article>
  );
}

function Copy({ text }: { text: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    const plain = text.replace(/`/g, "");
    try {
      await navigator.clipboard.writeText(plain);
    } catch { // not given to every page that is opened from disk
      const area = document.createElement("textarea");
      area.value = plain;
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return <button type="button" class="copy" onClick={copy} aria-label={`Copy: ${text}`}>{done ? "copied" : "copy"}</button>;
}
