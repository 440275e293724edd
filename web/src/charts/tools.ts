// What can be done with a chart: zoom, save, and read its numbers.

import { element } from "../dom.ts";
import type { Table } from "../save.ts";

export type Tool = "zoom-in" | "zoom-out" | "zoom-reset" | "png" | "svg" | "csv" | "table";

const ZOOM: [Tool, string, string][] = [
  ["zoom-in", "+", "Zoom in"],
  ["zoom-out", "−", "Zoom out"],
  ["zoom-reset", "Reset", "Reset zoom"],
];
const SAVE: [Tool, string, string][] = [
  ["png", "PNG picture", "Save as PNG"],
  ["svg", "SVG picture", "Save as SVG"],
  ["csv", "CSV numbers", "Save as CSV"],
  ["table", "Show numbers", "Show as table"],
];

/** Buttons for a chart. */
export function toolbar(
  title: () => string,
  zooms: boolean,
  tools: Record<Tool, () => void>,
): HTMLElement {
  const box = element("div", { class: "tools" });
  const button = ([tool, face, label]: [Tool, string, string]) => {
    const made = element("button", { type: "button", "data-tool": tool, title: label }, face);
    if (face.length < 6) made.setAttribute("aria-label", `${label}: ${title()}`);
    made.addEventListener("click", () => tools[tool]());
    return made;
  };
  if (zooms) box.append(element("span", { class: "zoom" }, ...ZOOM.map(button)));
  const summary = element("summary", { "aria-label": `Save or show numbers: ${title()}` }, "Save");
  const list = element("div", { class: "menu" }, ...SAVE.map(button));
  const menu = element("details", { class: "save" }, summary, list);
  closing(menu, summary);
  list.addEventListener("click", () => {
    menu.open = false;
    summary.focus({ preventScroll: true });
  });
  menu.addEventListener("toggle", () => {
    summary.setAttribute("aria-label", `Save or show numbers: ${title()}`);
  });
  box.append(menu);
  return box;
}

/** A menu closes by Escape and by a click elsewhere. */
function closing(menu: HTMLDetailsElement, summary: HTMLElement): void {
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    summary.focus();
  });
  document.addEventListener("click", (event) => {
    if (event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener("focusout", (event) => {
    const next = event.relatedTarget;
    if (next instanceof Node && !menu.contains(next)) menu.open = false;
  });
}

/** The numbers of a chart, for reading. */
export function dataTable(title: string, table: Table): HTMLElement {
  const head = element("tr");
  for (const column of table.columns) head.append(element("th", { scope: "col" }, column));
  const body = element("tbody");
  for (const row of table.rows) {
    const line = element("tr");
    for (const [index, value] of row.entries()) {
      const text = value === null ? "–" : String(value);
      const kind = typeof value === "number" ? { class: "number" } : {};
      line.append(
        index === 0 ? element("th", { scope: "row" }, text) : element("td", kind, text),
      );
    }
    body.append(line);
  }
  const made = element("table", {}, element("thead", {}, head), body);
  const label = `Numbers of ${title}`;
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    made,
  );
}
