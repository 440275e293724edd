// Everything about single trials, for whoever wants to look closer. A trial's details are built
// when they are opened.

import { named } from "./document.ts";
import { type Child, element, facts } from "./dom.ts";
import { bytes, digits, duration, percent, whole } from "./format.ts";
import { decidingAt, factsOf } from "./metrics.ts";
import type { Check, Report, Trial } from "./model.ts";
import type { Selection } from "./selection.ts";

/** The trials of the chosen workload and load. */
export function trialList(selection: Selection): HTMLElement {
  const box = element("div", { class: "trials" });
  const draw = () => {
    const trials = selection.cells().flatMap((cell) => selection.trials(cell));
    box.replaceChildren(...trials.map((trial) => trialEntry(selection.report, trial)));
  };
  selection.watch(draw);
  draw();
  return box;
}

function trialEntry(report: Report, trial: Trial): HTMLElement {
  const { short, metric, text } = factsOf(decidingAt(report, trial.load));
  const value = trial.values[metric];
  // A rate's unit says what it is.
  const name = metric === "rate_per_s" ? "" : `${short} `;
  const words = value === undefined ? "" : `${name}${text(value)}`;
  const title = element(
    "summary",
    {},
    named(trial.contender, trial.kind),
    ` round ${trial.round}${trial.attempt > 1 ? `, attempt ${trial.attempt}` : ""} `,
  );
  const weak = weakNumbers(trial);
  const verdict = `${trial.verdict}${weak === "" ? "" : `: ${weak}`}`;
  title.append(element("span", { class: "verdict", "data-verdict": trial.verdict }, verdict));
  title.append(element("span", { class: "muted" }, ` ${words}`));
  const entry = element("details", { "data-trial": trial.id }, title);
  entry.addEventListener("toggle", () => {
    if (entry.open && entry.childElementCount === 1) entry.append(...details(report, trial));
  });
  return entry;
}

/** The numbers that are not valid, where not all are alike. */
function weakNumbers({ verdicts, verdict: worst }: Trial): string {
  const all = Object.entries(verdicts);
  if (all.every(([, one]) => one === worst)) return "";
  const weak = all.filter(([, one]) => one !== "valid");
  return weak.map(([number, one]) => (one === worst ? number : `${number} ${one}`)).join(", ");
}

function details(report: Report, trial: Trial): HTMLElement[] {
  return [
    element(
      "div",
      { class: "columns" },
      block("How it went", course(trial)),
      block("Server", server(trial)),
    ),
    element(
      "div",
      { class: "columns" },
      block("Requests", requests(trial)),
      block("Checks", checks(trial.checks, trial.passed)),
    ),
    ...configs(report, trial),
  ];
}

function block(title: string, content: HTMLElement): HTMLElement {
  return element("div", {}, element("h4", {}, title), content);
}

function course(trial: Trial): HTMLElement {
  const end = Object.entries(trial.end)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => (name === "kind" ? String(value) : `${name}: ${String(value)}`));
  const pinned = Object.entries(trial.pinned)
    .filter(([, cpus]) => cpus.length > 0)
    .map(([role, cpus]) => `${role} on ${cpus.join(", ")}`);
  const answers = trial.answers.map((one) =>
    [one.when, one.right ? "right" : "wrong", one.status, `${whole(one.body_bytes)} bytes`].join(
      " ",
    ),
  );
  return facts([
    ["Trial", element("code", {}, trial.id)],
    ["Started", trial.started_at],
    ["End", end.join("; ")],
    ["Steps", trial.steps.map((one) => `${one.step} ${digits(one.took_s)} s`).join(", ")],
    ["Processors", pinned.join("; ")],
    ["Answers", answers.join("; ")],
    ["Disturbed by", (trial.disturbed ?? []).join(", ").replaceAll("-", " ")],
    ["Order", `trial ${trial.index + 1} of the campaign`],
  ]);
}

function server(trial: Trial): HTMLElement {
  const one = trial.server;
  if (!one) return element("p", { class: "muted" }, "The trial ended before the server was known.");
  const stopped = one.stopped
    ? [
        `${one.stopped.graceful ? "when asked" : "killed"}, ${digits(one.stopped.took_s)} s`,
        one.stopped.status ?? "",
      ].join(" ")
    : "";
  return facts([
    ["Program", `${one.server} ${one.version}`],
    ["Path", element("code", {}, one.binary)],
    ["SHA-256", element("code", { class: "wrap" }, one.binary_sha256)],
    ["Command", element("code", { class: "wrap" }, one.command.join(" "))],
    ["Address", element("code", {}, one.address)],
    [
      "Server header",
      one.server_header === null
        ? ""
        : element("code", { class: "server-header" }, one.server_header),
    ],
    ["Stopped", stopped],
  ]);
}

function requests(trial: Trial): HTMLElement {
  const counts = (all: object | null | undefined) =>
    Object.entries(all ?? {})
      .filter((entry): entry is [string, number] => typeof entry[1] === "number")
      .map(([name, n]) => `${name.replaceAll("_", " ")} ${whole(n)}`)
      .join(", ");
  const engine = trial.engine;
  const values = trial.values;
  const latency = ["p50", "p90", "p99", "max"].flatMap((name) => {
    const ns = values[`latency_${name}_ns`];
    return ns === undefined ? [] : [`${name} ${duration(ns)}`];
  });
  const samples = Object.entries(trial.error_samples).map(([kind, words]) => `${kind}: ${words}`);
  return facts([
    ["Requests", counts(trial.requests)],
    ["Outcomes", counts(trial.outcomes)],
    ["First errors", samples.join("; ")],
    ["Status", counts(trial.status)],
    ["Latency", latency.join(", ")],
    ["Connections", counts(trial.connections)],
    [
      "Bytes",
      Object.entries(trial.bytes ?? {})
        .map(([name, n]) => `${name} ${bytes(n)}`)
        .join(", "),
    ],
    [
      "Agreed",
      Object.values(trial.negotiated ?? {})
        .filter((one) => one !== null)
        .join(", "),
    ],
    ["Upstream", counts(trial.origin)],
    [
      "Engine",
      engine
        ? `busy ${engine.busy_share.map(percent).join(", ")} %; ${bytes(engine.rss_bytes_max)}`
        : "",
    ],
  ]);
}

function checks(found: Check[], passed: string[]): HTMLElement {
  const list = element("ul", { class: "checks" });
  for (const check of found) {
    const label = element("b", { "data-level": check.level }, `${check.code} (${check.rule})`);
    // What is only noted takes nothing away from any number.
    const levels = Object.entries(check.level === "note" ? {} : check.numbers);
    const weak = levels.filter(([, level]) => level === check.level).map(([number]) => number);
    const numbers = element("small", {}, weak.length > 0 ? ` ${weak.join(", ")}:` : "");
    list.append(element("li", {}, label, numbers, ` ${check.text}`));
  }
  if (passed.length > 0)
    list.append(element("li", { class: "muted" }, `passed: ${passed.join(", ")}`));
  return list;
}

function configs(report: Report, trial: Trial): HTMLElement[] {
  return (trial.server?.configs ?? []).map((config) => {
    const text: Child = report.texts[config.text] ?? "";
    return element(
      "details",
      {},
      element("summary", {}, element("code", {}, config.path)),
      element("pre", { tabindex: "0" }, text),
    );
  });
}
