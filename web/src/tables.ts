// The main table of a workload and load: what decides first, then what explains it; and the
// overview of all rates.

import { type Child, element } from "./dom.ts";
import { bytes, digits, milliseconds, percent, whole } from "./format.ts";
import type { Cell, Metric, NumberName, Report, VerdictName } from "./model.ts";
import { markText, type Ratio, ratiosTo, ratioText, sign } from "./ratios.ts";
import { saveCsv, tableOf } from "./save.ts";
import type { Selection } from "./selection.ts";
import { swatchColour } from "./theme.ts";

/** What a row is made from. */
interface Line {
  cell: Cell;
  ratio: Ratio | null;
  baseline: string;
  /** What the ratio is of. */
  metric: Metric;
}

interface Column {
  key: string;
  title: string;
  unit: string;
  /** The verdict that it rests on. */
  number: NumberName | null;
  measure: string | null;
  value: (line: Line) => number | null;
  text: (line: Line) => string;
  /** What a value is divided by to be in the unit, where it is saved. */
  scale: number;
}

/** Sizes of the units that columns have. */
const SCALES: Record<string, number> = { ms: 1e6, "µs/req": 1e3 };

function measured(
  title: string,
  unit: string,
  number: NumberName,
  measure: string,
  show: (value: number) => string,
): Column {
  const value = ({ cell }: Line) => cell.estimates[measure]?.point ?? null;
  const text = ({ cell }: Line) => {
    const estimate = cell.estimates[measure];
    const bound = cell.at_least?.[measure];
    if (!estimate && bound !== undefined) return `≥ ${show(bound)}`;
    return estimate ? show(estimate.point) : "";
  };
  return { key: title, title, unit, number, measure, value, text, scale: SCALES[unit] ?? 1 };
}

const RATE: Column = {
  ...measured("req/s", "", "rate", "rate_per_s", digits),
  text: ({ cell }) => rate(cell),
};

const RATIO: Column = {
  key: "ratio",
  title: "ratio",
  unit: "to baseline",
  scale: 1,
  number: null,
  measure: null,
  value: (line) => (isBaseline(line) ? 1 : (line.ratio?.point ?? null)),
  text: (line) => {
    const { ratio } = line;
    if (isBaseline(line)) return "= 1";
    return ratio === null ? "" : `${ratioText(ratio)} ${sign(ratio)}`.trim();
  },
};

/** Whether ratios are to the value of this line, which has one. */
function isBaseline({ cell, baseline, metric }: Line): boolean {
  return cell.contender === baseline && Boolean(cell.estimates[metric]);
}

const ERRORS: Column = {
  key: "errors",
  title: "errors",
  unit: "%",
  scale: 0.01,
  number: null,
  measure: null,
  value: ({ cell }) => cell.error_share,
  text: ({ cell }) => (cell.error_share === null ? "" : percent(cell.error_share)),
};

const P99 = measured("p99", "ms", "latency", "latency_p99_ns", milliseconds);

/** What decides, before the verdict. */
const FIRST: Column[] = [
  RATE,
  RATIO,
  measured("p50", "ms", "latency", "latency_p50_ns", milliseconds),
  P99,
  ERRORS,
  measured("CPU", "µs/req", "cpu", "cpu_ns_per_request", (ns) => digits(ns / 1e3)),
  measured("memory", "peak", "memory", "memory_peak_bytes", bytes),
];

/** What explains it, after the verdict. */
const REST: Column[] = [
  {
    key: "interval",
    title: "low to high",
    unit: "req/s",
    scale: 1,
    number: "rate",
    measure: null,
    value: ({ cell }) => cell.estimates["rate_per_s"]?.low ?? null,
    text: ({ cell }) => spread(cell),
  },
  measured("min", "ms", "latency", "latency_min_ns", milliseconds),
  measured("mean", "ms", "latency", "latency_mean_ns", milliseconds),
  measured("p90", "ms", "latency", "latency_p90_ns", milliseconds),
  measured("p95", "ms", "latency", "latency_p95_ns", milliseconds),
  measured("max", "ms", "latency", "latency_max_ns", milliseconds),
  measured("requests", "a round", "counts", "requests", whole),
  {
    key: "rounds",
    title: "rounds",
    unit: "",
    scale: 1,
    number: null,
    measure: null,
    value: ({ cell }) => cell.rounds_measured,
    text: ({ cell }) => whole(cell.rounds_measured),
  },
];

function rate(cell: Cell): string {
  const estimate = cell.estimates["rate_per_s"];
  if (!estimate) return "";
  return `${cell.rate_is_lower_bound ? "≥ " : ""}${digits(estimate.point)}`;
}

function spread(cell: Cell): string {
  const estimate = cell.estimates["rate_per_s"];
  if (!estimate || estimate.n < 2) return "";
  return `${digits(estimate.low)} to ${digits(estimate.high)}`;
}

/** The verdict of a cell as a coloured word, with the numbers of its notes. */
export function verdict(cell: Cell): HTMLElement {
  const name = cell.verdict.verdict;
  const badge = element("span", { class: "verdict", "data-verdict": name }, name);
  for (const number of cell.notes) {
    badge.append(" ", element("a", { href: `#note-${number}` }, `[${number}]`));
  }
  const words = weakNumbers(cell.verdicts, name);
  if (words !== "") badge.append(element("small", { class: "of-numbers" }, words));
  return badge;
}

/** The numbers that are not valid, where not all are alike. */
export function weakNumbers(all: Cell["verdicts"], worst: VerdictName): string {
  const verdicts = Object.entries(all);
  if (verdicts.every(([, one]) => one === worst)) return "";
  const weak = verdicts.filter(([, one]) => one !== "valid");
  return weak.map(([number, one]) => (one === worst ? number : `${number} ${one}`)).join(", ");
}

/** A contender's name beside its colour. */
export function named(name: string, kind: string): HTMLElement {
  const swatch = element("span", {
    class: "swatch",
    "data-contender": name,
    "aria-hidden": "true",
  });
  swatch.style.background = swatchColour(name);
  const words = kind === "control" ? " control" : " reference";
  const aside = kind === "contender" ? null : element("small", {}, words);
  return element("span", { class: "named" }, swatch, name, aside);
}

/** The table of the cells of one workload and load. */
export function mainTable(selection: Selection, cells: Cell[], caption: string): HTMLElement {
  const { baseline, sort } = selection.choice;
  const metric = decidingAt(selection.report, cells[0]?.load ?? "");
  const ratios = ratiosTo(selection.report, baseline, metric);
  const lines = cells.map((cell): Line => {
    const ratio = ratios.find(
      (one) =>
        one.workload === cell.workload &&
        one.load === cell.load &&
        one.contender === cell.contender,
    );
    return { cell, ratio: ratio ?? null, baseline, metric };
  });
  const verdicts = sortable(selection, "verdict", "verdict", "");
  const head = element("tr", {}, sortable(selection, "contender", "contender", ""));
  for (const column of FIRST) head.append(heading(selection, column));
  head.append(verdicts);
  for (const column of REST) head.append(heading(selection, column));
  const body = element("tbody");
  for (const line of sorted(lines, sort)) body.append(row(selection, line));
  const table = element("table", { class: "main" }, element("caption", {}, caption));
  table.append(element("thead", {}, head), body);
  return scrolling(caption, table);
}

/** What contenders are compared by at a load: in an open loop the load makes the rate. */
export function decidingAt(report: Report, load: string): Metric {
  const model = report.campaign.loads.find((one) => one.label === load)?.model;
  return model === "open" ? "latency_p99_ns" : "rate_per_s";
}

/** Lines by a column; what has no value stands last. */
function sorted(lines: Line[], sort: string): Line[] {
  if (sort === "") return lines;
  const key = sort.replace(/^-/, "");
  const sense = sort.startsWith("-") ? -1 : 1;
  const worst = ["valid", "suspect", "invalid", "unsupported", "skipped", "failed"];
  const column = [...FIRST, ...REST].find((one) => one.key === key);
  const value = (line: Line): number | string | null => {
    if (key === "contender") return line.cell.contender;
    if (key === "verdict") return worst.indexOf(line.cell.verdict.verdict);
    return column?.value(line) ?? null;
  };
  return [...lines].sort((left, right) => {
    const [one, other] = [value(left), value(right)];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return (one < other ? -1 : Number(one > other)) * sense;
  });
}

function heading(selection: Selection, column: Column): HTMLElement {
  const made = sortable(selection, column.key, column.title, column.unit);
  made.classList.add("number");
  return made;
}

/** A heading that sorts by its column: the smallest first, the largest first, as it was. */
function sortable(selection: Selection, key: string, title: string, unit: string): HTMLElement {
  const now = selection.choice.sort;
  const order = now === key ? "ascending" : now === `-${key}` ? "descending" : "none";
  const next = { ascending: `-${key}`, descending: "", none: key }[order];
  const mark = { ascending: " ↑", descending: " ↓", none: "" }[order];
  const attributes = { type: "button", class: "sort", "data-sort": key };
  const button = element("button", attributes, title, mark);
  button.addEventListener("click", (event) => {
    const region = (event.currentTarget as HTMLElement).closest(".scroll");
    const label = region?.getAttribute("aria-label") ?? "";
    selection.choose({ sort: next });
    // The table was drawn anew: focus goes back to where it was.
    for (const one of document.querySelectorAll(".scroll")) {
      if (one.getAttribute("aria-label") !== label) continue;
      one.querySelector<HTMLElement>(`[data-sort="${key}"]`)?.focus({ preventScroll: true });
      return;
    }
  });
  const cell = element("th", { scope: "col", "aria-sort": order }, button);
  if (unit !== "") cell.append(" ", element("small", {}, unit));
  return cell;
}

/** A table that scrolls by itself where the page is narrower, and can be saved. */
export function scrolling(label: string, table: HTMLTableElement): HTMLElement {
  const attributes = { type: "button", class: "csv", title: "Save as CSV" };
  const button = element("button", { ...attributes, "aria-label": `Save as CSV: ${label}` }, "CSV");
  button.addEventListener("click", () => saveCsv(`bakeoff ${label}`, tableOf(table)));
  const region = { class: "scroll", tabindex: "0", role: "region", "aria-label": label };
  return element("div", { class: "table" }, button, element("div", region, table));
}

function row(selection: Selection, line: Line): HTMLElement {
  const { cell } = line;
  const made = element("tr", { "data-contender": cell.contender, "data-kind": cell.kind });
  const { workload, load, contender } = selection.choice;
  if (contender === cell.contender && workload === cell.workload && load === cell.load) {
    made.setAttribute("aria-current", "true");
  }
  made.append(element("th", { scope: "row" }, named(cell.contender, cell.kind)));
  for (const column of FIRST) made.append(fieldOf(column, line));
  made.append(element("td", { "data-value": cell.verdict.verdict }, verdict(cell)));
  for (const column of REST) made.append(fieldOf(column, line));
  return made;
}

function fieldOf(column: Column, line: Line): HTMLElement {
  const { cell, ratio } = line;
  const text = column.text(line);
  const field = element("td", { class: "number" }, text === "" ? "–" : text);
  const value = column.value(line);
  if (value !== null && column.key !== "interval") {
    // A bound stays one where the table is saved.
    const sign = /^[≥≤]/.exec(text)?.[0];
    const amount = Number((value / column.scale).toPrecision(12));
    field.dataset["value"] = sign === undefined ? String(amount) : `${sign} ${amount}`;
  }
  const { measure, number } = column;
  const reason = measure === null ? undefined : cell.missing[measure];
  if (reason) field.title = reason;
  const estimate = measure === null ? null : cell.estimates[measure];
  if (estimate && estimate.n > 1) field.title = `median of ${estimate.n} rounds`;
  if (column.key === "ratio" && ratio) field.title = `${markText(ratio)}: ${ratio.text}`;
  if (column.key === "errors" && (cell.error_share ?? 0) > 0) field.dataset["bad"] = "";
  if (number && text !== "" && cell.verdicts[number] !== "valid") {
    field.dataset["verdict"] = cell.verdicts[number];
  }
  return field;
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
      const { name, text, confirmations } = cell.bottleneck;
      const tested = confirmations.map((one) => `; ${one.text}`).join("");
      words.push(`bottleneck: ${name} (${text})${tested}.`);
    }
    if (words.length > 0)
      list.append(element("li", {}, named(cell.contender, cell.kind), " ", ...words));
  }
  return list;
}

/** The number that decides of every cell: contenders down, workloads and loads across. */
export function overview(selection: Selection): HTMLElement {
  const report = selection.report;
  const keys = [
    ...new Map(report.cells.map((cell) => [`${cell.workload}\n${cell.load}`, cell])).values(),
  ];
  const top = element("tr", {}, element("th", { scope: "col", rowspan: "2" }, "contender"));
  for (const workload of new Set(keys.map((key) => key.workload))) {
    const span = keys.filter((key) => key.workload === workload).length;
    top.append(
      element("th", { scope: "colgroup", colspan: String(span), class: "group" }, workload),
    );
  }
  const head = element("tr");
  for (const key of keys) {
    const { title, unit } = decidingColumn(report, key.load);
    const words = element("small", {}, `${title} ${unit}`.trim());
    head.append(
      element("th", { scope: "col", class: "number" }, jump(selection, key), " ", words),
    );
  }
  const body = element("tbody");
  for (const contender of report.campaign.contenders) {
    const line = element("tr", { "data-kind": contender.kind });
    line.append(element("th", { scope: "row" }, named(contender.name, contender.kind)));
    for (const key of keys) line.append(overviewField(report, contender.name, key));
    body.append(line);
  }
  const table = element("table", { class: "overview" }, element("thead", {}, top, head), body);
  return scrolling("Overview", table);
}

function decidingColumn(report: Report, load: string): Column {
  return decidingAt(report, load) === "latency_p99_ns" ? P99 : RATE;
}

/** A cell's number, and a dot for the verdict on it. */
function overviewField(report: Report, contender: string, key: Cell): HTMLElement {
  const cell = report.cells.find(
    (one) => one.contender === contender && one.workload === key.workload && one.load === key.load,
  );
  if (!cell) return element("td", { class: "number" });
  const column = decidingColumn(report, key.load);
  const line: Line = { cell, ratio: null, baseline: "", metric: decidingAt(report, key.load) };
  const field = fieldOf(column, line);
  const text = column.text(line);
  const name = text === "" || !column.number ? cell.verdict.verdict : cell.verdicts[column.number];
  if (text === "" && name === "valid") return field;
  if (text === "") field.textContent = name;
  // What is to be known before a number is used is saved with it.
  else if (name !== "valid") field.dataset["value"] = `${field.dataset["value"] ?? text} (${name})`;
  const attributes = { class: "dot", role: "img", "data-verdict": name, "aria-label": name };
  field.append(" ", element("span", { ...attributes, title: name }));
  return field;
}

function jump(selection: Selection, key: Cell): HTMLElement {
  const attributes = { type: "button", class: "link", title: selection.title(key.load) };
  const button = element("button", attributes, selection.short(key.load));
  button.addEventListener("click", () => {
    selection.choose({ workload: key.workload, load: key.load });
    document.getElementById("results")?.scrollIntoView({ block: "start" });
  });
  return button;
}
