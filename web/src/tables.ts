// The main table of a workload and load, in the order of the experiment that bakeoff grew from,
// and the overview of all rates.

import { type Child, element } from "./dom.ts";
import { bytes, digits, milliseconds, percent, whole } from "./format.ts";
import type { Cell, Report } from "./model.ts";
import type { Selection } from "./selection.ts";

interface Column {
  title: string;
  unit: string;
  measure: string | null;
  text: (cell: Cell) => string;
}

function measured(
  title: string,
  unit: string,
  measure: string,
  show: (value: number) => string,
): Column {
  const text = (cell: Cell) => {
    const estimate = cell.estimates[measure];
    const bound = cell.at_least?.[measure];
    if (!estimate && bound !== undefined) return `≥ ${show(bound)}`;
    return estimate ? show(estimate.point) : "";
  };
  return { title, unit, measure, text };
}

const COLUMNS: Column[] = [
  measured("min", "ms", "latency_min_ns", milliseconds),
  measured("median", "ms", "latency_p50_ns", milliseconds),
  measured("average", "ms", "latency_mean_ns", milliseconds),
  measured("p90", "ms", "latency_p90_ns", milliseconds),
  measured("p95", "ms", "latency_p95_ns", milliseconds),
  measured("max", "ms", "latency_max_ns", milliseconds),
  measured("requests", "", "requests", whole),
  {
    title: "errors",
    unit: "%",
    measure: null,
    text: (cell) => (cell.error_share === null ? "" : percent(cell.error_share)),
  },
  measured("p99", "ms", "latency_p99_ns", milliseconds),
  { title: "req/s", unit: "", measure: "rate_per_s", text: rate },
  { title: "low to high", unit: "", measure: null, text: spread },
  measured("CPU", "µs/req", "cpu_ns_per_request", (ns) => digits(ns / 1e3)),
  measured("memory", "peak", "memory_peak_bytes", bytes),
];

function rate(cell: Cell): string {
  const estimate = cell.estimates["rate_per_s"];
  if (!estimate) return "";
  return `${cell.rate_is_lower_bound ? "≥ " : ""}${whole(estimate.point)}`;
}

function spread(cell: Cell): string {
  const estimate = cell.estimates["rate_per_s"];
  if (!estimate || estimate.n < 2) return "";
  return `${whole(estimate.low)} to ${whole(estimate.high)}`;
}

/** The verdict of a cell as a coloured word, with the numbers of its notes. */
export function verdict(cell: Cell): HTMLElement {
  const name = cell.verdict.verdict;
  const badge = element("span", { class: "verdict", "data-verdict": name }, name);
  for (const number of cell.notes) {
    badge.append(" ", element("a", { href: `#note-${number}` }, `[${number}]`));
  }
  return badge;
}

/** A contender's name beside its colour. */
export function named(name: string, kind: string): HTMLElement {
  const swatch = element("span", {
    class: "swatch",
    "data-contender": name,
    "aria-hidden": "true",
  });
  const aside = kind === "contender" ? null : element("small", {}, " reference");
  return element("span", { class: "named" }, swatch, name, aside);
}

/** The table of the cells of one workload and load. */
export function mainTable(cells: Cell[], caption: string): HTMLElement {
  const head = element("tr", {}, element("th", { scope: "col" }, "contender"));
  for (const column of COLUMNS) {
    const unit = column.unit === "" ? null : element("small", {}, column.unit);
    head.append(element("th", { scope: "col", class: "number" }, column.title, " ", unit));
  }
  head.append(element("th", { scope: "col" }, "verdict"));
  const body = element("tbody");
  for (const cell of cells) body.append(row(cell));
  const table = element("table", { class: "main" }, element("caption", {}, caption));
  table.append(element("thead", {}, head), body);
  return scrolling(caption, table);
}

/** A table that scrolls by itself where the page is narrower. */
export function scrolling(label: string, table: HTMLElement): HTMLElement {
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    table,
  );
}

function row(cell: Cell): HTMLElement {
  const line = element("tr", { "data-contender": cell.contender, "data-kind": cell.kind });
  line.append(element("th", { scope: "row" }, named(cell.contender, cell.kind)));
  for (const column of COLUMNS) {
    const text = column.text(cell);
    const reason = column.measure === null ? undefined : cell.missing[column.measure];
    const field = element("td", { class: "number" }, text === "" ? "–" : text);
    if (reason) field.title = reason;
    const estimate = column.measure === null ? null : cell.estimates[column.measure];
    if (estimate && estimate.n > 1) field.title = `median of ${estimate.n} rounds`;
    if (column.title === "errors" && (cell.error_share ?? 0) > 0) field.dataset["bad"] = "";
    line.append(field);
  }
  line.append(element("td", {}, verdict(cell)));
  return line;
}

/** What the table cannot hold: errors by kind, missing latencies, what held the rate down. */
export function remarks(cells: Cell[]): HTMLElement {
  const list = element("ul", { class: "remarks" });
  for (const cell of cells) {
    const asked = Math.max(cell.due ?? cell.completed, 1);
    const kinds: [string, number][] = Object.entries(cell.outcomes)
      .filter(([kind]) => kind !== "ok")
      .sort((left, right) => right[1] - left[1]);
    if (cell.unended) kinds.push(["without an end", cell.unended]);
    const errors = kinds.map(([kind, n]) => `${whole(n)} ${kind} (${percent(n / asked)} %)`);
    const words: Child[] = [];
    if (errors.length > 0) words.push(`errors: ${errors.join(", ")}. `);
    if (cell.over_range) {
      words.push(`${whole(cell.over_range)} latencies over 73 minutes, beyond percentiles. `);
    }
    const reason = cell.missing["latency_p50_ns"];
    if (reason && cell.rounds_measured > 0 && !cell.at_least) {
      words.push(`no latency: ${reason}. `);
    }
    if (cell.bottleneck && cell.kind === "contender") {
      words.push(`bottleneck: ${cell.bottleneck.name} (${cell.bottleneck.text}).`);
    }
    if (words.length > 0)
      list.append(element("li", {}, named(cell.contender, cell.kind), " ", ...words));
  }
  return list;
}

/** Requests per second of every cell: contenders down, workloads and loads across. */
export function overview(selection: Selection): HTMLElement {
  const report = selection.report;
  const keys = [
    ...new Map(report.cells.map((cell) => [`${cell.workload}\n${cell.load}`, cell])).values(),
  ];
  const top = element("tr", {}, element("th", { scope: "col", rowspan: "2" }, "requests/s"));
  for (const workload of new Set(keys.map((key) => key.workload))) {
    const span = keys.filter((key) => key.workload === workload).length;
    top.append(
      element("th", { scope: "colgroup", colspan: String(span), class: "group" }, workload),
    );
  }
  const head = element("tr");
  for (const key of keys)
    head.append(element("th", { scope: "col", class: "number" }, jump(selection, key)));
  const body = element("tbody");
  for (const contender of report.campaign.contenders) {
    const line = element("tr", { "data-kind": contender.kind });
    line.append(element("th", { scope: "row" }, named(contender.name, contender.kind)));
    for (const key of keys) line.append(rateField(report, contender.name, key));
    body.append(line);
  }
  const table = element("table", { class: "overview" }, element("thead", {}, top, head), body);
  return scrolling("Overview", table);
}

function rateField(report: Report, contender: string, key: Cell): HTMLElement {
  const cell = report.cells.find(
    (one) => one.contender === contender && one.workload === key.workload && one.load === key.load,
  );
  if (!cell) return element("td", { class: "number" });
  const name = cell.verdict.verdict;
  const dot = element("span", {
    class: "dot",
    "data-verdict": name,
    role: "img",
    "aria-label": name,
  });
  dot.title = name;
  const text = rate(cell);
  return element("td", { class: "number" }, text === "" ? `${name} ` : `${text} `, dot);
}

function jump(selection: Selection, key: Cell): HTMLElement {
  const load = selection.report.campaign.loads.find((one) => one.label === key.load);
  const button = element("button", { type: "button", class: "link" }, load?.title ?? key.load);
  button.addEventListener("click", () => {
    selection.choose({ workload: key.workload, load: key.load });
    document.getElementById("results")?.scrollIntoView({ block: "start" });
  });
  return button;
}
