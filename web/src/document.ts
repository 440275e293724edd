// The report's document, which every format is drawn from: sections of lines, tables and blocks of
// text. Its texts are rounded and worded already; the page only says where they stand.

import { type Child, element } from "./dom.ts";
import type { Report, Tone } from "./model.ts";
import { saveCsv, type Table as Saved } from "./save.ts";
import { swatchColour } from "./theme.ts";

/** Written by crates/report/src/document/page.rs. */
export interface Section {
  name: string;
  title: string;
  parts: Part[];
}

export interface Part {
  lines?: Line[];
  table?: Table;
  verbatim?: { title: string; lines: string[] };
}

export interface Line {
  text: string;
  depth: number;
  tone: Tone | null;
}

export interface Table {
  title: string;
  columns: Column[];
  rows: Row[];
}

/** Whether it is a reference, and its fields. */
export type Row = [boolean, (Field | string)[]];

export interface Column {
  /** Its name in CSV. */
  name: string;
  title: string;
  unit: string;
  numeric: boolean;
}

/** A text, and beside it the value as it was measured, which tables are saved and sorted by. */
export interface Field {
  text: string;
  value?: number;
  bound?: string;
  reason?: string;
  tone?: Tone;
  /** Whether the verdict on the value is less than valid. */
  weak?: true;
  /** Numbers of notes. */
  notes?: number[];
}

const MARKS = { good: "✓", note: "i", warning: "!", bad: "✕" } as const;
const WORDS = { good: "Good", note: "Note", warning: "Careful", bad: "Not to be used" } as const;

/** The sections of a name. */
export function sections(report: Report, name: string): Section[] {
  return report.document.sections.filter((one) => one.name === name);
}

/** All lines of the sections of a name. */
export function linesOf(report: Report, name: string): Line[] {
  return sections(report, name).flatMap((one) => one.parts.flatMap((part) => part.lines ?? []));
}

/** Lines with those that belong to them. */
export function entries(lines: Line[]): Line[][] {
  const all: Line[][] = [];
  for (const line of lines) {
    const last = all.at(-1);
    if (line.depth > 0 && last) last.push(line);
    else all.push([line]);
  }
  return all;
}

/** Lines as a list; `id` names each entry. */
export function list(all: Line[][], id?: (place: number) => string): HTMLElement {
  const box = element("ul", { class: "lines" });
  for (const [place, [line, ...below]] of all.entries()) {
    if (!line) continue;
    const item = element("li", id ? { id: id(place) } : {}, ...spoken(line));
    if (below.length > 0) item.append(list(below.map((one) => [one])));
    box.append(item);
  }
  return box;
}

/** A line with a mark that says how it is to be taken. */
export function spoken({ tone, text }: Line): Child[] {
  if (tone === null) return [text];
  const attributes = { class: "mark", role: "img", "data-tone": tone, "aria-label": WORDS[tone] };
  return [element("span", attributes, MARKS[tone]), text];
}

/** The parts of a section. */
export function parts(section: Section, id?: (place: number) => string): HTMLElement[] {
  return section.parts.map((part) => {
    if (part.lines) return list(entries(part.lines), id);
    if (part.table) return tableOf(part.table, part.table.title || section.title);
    return verbatim(part.verbatim ?? { title: "", lines: [] });
  });
}

/** A block of text, folded under its title; what a diff adds and removes has its colour. */
function verbatim({ title, lines }: { title: string; lines: string[] }): HTMLElement {
  const [first = "", ...others] = title === "" ? lines : [title, ...lines];
  const block = element("pre", { tabindex: "0" });
  for (const line of others) block.append(element("span", diffed(line), `${line}\n`));
  return element("details", {}, element("summary", {}, first), block);
}

function diffed(line: string): Record<string, string> {
  const isHead = /^(\+\+\+|---) /.test(line);
  const name = isHead ? undefined : { "+": "added", "-": "removed" }[line.charAt(0)];
  return name === undefined ? {} : { class: name };
}

/** A field with what it has beside its text. */
export function whole(field: Field | string | undefined): Field {
  return typeof field === "string" ? { text: field } : (field ?? { text: "" });
}

/** What is special in a table. */
export interface Special {
  classes?: string;
  /** The rows, in the order in which they stand. */
  rows?: Row[];
  head?: (column: Column) => [Record<string, string>, HTMLElement];
  line?: (row: Row) => Record<string, string>;
  name?: (row: Row, field: Field) => HTMLElement | string;
}

/** A table of the document. */
export function tableOf(table: Table, label: string, special: Special = {}): HTMLElement {
  const rows = special.rows ?? table.rows;
  const head = element("tr");
  for (const column of table.columns) head.append(headOf(column, special));
  const body = element("tbody");
  for (const row of rows) {
    const line = element("tr", special.line?.(row) ?? {});
    const [isReference, fields] = row;
    if (isReference) line.dataset["reference"] = "";
    for (const [place, column] of table.columns.entries()) {
      const field = whole(fields[place]);
      if (place > 0) line.append(fieldOf(column, field));
      else line.append(element("th", { scope: "row" }, special.name?.(row, field) ?? field.text));
    }
    body.append(line);
  }
  const caption = element("caption", {}, label);
  const made = element("table", special.classes ? { class: special.classes } : {}, caption);
  made.append(element("thead", {}, head), body);
  return scrolling(label, made, () => saved({ ...table, rows }));
}

function headOf(column: Column, special: Special): HTMLElement {
  const [attributes, title] = special.head?.(column) ?? [{}, column.title];
  const head = element("th", { scope: "col", ...attributes }, title);
  if (column.numeric) head.classList.add("number");
  if (column.unit !== "") head.append(" ", element("small", {}, column.unit));
  return head;
}

function fieldOf(column: Column, field: Field): HTMLElement {
  const { text, value, reason, tone, notes = [] } = field;
  const made = element("td", column.numeric ? { class: "number" } : {});
  made.append(text === "" && column.numeric ? "–" : text);
  for (const [place, note] of notes.entries()) {
    const link = element("a", { href: `#note-${note}` }, String(note));
    made.append(place === 0 ? " [" : ",", link, place + 1 === notes.length ? "]" : "");
  }
  if (value !== undefined) made.dataset["value"] = String(value);
  if (reason) made.title = reason;
  if (tone) made.dataset["tone"] = tone;
  if (field.weak) made.dataset["weak"] = "";
  return made;
}

/** A table as it is saved: what CSV has a name for as it was measured, the rest as it is read. */
function saved({ columns, rows }: Table): Saved {
  const value = (field: Field | string, place: number) => {
    const { value, bound, text } = whole(field);
    if (value === undefined || columns[place]?.name === "") return text;
    return bound === undefined ? value : `${bound} ${value}`;
  };
  return {
    columns: columns.map((one) => one.name || one.title),
    rows: rows.map(([, fields]) => fields.map(value)),
  };
}

/** A table that scrolls by itself where the page is narrower, and can be saved. */
function scrolling(label: string, table: HTMLElement, content: () => Saved): HTMLElement {
  const attributes = { type: "button", class: "csv", title: "Save as CSV" };
  const button = element("button", { ...attributes, "aria-label": `Save as CSV: ${label}` }, "CSV");
  button.addEventListener("click", () => saveCsv(`bakeoff ${label}`, content()));
  const region = { class: "scroll", tabindex: "0", role: "region", "aria-label": label };
  return element("div", { class: "table" }, button, element("div", region, table));
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
