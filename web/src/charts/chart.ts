// One chart on the page: a frame with a title, an accessible name, tools, and an option made anew
// from the selection and the theme. Tooltips are drawn as text, never as markup.

import { BarChart, CustomChart, LineChart } from "echarts/charts";
import {
  AriaComponent,
  DataZoomInsideComponent,
  GridComponent,
  LegendComponent,
  MarkLineComponent,
  TitleComponent,
  TooltipComponent,
} from "echarts/components";
import { init, use } from "echarts/core";
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { element } from "../dom.ts";
import type { Cell, NumberName } from "../model.ts";
import { saveCsv, savePng, saveSvg, type Table } from "../save.ts";
import type { Selection } from "../selection.ts";
import { colours, onTheme, type Theme, theme } from "../theme.ts";
import { type Stop, Stops } from "./stops.ts";
import { dataTable, toolbar, type Tool } from "./tools.ts";

use([
  AriaComponent,
  BarChart,
  CustomChart,
  DataZoomInsideComponent,
  GridComponent,
  LegendComponent,
  LineChart,
  MarkLineComponent,
  SVGRenderer,
  TitleComponent,
  TooltipComponent,
]);

/** Room for the legend above a drawing, which is one line: what does not fit is on other pages. */
export const LEGEND = 26;
/** A mark in the legend, what is between it and its name, and what is between two names. */
const MARK = { width: 12, height: 10, gap: 5 };
const NAMES_GAP = 14;
/** Height of a further line of names, in files, which have no pages to turn. */
const LEGEND_LINE = 28;
/** Width and least height of a saved picture. */
const FILE_WIDTH = 1000;
const FILE_HEIGHT = 420;
/** Room for the title of a saved picture. */
const FILE_TITLE = 58;
/** Where its legend begins. */
const FILE_LEFT = 14;
/** The page's own font: what is drawn is measured before, and needs it by name. */
export const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

/** What a chart draws at the moment. */
export interface Drawing {
  option: EChartsCoreOption;
  /** Room around the axes, above which the legend stands. */
  grid?: Record<string, unknown> & { top: number };
  /** Names of the contenders drawn. */
  series: string[];
  /** A line below the title. */
  subtitle: string;
  /** The axis that can be zoomed. */
  zoom?: "x" | "y";
  /** Height, where it follows from what is drawn. */
  height?: number;
  /** What is drawn, as numbers. */
  table: Table;
  /** What a click on a datum opens. */
  open?: (datum: { seriesIndex: number; dataIndex: number }) => void;
  /** The same by keyboard: a stop for each part of the drawing that can be opened. */
  stops?: Stop[];
}

/** Draws for a width; for a file it draws all that a screen may have no room for. */
export type Draw = (
  selection: Selection,
  theme: Theme,
  width: number,
  forFile?: boolean,
) => Drawing;

/** How a chart is framed. */
export interface Frame {
  title: string | (() => string);
  classes: string;
  /** Whether it shows the chosen workload and load alone. */
  ofCell: boolean;
  /** Whether it can be zoomed. */
  zooms: boolean;
  /** Put above the drawing, as the choice of a baseline. */
  above?: HTMLElement;
  /** What its stops are, for a drawing that has some. */
  stops?: string;
}

/** The elements of a frame, in the order in which they are read. */
function partsOf(frame: Frame, title: string) {
  const heading = element("h3", {}, title);
  const subtitle = element("p", { class: "subtitle" });
  const canvas = element("div", { class: "canvas", role: "img" });
  const empty = element("p", { class: "empty" }, "Nothing to draw: no measured value.");
  const numbers = element("div", { class: "numbers", hidden: "" });
  const words = element("div", { class: "words" }, heading, subtitle);
  const caption = element("figcaption", {}, words);
  const box = element("figure", { class: `chart ${frame.classes}`, "data-chart": title });
  const stops = frame.stops === undefined ? null : new Stops(frame.stops);
  // Stops lie over the drawing, which is one picture to a screen reader and has no parts.
  const picture = stops ? element("div", { class: "drawing" }, canvas, stops.box) : canvas;
  box.append(caption, frame.above ?? "", picture, empty, numbers);
  return { heading, subtitle, canvas, numbers, caption, box, stops };
}

/** A framed chart that follows the selection, the theme and its own width. */
export function chart(selection: Selection, frame: Frame, draw: Draw): HTMLElement {
  const title = () => (typeof frame.title === "string" ? frame.title : frame.title());
  const { heading, subtitle, canvas, numbers, caption, box, stops } = partsOf(frame, title());
  let made: EChartsType | null = null;
  let drawing: Drawing | null = null;
  const zoom = { start: 0, end: 100 };
  const legend = { scrollDataIndex: 0 };

  const name = () => {
    const { workload, load, report } = selection;
    const of = frame.ofCell ? ` ${workload} ${load}` : "";
    return `${report.campaign.name} ${title()}${of}`;
  };
  const option = (drawn: Drawing): EChartsCoreOption => {
    const made = base(selection, theme(), drawn);
    return { ...made, legend: { ...made.legend, ...legend }, dataZoom: zoomOf(drawn, zoom) };
  };
  const rename = () => {
    const drawn = drawing;
    if (!drawn) return;
    heading.textContent = title();
    box.dataset["chart"] = title();
    subtitle.textContent = drawn.subtitle;
    box.dataset["series"] = drawn.series.join("\n");
    box.classList.toggle("is-empty", drawn.series.length === 0);
    const of = frame.ofCell ? `, ${selection.workload}, ${selection.title(selection.load)}` : "";
    canvas.setAttribute("aria-label", spoken(`${title()}${of}`, drawn));
    if (!numbers.hidden) numbers.replaceChildren(dataTable(title(), drawn.table));
  };
  // Sizes come from the observer: asking an element for its own would lay out the page each time.
  const size = { width: 0, height: 0 };
  const redraw = () => {
    if (size.width === 0) return;
    drawing = draw(selection, theme(), size.width);
    const height = drawing.height ?? size.height;
    if (drawing.height !== undefined) canvas.style.height = `${height}px`;
    if (!made) {
      made = started(canvas, selection, zoom, () => drawing, { width: size.width, height });
      made.on("legendscroll", (event) => {
        Object.assign(legend, pageOf(event));
      });
    }
    made.resize({ width: size.width, height });
    made.setOption(option(drawing), { notMerge: true });
    const svg = canvas.querySelector("svg");
    // So that a print can scale the drawing to the width of its paper.
    svg?.setAttribute("viewBox", `0 0 ${size.width} ${height}`);
    stops?.show(drawing.stops ?? []);
    rename();
  };
  const zoomBy = (factor: number | null) =>
    made?.dispatchAction({ type: "dataZoom", ...zoomed(zoom, factor ?? Infinity) });
  const files = () => {
    const drawn = draw(selection, theme(), FILE_WIDTH, true);
    return saving(selection, drawn, name());
  };
  const table = () => {
    numbers.hidden = !numbers.hidden;
    rename();
  };
  caption.append(toolbar(title, frame.zooms, { ...toolsOf(zoomBy, files), table }));
  selection.watch(redraw);
  onTheme(redraw);
  new ResizeObserver(([entry]) => {
    if (!entry) return;
    const { width, height } = entry.contentRect;
    if (made && width === size.width && drawing?.height !== undefined) return;
    Object.assign(size, { width, height });
    redraw();
  }).observe(canvas);
  return box;
}

/** What the tools do that change the view of a chart or save it. */
function toolsOf(
  zoomBy: (factor: number | null) => void,
  files: () => Record<"png" | "svg" | "csv", () => void>,
): Record<Exclude<Tool, "table">, () => void> {
  return {
    "zoom-in": () => zoomBy(0.6),
    "zoom-out": () => zoomBy(1 / 0.6),
    "zoom-reset": () => zoomBy(null),
    png: () => files().png(),
    svg: () => files().svg(),
    csv: () => files().csv(),
  };
}

/** The first name on the page of a legend that was turned to: a chart drawn anew stays there. */
function pageOf(event: unknown): { scrollDataIndex: number } {
  const { scrollDataIndex } = event as { scrollDataIndex?: number };
  return { scrollDataIndex: scrollDataIndex ?? 0 };
}

/** A part of an axis with its middle kept and its length changed, in per cent. */
function zoomed(zoom: { start: number; end: number }, factor: number) {
  const middle = (zoom.start + zoom.end) / 2;
  const half = Math.min(50, ((zoom.end - zoom.start) / 2) * factor);
  const start = Math.min(Math.max(0, middle - half), 100 - 2 * half);
  return { start, end: start + 2 * half };
}

/** What a screen reader says of a drawing. */
function spoken(title: string, drawn: Drawing): string {
  const shown = drawn.series.length === 0 ? "nothing" : drawn.series.join(", ");
  return `Chart: ${title}. Shows ${shown}. ${drawn.subtitle}.`;
}

/** The ways to save a drawing. */
function saving(selection: Selection, drawn: Drawing, name: string) {
  const lines = legendLines(legendNames(selection, drawn), FILE_WIDTH - FILE_LEFT);
  const above = FILE_TITLE + (lines - 1) * LEGEND_LINE;
  const height = (drawn.height ?? FILE_HEIGHT) + above;
  const picture = () => drawnForFile(selection, drawn, name, { height, above });
  return {
    png: () => void savePng(name, picture(), FILE_WIDTH, height),
    svg: () => saveSvg(name, picture()),
    csv: () => saveCsv(name, drawn.table),
  };
}

function started(
  canvas: HTMLElement,
  selection: Selection,
  zoom: { start: number; end: number },
  drawing: () => Drawing | null,
  size: { width: number; height: number },
): EChartsType {
  const made = init(canvas, null, { renderer: "svg", ...size });
  made.on("dataZoom", (event) => {
    const one = (event as { batch?: { start: number; end: number }[] }).batch?.[0] ?? event;
    const { start, end } = one as { start: number; end: number };
    if (!Number.isFinite(start) || !Number.isFinite(end)) return;
    Object.assign(zoom, { start, end });
    made.setOption({ dataZoom: [{ id: "zoom", moveOnMouseMove: end - start < 99.9 }] });
  });
  made.on("legendselectchanged", (event) => {
    selection.toggle((event as unknown as { name: string }).name);
  });
  made.on("click", (event) => {
    const { seriesIndex, dataIndex } = event as { seriesIndex?: number; dataIndex: number };
    if (seriesIndex !== undefined) drawing()?.open?.({ seriesIndex, dataIndex });
  });
  return made;
}

/** Series of a drawing as it was given. */
function seriesOf(drawing: Drawing): { name?: string }[] {
  return (drawing.option["series"] ?? []) as { name?: string }[];
}

/** Contenders of the cell that are hidden, and so not drawn. */
function absentFrom(selection: Selection, drawing: Drawing): string[] {
  const drawn = new Set(seriesOf(drawing).map((one) => one.name));
  const hidden = selection.cells().filter((cell) => selection.hidden.has(cell.contender));
  return hidden.map((cell) => cell.contender).filter((name) => !drawn.has(name));
}

/** Names in the legend: what is shown, and what a click shows again. */
function legendNames(selection: Selection, drawing: Drawing): string[] {
  const absent = absentFrom(selection, drawing);
  return [...drawing.series, ...absent.filter((name) => !selection.references.has(name))];
}

/** Lines that a legend without pages takes in a width. */
function legendLines(names: string[], width: number): number {
  const pen = element("canvas").getContext("2d");
  if (pen) pen.font = `12px ${FONT}`;
  let [lines, end] = [1, 0];
  for (const name of names) {
    const letters = pen?.measureText(name).width ?? name.length * 7;
    const own = MARK.width + MARK.gap + letters;
    if (end > 0 && end + own > width) [lines, end] = [lines + 1, 0];
    end += own + NAMES_GAP;
  }
  return lines;
}

/** What every chart has: its font, its room, and a legend of what it shows and what is hidden. */
function base(selection: Selection, theme: Theme, drawing: Drawing) {
  const { option, grid } = drawing;
  const given = seriesOf(drawing);
  const colour = colours(selection.report);
  const absent = absentFrom(selection, drawing);
  return {
    animation: false,
    textStyle: { fontFamily: FONT, color: theme.text },
    legend: {
      data: legendNames(selection, drawing),
      type: "scroll",
      left: 0,
      top: 0,
      padding: 0,
      itemWidth: MARK.width,
      itemHeight: MARK.height,
      itemGap: NAMES_GAP,
      pageIconSize: 11,
      pageIconColor: theme.text,
      pageIconInactiveColor: theme.line,
      pageTextStyle: { color: theme.muted, fontSize: 11 },
      inactiveColor: theme.muted,
      textStyle: { color: theme.text, fontSize: 12 },
      selected: Object.fromEntries(absent.map((name) => [name, false])),
    },
    grid: { left: 4, right: 20, top: LEGEND + 10, bottom: 28, ...grid },
    ...option,
    series: [
      ...given,
      // A hidden contender keeps its place in the legend, where a click shows it again.
      ...absent.map((name) => ({
        type: "line",
        name,
        data: [],
        itemStyle: { color: colour.get(name) },
      })),
    ],
  };
}

function zoomOf(drawing: Drawing, zoom: { start: number; end: number }): object[] {
  if (drawing.zoom === undefined) return [];
  const which = drawing.zoom === "x" ? { xAxisIndex: 0 } : { yAxisIndex: 0 };
  return [
    {
      id: "zoom",
      type: "inside",
      ...which,
      ...zoom,
      filterMode: "none",
      // The wheel and a finger scroll the page; with Ctrl the wheel zooms, as it does in maps.
      zoomOnMouseWheel: "ctrl",
      moveOnMouseWheel: false,
      moveOnMouseMove: zoom.end - zoom.start < 99.9,
      preventDefaultMouseMove: false,
    },
  ];
}

/** The same drawing as a file, with its title and its ground. */
function drawnForFile(
  selection: Selection,
  drawing: Drawing,
  title: string,
  { height, above }: { height: number; above: number },
): string {
  const now = theme();
  const made = init(null, null, { renderer: "svg", ssr: true, width: FILE_WIDTH, height });
  const option = base(selection, now, drawing);
  made.setOption({
    ...option,
    backgroundColor: now.surface,
    textStyle: { fontFamily: FONT, color: now.text },
    title: {
      text: title,
      subtext: drawing.subtitle,
      left: 12,
      top: 10,
      itemGap: 5,
      textStyle: { fontSize: 16, fontWeight: 600, color: now.text },
      subtextStyle: { fontSize: 12, color: now.muted },
    },
    legend: { ...option.legend, type: "plain", left: FILE_LEFT, top: FILE_TITLE },
    grid: { ...option.grid, top: option.grid.top + above },
  });
  const svg = made.renderToSVGString();
  made.dispose();
  return svg;
}

/** A tooltip as text inside the drawing. */
export function tooltip(theme: Theme, formatter: (params: never) => string, more = {}): object {
  return {
    trigger: "axis",
    renderMode: "richText",
    confine: true,
    backgroundColor: theme.surface,
    borderColor: theme.line,
    textStyle: { color: theme.text, fontSize: 12, fontFamily: "system-ui, sans-serif" },
    axisPointer: { type: "line", lineStyle: { color: theme.muted, type: "dashed" } },
    formatter,
    ...more,
  };
}

/** Whether a number of a cell is to be believed. */
export function isValid(cell: Cell, number: NumberName): boolean {
  return cell.verdicts[number] === "valid";
}

/** What is shown but not ranked is pale. */
export function opacity(cell: Cell, number: NumberName): number {
  return isValid(cell, number) ? 1 : 0.5;
}

/** The word that explains what is pale, where something is. */
export function paleWord(cells: Cell[], number: NumberName): string {
  return cells.some((cell) => !isValid(cell, number)) ? "; pale: suspect, not ranked" : "";
}

/** Lines and labels of an axis. */
export function axis(theme: Theme, more: object): object {
  return {
    axisLine: { onZero: false, lineStyle: { color: theme.line } },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: theme.line, width: 1 } },
    nameTextStyle: { color: theme.muted, fontSize: 11 },
    nameGap: 6,
    ...more,
    axisLabel: { color: theme.muted, fontSize: 11, hideOverlap: true, ...labelOf(more) },
  };
}

function labelOf(more: object): object {
  return "axisLabel" in more && typeof more.axisLabel === "object" ? (more.axisLabel ?? {}) : {};
}
