// What the network between hosts carried, where a campaign had several.

import { element, section } from "./dom.ts";
import { digits, duration } from "./format.ts";
import type { Link, Report } from "./model.ts";
import { scrolling } from "./tables.ts";

const TITLE = "Links between hosts";

/** Each link with both measurements. */
export function links(report: Report): HTMLElement | null {
  const measured = report.campaign.links ?? [];
  if (measured.length === 0) return null;
  const head = element("tr");
  for (const title of ["from", "to"]) head.append(element("th", { scope: "col" }, title));
  for (const title of ["before the first round", "after the last", "round trip"])
    head.append(element("th", { scope: "col", class: "number" }, title));
  head.append(element("th", { scope: "col" }, "changed"));
  const body = element("tbody");
  for (const link of measured) body.append(row(link));
  const table = element("table", { class: "links" }, element("thead", {}, head), body);
  const words =
    "What the built-in server sent to the generators without another load, and the fastest " +
    "connection. Where processors were full before a link was, it carries at least what is said.";
  return section(TITLE, element("p", { class: "muted" }, words), scrolling(TITLE, table));
}

function row(link: Link): HTMLElement {
  const number = (value: number | null | undefined, words: string): HTMLElement =>
    element("td", { class: "number", "data-value": value == null ? "" : String(value) }, words);
  return element(
    "tr",
    {},
    element("td", {}, link.from.join(" + ")),
    element("th", { scope: "row" }, link.to.join(" + ")),
    number(link.before_bits_per_s, carried(link, link.before_bits_per_s)),
    number(link.after_bits_per_s, carried(link, link.after_bits_per_s)),
    number(link.rtt_ns, link.rtt_ns == null ? "not measured" : duration(link.rtt_ns)),
    element("td", link.changed === true ? { "data-bad": "" } : {}, change(link)),
  );
}

function carried(link: Link, perSecond: number | null | undefined): string {
  if (perSecond == null) return "not measured";
  const bound = link.at_least ? "at least " : "";
  const [divisor, unit] = perSecond >= 1e9 ? [1e9, "Gbit/s"] : [1e6, "Mbit/s"];
  return `${bound}${digits(perSecond / divisor)} ${unit}`;
}

/** By how much the later measurement is another than the earlier one. */
function change(link: Link): string {
  const { before_bits_per_s: before, after_bits_per_s: after } = link;
  if (link.changed == null || before == null || after == null) return "not known";
  if (!link.changed) return "no";
  const share = (after / before - 1) * 100;
  return `${share > 0 ? "+" : ""}${digits(share)} %`;
}
