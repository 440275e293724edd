// The tables of a workload and load, as the document has them: sorted as was chosen, and with
// ratios to the baseline that was chosen.

import { type Column, type Field, named, parts } from "./document.ts";
import { type Row, sections, type Table, tableOf, whole } from "./document.ts";
import { element } from "./dom.ts";
import { times } from "./format.ts";
import { decidingAt } from "./metrics.ts";
import type { Cell, Report } from "./model.ts";
import { type Ratio, ratiosTo, sign } from "./ratios.ts";
import type { Selection } from "./selection.ts";

/** The document's section on one workload and load, its rows with their cells. */
export interface Group {
  title: string;
  table: Table;
  rows: [Row, Cell][];
  /** What stands below the table. */
  rest: () => HTMLElement[];
}

/** The groups in the order of the cells: rows are of the same cells. */
export function groups(report: Report): Group[] {
  let next = 0;
  return sections(report, "cells").flatMap((section) => {
    const [first, ...others] = section.parts;
    const { title } = section;
    if (!first?.table) return [];
    const rows = first.table.rows.flatMap((row): [Row, Cell][] => {
      const cell = report.cells[next++];
      return cell ? [[row, cell]] : [];
    });
    return [{ title, table: first.table, rows, rest: () => parts({ ...section, parts: others }) }];
  });
}

/** The tables of a group. */
export function tablesOf(selection: Selection, group: Group, label: string): HTMLElement[] {
  const { choice } = selection;
  const rows = sorted(group.table, rebased(selection, group), choice.sort);
  const cells = new Map(rows);
  const isCurrent = ({ workload, load, contender }: Cell) =>
    choice.workload === workload && choice.load === load && choice.contender === contender;
  const main = tableOf(group.table, label, {
    classes: "main",
    rows: rows.map(([row]) => row),
    head: (column) => heading(selection, column),
    line: (row) => {
      const cell = cells.get(row);
      const current = cell && isCurrent(cell) ? { "aria-current": "true" } : {};
      return { "data-contender": cell?.contender ?? "", ...current };
    },
    name: (row, field) => {
      const cell = cells.get(row);
      return cell ? named(cell.contender, cell.kind) : field.text;
    },
  });
  return [main, ...group.rest(), bottlenecks(rows)];
}

/** What held the rates of contenders down. */
function bottlenecks(rows: [Row, Cell][]): HTMLElement {
  const list = element("ul", { class: "lines" });
  for (const [, { contender, kind, bottleneck }] of rows) {
    if (!bottleneck || kind !== "contender") continue;
    const { name, text, confirmations } = bottleneck;
    const tested = confirmations.map((one) => `; ${one.text}`).join("");
    const words = ` bottleneck: ${name} (${text})${tested}.`;
    list.append(element("li", {}, named(contender, kind), words));
  }
  return list;
}

/** Rows with ratios to the baseline that was chosen; those of the document are to the first. */
function rebased({ report, choice }: Selection, { table, rows }: Group): [Row, Cell][] {
  const { baseline } = choice;
  if (baseline === "" || baseline === report.answer.tables[0]?.baseline) return rows;
  const place = table.columns.findIndex((column) => column.title === "ratio");
  const ratios = ratiosTo(report, baseline, decidingAt(report, rows[0]?.[1].load ?? ""));
  return rows.map(([row, cell]) => {
    const { workload, load, contender } = cell;
    const ratio = ratios.find(
      (one) => one.workload === workload && one.load === load && one.contender === contender,
    );
    const [isReference, fields] = row;
    const own = fields.map((field, at) => (at === place ? ratioField(ratio) : field));
    return [[isReference, own], cell];
  });
}

/** A ratio in the words of the document. */
function ratioField(ratio: Ratio | undefined): Field {
  if (!ratio) return { text: "" };
  const bounds = { "at-least": ">=", "at-most": "<=" };
  const bound = ratio.bound === null ? undefined : bounds[ratio.bound];
  const [point, low, high] = [ratio.point, ratio.low, ratio.high].map(times);
  const range = ratio.n > 1 ? ` (${low}-${high})` : "";
  const text = `${bound ?? ""}${point}${range} ${sign(ratio)}`.trim();
  return { text, value: ratio.point, ...(bound ? { bound } : {}) };
}

/** Rows by a column; what has no value stands last. */
function sorted(table: Table, rows: [Row, Cell][], sort: string): [Row, Cell][] {
  const place = table.columns.findIndex((column) => column.title === sort.replace(/^-/, ""));
  const sense = sort.startsWith("-") ? -1 : 1;
  const key = ([[, fields]]: [Row, Cell]) => {
    const { value, text } = whole(fields[place]);
    return value ?? (text || null);
  };
  return [...rows].sort((left, right) => {
    const [one, other] = [key(left), key(right)];
    if (one === null || other === null) return Number(one === null) - Number(other === null);
    return (one < other ? -1 : Number(one > other)) * sense;
  });
}

/** A heading that sorts by its column: the smallest first, the largest first, as it was. */
function heading(selection: Selection, { title }: Column): [Record<string, string>, HTMLElement] {
  const now = selection.choice.sort;
  const order = now === title ? "ascending" : now === `-${title}` ? "descending" : "none";
  const next = { ascending: `-${title}`, descending: "", none: title }[order];
  const mark = { ascending: " ↑", descending: " ↓", none: "" }[order];
  const attributes = { type: "button", class: "sort", "data-sort": title };
  const button = element("button", attributes, title, mark);
  button.addEventListener("click", () => {
    const label = button.closest(".scroll")?.getAttribute("aria-label") ?? "";
    selection.choose({ sort: next });
    // The table was drawn anew: focus goes back to where it was.
    for (const one of document.querySelectorAll(".scroll")) {
      if (one.getAttribute("aria-label") !== label) continue;
      one.querySelector<HTMLElement>(`[data-sort="${title}"]`)?.focus({ preventScroll: true });
      return;
    }
  });
  return [{ "aria-sort": order }, button];
}
