// Files made in the page: nothing leaves it but what the reader saves.

import { element } from "./dom.ts";

/** A table as rows of cells; the first row has the names of the columns. */
export interface Table {
  columns: string[];
  rows: (string | number | null)[][];
}

/** Offers a file to the reader. */
export function save(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = element("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A table as CSV (RFC 4180). */
export function csv(table: Table): string {
  const line = (fields: (string | number | null)[]) => fields.map(field).join(",");
  return [line(table.columns), ...table.rows.map(line), ""].join("\r\n");
}

function field(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  // A spreadsheet takes a field that begins so for a formula.
  const text = /^[=+\-@\t\r]/.test(value) && !/^[+-]?[\d.]+$/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Saves a table as a CSV file. */
export function saveCsv(name: string, table: Table): void {
  save(`${fileName(name)}.csv`, new Blob([csv(table)], { type: "text/csv;charset=utf-8" }));
}

/** Saves a drawing as SVG. */
export function saveSvg(name: string, svg: string): void {
  save(`${fileName(name)}.svg`, new Blob([svg], { type: "image/svg+xml" }));
}

/** Saves a drawing as PNG, two points for each of its own. */
export async function savePng(name: string, svg: string, width: number, height: number) {
  const image = new Image(width, height);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = element("canvas", { width: String(width * 2), height: String(height * 2) });
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser draws no pictures");
  context.drawImage(image, 0, 0, width * 2, height * 2);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob) save(`${fileName(name)}.png`, blob);
}

/** A name that every file system takes. */
function fileName(name: string): string {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9._-]+/g, "-");
  return plain.replaceAll(/^-+|-+$/g, "") || "bakeoff";
}
