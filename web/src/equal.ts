// Whether contenders do equal work for an answer, and what their configurations say differently.

import { element, section } from "./dom.ts";
import { whole } from "./format.ts";
import type { ConfigChanges, ConfigDiff, Equivalence, Inequality, Report } from "./model.ts";
import { named, scrolling } from "./tables.ts";

/** A table for each workload; the first that is unfair stands open. */
export function equalWork(report: Report): HTMLElement | null {
  if (report.equivalence.length === 0) return null;
  const box = element("div", { id: "equal-work" });
  let opened = false;
  for (const one of report.equivalence) {
    const count = one.inequalities.length;
    const unfair = count > 0;
    const facts = `${whole(count)} ${count === 1 ? "fact makes" : "facts make"}`;
    const word = unfair ? `${facts} comparisons unfair` : "equal in all that matters";
    const details = element("details", {
      "data-workload": one.workload,
      "data-unfair": String(unfair),
    });
    details.open = unfair && !opened;
    opened ||= unfair;
    details.append(
      element("summary", {}, element("b", {}, one.workload), " ", badge(unfair, word)),
      one.rows.length > 0 ? table(one) : "",
      remarks(one),
    );
    box.append(details);
  }
  const words =
    "What each contender did for a few requests before its load. " +
    "Unequal work may explain a difference. The ratio stands, " +
    'unless the plan says compare = "equal-work".';
  return section("Equal work", element("p", { class: "muted" }, words), box);
}

/** What trials changed in users' own files, and unified diffs between contenders of one server. */
export function configurations(report: Report): HTMLElement | null {
  if (report.diffs.length === 0 && report.config_changes.length === 0) return null;
  const box = element("div", { id: "configurations" });
  for (const one of report.config_changes) box.append(changed(one));
  for (const one of report.diffs) box.append(diff(one));
  return section("Configurations", box);
}

function badge(unfair: boolean, word: string): HTMLElement {
  return element("span", { class: "verdict", "data-verdict": unfair ? "suspect" : "valid" }, word);
}

function table(one: Equivalence): HTMLElement {
  const head = element("tr", {}, element("th", { scope: "col" }, "fact"));
  for (const name of one.contenders)
    head.append(element("th", { scope: "col" }, named(name, "contender")));
  head.append(element("th", { scope: "col" }, "comparison"));
  const body = element("tbody");
  for (const row of one.rows) {
    const unfair = row.class === "unfair";
    const line = element("tr", { "data-class": row.class, "data-fact": row.fact });
    line.append(element("th", { scope: "row" }, row.title));
    for (const value of row.values)
      line.append(value === null ? unknown() : element("td", {}, value));
    line.append(element("td", {}, badge(unfair, unfair ? "unfair" : "differs")));
    body.append(line);
  }
  const label = `Equal work, ${one.workload}`;
  const made = element("table", { class: "equal" }, element("thead", {}, head), body);
  return scrolling(label, made);
}

function unknown(): HTMLElement {
  return element("td", { class: "muted", title: "not known" }, "?");
}

function remarks(one: Equivalence): HTMLElement {
  const list = element("ul", { class: "notes" });
  for (const unequal of one.inequalities) list.append(unfair(unequal));
  for (const fact of one.unknown) {
    const whom = fact.contenders.join(" and ");
    const words = `${fact.title} of ${whom}: ${fact.reason}`;
    list.append(element("li", {}, element("b", {}, "not known: "), words));
  }
  if (one.equal.length > 0) {
    const facts = one.equal.map((fact) => `${fact.title} ${fact.value}`).join("; ");
    list.append(element("li", { class: "muted" }, element("b", {}, "equal: "), facts));
  }
  return list;
}

function unfair(one: Inequality): HTMLElement {
  const title = element("b", { "data-level": one.check.level }, one.check.code);
  const line = element("li", {}, title, ` ${one.check.rule}: ${one.check.text}`);
  const known = one.remedies.filter((remedy) => remedy.line !== null);
  if (known.length === 0) return line;
  const list = element("ul");
  for (const remedy of known) {
    const where = `to change in ${remedy.contender} (${remedy.server}): `;
    list.append(element("li", {}, where, element("code", {}, remedy.line)));
  }
  line.append(list);
  return line;
}

function diff(one: ConfigDiff): HTMLElement {
  const pair = `${one.second} against ${one.first} (${one.server})`;
  const title = `${pair}, ${one.workloads.join(", ")}: ${lines(one.changed)}`;
  const text = element("pre", { class: "diff", tabindex: "0" });
  for (const line of one.text.trimEnd().split("\n")) {
    const kind = line.startsWith("@@") || /^(\+\+\+|---) /.test(line) ? "place" : line.charAt(0);
    const name = kind === "+" ? "added" : kind === "-" ? "removed" : kind === "place" ? kind : "";
    text.append(diffLine(name, line));
  }
  return element("details", {}, element("summary", {}, title), text);
}

function changed(one: ConfigChanges): HTMLElement {
  const count = lines(one.changes.length);
  const title = `${one.contender} (${one.server}): ${count} of its own files changed for a trial`;
  const text = element("pre", { class: "diff", tabindex: "0" });
  for (const change of one.changes) {
    text.append(diffLine("place", `${change.file}:${change.line} (${change.why})`));
    text.append(diffLine("removed", `- ${change.before}`));
    // A line that was left out has nothing in its place.
    const after = change.after.split("\n").filter((line) => line.trim() !== "");
    for (const line of after) text.append(diffLine("added", `+ ${line}`));
  }
  const summary = element("summary", {}, title);
  return element("details", { "data-contender": one.contender }, summary, text);
}

function diffLine(kind: string, line: string): HTMLElement {
  return element("span", kind === "" ? {} : { class: kind }, `${line}\n`);
}

function lines(count: number): string {
  return `${whole(count)} ${count === 1 ? "line" : "lines"}`;
}
