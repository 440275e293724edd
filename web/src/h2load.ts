// Cells over HTTP/2 and 3 in the form in which h2load prints a run. The terminal does so too.

import { element } from "./dom.ts";
import { bytes, milliseconds, percent, whole } from "./format.ts";
import type { Cell, H2Load, Spread } from "./model.ts";
import { named, scrolling } from "./tables.ts";

const TITLES = ["min", "max", "mean", "sd", "within sd"];

/** The figures of the cells that have them; null when none has. */
export function h2loadTable(cells: Cell[]): HTMLElement | null {
  const body = element("tbody");
  const list = element("ul", { class: "remarks" });
  for (const cell of cells) {
    const figures = cell.h2load;
    if (!figures) continue;
    const spreads: [string, Spread][] = [
      ["request", figures.request],
      ["connect", figures.connect],
      ["TLS handshake", figures.handshake],
      ["first byte", figures.first_byte],
    ];
    for (const [index, [title, spread]] of spreads.entries()) {
      const line = element("tr", { "data-contender": cell.contender, "data-kind": cell.kind });
      if (index === 0) {
        const span = { scope: "rowgroup", rowspan: String(spreads.length) };
        line.append(element("th", span, named(cell.contender, cell.kind)));
      }
      line.append(element("td", {}, title));
      for (const text of values(spread)) line.append(element("td", { class: "number" }, text));
      body.append(line);
    }
    list.append(element("li", {}, named(cell.contender, cell.kind), " ", words(figures)));
  }
  if (!body.hasChildNodes()) return null;
  const head = element("tr", {}, element("th", { scope: "col" }, "contender"), element("th"));
  for (const title of TITLES) {
    const unit = element("small", {}, title === "within sd" ? "%" : "ms");
    head.append(element("th", { scope: "col", class: "number" }, title, " ", unit));
  }
  const caption = "As h2load prints it";
  const table = element("table", {}, element("caption", {}, caption));
  table.append(element("thead", {}, head), body);
  return element("div", { class: "h2load" }, scrolling(caption, table), list);
}

function values(spread: Spread): string[] {
  const times = [spread.min_ns, spread.max_ns, spread.mean_ns, spread.sd_ns];
  const texts = times.map((ns) => (ns === null ? "–" : milliseconds(ns)));
  const share = spread.within_sd_share;
  return [...texts, share === null ? "–" : percent(share)];
}

function words(figures: H2Load): string {
  const agreed = figures.negotiated;
  const alpn = agreed.alpn === null ? "" : ` by ALPN ${agreed.alpn}`;
  const parts = [agreed.tls_version, agreed.cipher, agreed.group].filter((part) => part !== null);
  const amount = (value: number | null) => (value === null ? "not counted" : bytes(value));
  const share = figures.header_saved_share;
  const saved = share === null ? "" : ` (${percent(share)} % saved)`;
  return [
    `${[`${agreed.protocol}${alpn}`, ...parts].join(", ")}. `,
    `${whole(figures.succeeded)} succeeded, ${whole(figures.failed)} failed. A round: `,
    `${amount(figures.read_bytes)} read; headers ${amount(figures.header_bytes)}${saved}; `,
    `bodies ${amount(figures.body_bytes)}.`,
  ].join("");
}
