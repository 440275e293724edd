// The machine and what was asked: the foot of the page.

import { named } from "./document.ts";
import { element, facts, section } from "./dom.ts";
import { bytes, whole } from "./format.ts";
import type { Report } from "./model.ts";

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
