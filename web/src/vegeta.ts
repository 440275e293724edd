// Cells at a constant rate in the form in which Vegeta prints an attack, and their differences. The
// terminal prints the same.

import { element } from "./dom.ts";
import { digits, milliseconds, percent, whole } from "./format.ts";
import type { Cell, Difference, Estimate, Vegeta } from "./model.ts";
import { named, scrolling } from "./tables.ts";

/** A line of the first table: what Vegeta calls it, its unit, and the key of its reason. */
interface Line {
  title: string;
  unit: string;
  missing?: string;
  text: (figures: Vegeta) => string;
}

const LINES: Line[] = [
  { title: "requests", unit: "", text: (it) => shown(it.requests.total, whole) },
  { title: "rate", unit: "/s", text: (it) => shown(it.requests.rate_per_s, hundredths) },
  {
    title: "throughput",
    unit: "/s",
    missing: "throughput_per_s",
    text: (it) => shown(it.requests.throughput_per_s, hundredths),
  },
  { title: "duration", unit: "s", text: (it) => shown(it.duration.total_s, thousandths) },
  { title: "attack", unit: "s", text: (it) => shown(it.duration.attack_s, thousandths) },
  {
    title: "wait",
    unit: "ms",
    missing: "wait_s",
    text: (it) => shown(it.duration.wait_s, (s) => milliseconds(s * 1e9)),
  },
  latency("mean", "mean_ns"),
  latency("50", "p50_ns"),
  latency("95", "p95_ns"),
  latency("99", "p99_ns"),
  latency("max", "max_ns"),
  { title: "bytes in", unit: "", text: (it) => shown(it.bytes_in.total, whole) },
  {
    title: "bytes in a request",
    unit: "",
    missing: "bytes_in.mean",
    text: (it) => shown(it.bytes_in.mean, digits),
  },
  {
    title: "bytes out",
    unit: "",
    missing: "bytes_out",
    text: (it) => shown(it.bytes_out.total, whole),
  },
  {
    title: "success",
    unit: "%",
    missing: "success_share",
    text: (it) => shown(it.success_share, percent),
  },
  { title: "status codes", unit: "", text: (it) => counts(it.status_codes) },
  { title: "errors", unit: "", text: (it) => counts(it.errors) },
];

/** Titles of a difference, and the measures that they stand for. */
const MEASURES: [string, string][] = [
  ["mean", "latency_mean_ns"],
  ["50", "latency_p50_ns"],
  ["95", "latency_p95_ns"],
  ["99", "latency_p99_ns"],
  ["max", "latency_max_ns"],
  ["throughput", "rate_per_s"],
];

/** The figures of the cells that have them, with their differences; null when none has. */
export function vegetaTable(cells: Cell[], differences: Difference[]): HTMLElement | null {
  const printed = cells.filter((cell) => cell.vegeta);
  const [first] = printed;
  if (!first) return null;
  const head = element("tr", {}, element("th"));
  for (const cell of printed) {
    const name = named(cell.contender, cell.kind);
    head.append(element("th", { scope: "col", class: "number" }, name));
  }
  const body = element("tbody");
  for (const line of LINES) body.append(row(line, printed));
  const caption = "As Vegeta prints it";
  const table = element("table", {}, element("caption", {}, caption));
  table.append(element("thead", {}, head), body);
  const box = element("div", { class: "vegeta" }, scrolling(caption, table));
  const ofCells = differences.filter(
    (one) => one.workload === first.workload && one.load === first.load,
  );
  if (ofCells.length > 0) box.append(differenceTable(ofCells), cautions(ofCells));
  return box;
}

function row(line: Line, cells: Cell[]): HTMLElement {
  const unit = element("small", {}, line.unit);
  const title = element("th", { scope: "row" }, line.title, " ", unit);
  const fields = element("tr", { "data-line": line.title }, title);
  for (const cell of cells) {
    if (!cell.vegeta) continue;
    const field = element("td", { class: "number" }, line.text(cell.vegeta));
    const reason = line.missing === undefined ? undefined : cell.vegeta.missing[line.missing];
    if (reason) field.title = reason;
    fields.append(field);
  }
  return fields;
}

function differenceTable(differences: Difference[]): HTMLElement {
  const head = element("tr");
  for (const title of ["contender", "base"]) head.append(element("th", { scope: "col" }, title));
  for (const [title] of MEASURES) {
    const unit = element("small", {}, "%");
    head.append(element("th", { scope: "col", class: "number" }, title, " ", unit));
  }
  const body = element("tbody");
  for (const one of differences) {
    const line = element("tr", { "data-base": one.base, "data-other": one.other });
    line.append(element("th", { scope: "row" }, named(one.other, "contender")));
    line.append(element("td", {}, one.base));
    for (const [, measure] of MEASURES) {
      const share = one.shares[measure] ?? null;
      const field = element("td", { class: "number" }, share ? signed(share.point) : "–");
      if (share) field.dataset["value"] = String(share.point * 100);
      field.title = share ? interval(share) : (one.missing[measure] ?? "");
      line.append(field);
    }
    body.append(line);
  }
  const caption = "Differences, in % of the base: + is more, - is less";
  const table = element("table", { class: "differences" }, element("caption", {}, caption));
  table.append(element("thead", {}, head), body);
  return scrolling(caption, table);
}

/** Why pairs are not ranked, each reason once with the pairs that it concerns. */
function cautions(differences: Difference[]): HTMLElement {
  const pairs = new Map<string, Set<string>>();
  for (const one of differences) {
    if (one.caution === null) continue;
    const pair = [one.base, one.other].sort().join(" and ");
    pairs.set(one.caution, (pairs.get(one.caution) ?? new Set()).add(pair));
  }
  const list = element("ul", { class: "remarks" });
  for (const [why, names] of pairs) {
    list.append(element("li", {}, `${[...names].join("; ")}: ${why}.`));
  }
  return list;
}

function latency(title: string, key: keyof Vegeta["latencies"]): Line {
  const text = (figures: Vegeta) => shown(figures.latencies[key], milliseconds);
  return { title, unit: "ms", missing: key, text };
}

function interval(share: Estimate): string {
  if (share.n === 1) return "one round";
  return `${signed(share.low)} to ${signed(share.high)} %, ${share.n} rounds`;
}

/** A share with its sign as a percentage: `+14.3`, `-12.5`, `0.0`. */
function signed(share: number): string {
  const value = share * 100;
  if (Math.abs(value) < 0.05) return "0.0";
  if (value >= 999.95) return `+${whole(value)}`;
  return `${value > 0 ? "+" : ""}${value.toFixed(1)}`;
}

function counts(all: Record<string, number>): string {
  const words = Object.entries(all).map(([key, n]) => `${key}:${whole(n)}`);
  return words.length > 0 ? words.join(" ") : "none";
}

function shown(value: number | null, show: (value: number) => string): string {
  return value === null ? "–" : show(value);
}

function hundredths(value: number): string {
  return value.toFixed(2);
}

function thousandths(value: number): string {
  return value.toFixed(3);
}
