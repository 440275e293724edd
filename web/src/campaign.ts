// The machine, what was asked, and what did not pass: the foot of the page.

import { element, facts, section } from "./dom.ts";
import { bytes, counted, whole } from "./format.ts";
import type { Report } from "./model.ts";
import { named } from "./tables.ts";

/** Notes behind the verdicts, by number. */
export function notes(report: Report): HTMLElement | null {
  const bad = report.notes.filter((note) => note.level !== "note" && note.level !== "passed");
  if (bad.length === 0) return null;
  const list = element("ol", { class: "notes" });
  for (const note of bad) {
    const cells = note.cells.map((cell) => {
      const where = `${cell.contender}, ${cell.workload}, ${cell.load}: `;
      return element("li", {}, element("b", {}, where), cell.text);
    });
    const title = element("b", { "data-level": note.level }, `[${note.number}] ${note.code}`);
    const words = ` ${note.rule}, ${note.level} in ${counted(cells.length, "cell")}`;
    const folded = cells.splice(1);
    const line = element("li", { id: `note-${note.number}` }, title, words);
    line.append(element("ul", {}, ...cells));
    if (folded.length > 0) {
      const label = element("summary", {}, counted(folded.length, "more cell"));
      line.append(element("details", {}, label, element("ul", {}, ...folded)));
    }
    list.append(line);
  }
  return section("Notes", list);
}

/** Trials that have no result, with reason and fix, once for all cells that share them. */
export function lost(report: Report): HTMLElement | null {
  if (report.lost.length === 0) return null;
  const list = element("ul", { class: "notes" });
  for (const one of report.lost) {
    const cells = one.cells.map((cell) => `${cell.workload}, ${cell.load}`);
    const places = cells.length === 1 ? `, ${cells[0]}` : "";
    const where = `${one.contender}${places}, round ${one.rounds.join(", ")}: `;
    const verdict = element("span", { class: "verdict", "data-verdict": one.verdict }, one.verdict);
    const line = element("li", {}, element("b", {}, where), verdict, ` ${one.text}`);
    if (cells.length > 1) {
      const label = element("summary", {}, `${whole(cells.length)} cells`);
      line.append(element("details", {}, label, cells.join("; ")));
    }
    if (one.message) line.append(element("pre", { tabindex: "0" }, one.message));
    list.append(line);
  }
  return section("Trials without a result", list);
}

/** Pairs of contenders, round by round. */
export function comparisons(report: Report): HTMLElement | null {
  if (report.comparisons.length === 0) return null;
  const list = element("ul", { class: "notes" });
  for (const one of report.comparisons) {
    const where = element("b", {}, `${one.workload}, ${one.load}: `);
    list.append(element("li", { "data-conclusion": one.conclusion }, where, one.text));
  }
  // Each pair is compared once for each metric, and not where a number cannot be used.
  const weighed = report.comparisons.filter(
    (one) => !["not-compared", "not-comparable"].includes(one.conclusion),
  );
  const shown = weighed.filter((one) => ["higher", "lower"].includes(one.conclusion));
  const differences = counted(shown.length, "difference");
  const label = `${counted(weighed.length, "comparison")}, ${differences} shown`;
  return section("Comparisons", element("details", {}, element("summary", {}, label), list));
}

/** The machine and the plan. */
export function surroundings(report: Report): HTMLElement {
  const { campaign } = report;
  const contenders = element("ul", { class: "plain" });
  for (const one of campaign.contenders) {
    const version =
      one.server === null ? "not started" : `${one.server} ${one.versions.join(", ")}`;
    contenders.append(element("li", {}, named(one.name, one.kind), ` ${version}`));
  }
  const workloads = campaign.workloads.map((one): [string, string] => [
    one.name,
    [
      `${one.description} ${one.request} over ${one.protocol}, expects ${one.expects}`,
      one.proxied ? ", through an upstream" : "",
      one.origin === undefined ? "" : ` with ${one.origin}`,
      ...(one.notes ?? []).map((note) => `; ${note}`),
    ].join(""),
  ]);
  const plan: [string, string][] = [
    ["rounds", whole(campaign.rounds)],
    ["seed", String(campaign.seed)],
    ["rest", `${campaign.rest_s} s`],
    [
      "trials",
      Object.entries(campaign.trials)
        .map(([name, n]) => `${n} ${name}`)
        .join(", "),
    ],
    [
      "loads",
      campaign.loads
        .map((one) => `${one.title} (${one.warmup_s} s warm-up, ${one.duration_s} s measured)`)
        .join("; "),
    ],
  ];
  return section(
    "Machine and plan",
    element(
      "div",
      { class: "columns" },
      element("div", {}, element("h4", {}, "Machine"), facts(machineOf(report))),
      element(
        "div",
        {},
        element("h4", {}, "Contenders"),
        contenders,
        element("h4", {}, "Workloads"),
        facts(workloads),
        element("h4", {}, "Plan"),
        facts(plan),
      ),
    ),
  );
}

/** Facts of the machine by name; last its kernel settings, named as the kernel does. */
function machineOf(report: Report): [string, string][] {
  const { settings, ...own } = report.campaign.machine;
  const { microcode = null, swap_bytes = null, sysctls = {} } = settings;
  const known = Object.entries({ ...own, microcode, swap_bytes })
    .filter(([name, value]) => value !== null && name !== "schema")
    .map(([name, value]): [string, string] => [name.replaceAll("_", " "), words(name, value)]);
  return [...known, ...Object.entries(sysctls)];
}

function words(name: string, value: unknown): string {
  if (name.endsWith("_bytes") && typeof value === "number") return bytes(value);
  if (name === "command" && Array.isArray(value)) return value.join(" ");
  return Array.isArray(value) ? value.join(" to ") : String(value);
}
