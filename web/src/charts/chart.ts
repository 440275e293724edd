// One chart on the page: a frame with a title, an accessible name, and an option made anew from
// the selection and the theme. Tooltips are drawn as text, never as markup.

import { BarChart, LineChart } from "echarts/charts";
import {
  AriaComponent,
  GridComponent,
  MarkLineComponent,
  TooltipComponent,
} from "echarts/components";
import { init, use } from "echarts/core";
import type { EChartsCoreOption, EChartsType } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";
import { element } from "../dom.ts";
import type { Cell } from "../model.ts";
import type { Selection } from "../selection.ts";
import { onTheme, type Theme, theme } from "../theme.ts";

use([
  BarChart,
  LineChart,
  AriaComponent,
  GridComponent,
  MarkLineComponent,
  TooltipComponent,
  SVGRenderer,
]);

/** Room around a drawing whose horizontal axis has a name. */
export const NAMED_GRID = { left: 8, right: 20, top: 18, bottom: 26, containLabel: true };

/** What a chart draws at the moment. */
export interface Drawing {
  option: EChartsCoreOption;
  /** Names of the contenders drawn, for tests and for the accessible name. */
  series: string[];
  /** A line below the title. */
  subtitle: string;
}

export type Draw = (selection: Selection, theme: Theme) => Drawing;

/** A framed chart that follows the selection, the theme and its own width. */
export function chart(
  selection: Selection,
  title: string,
  classes: string,
  draw: Draw,
): HTMLElement {
  const subtitle = element("p", { class: "subtitle" });
  const canvas = element("div", { class: "canvas", role: "img" });
  const empty = element("p", { class: "empty" }, "Nothing to draw: no measured value.");
  const frame = element("figure", { class: `chart ${classes}`, "data-chart": title });
  frame.append(element("figcaption", {}, element("h3", {}, title), subtitle), canvas, empty);
  let made: EChartsType | null = null;
  const redraw = () => {
    if (canvas.clientWidth === 0) return;
    made ??= init(canvas, null, { renderer: "svg" });
    const { option, series, subtitle: words } = draw(selection, theme());
    made.setOption({ ...base(theme()), ...option }, { notMerge: true });
    subtitle.textContent = words;
    frame.dataset["series"] = series.join("\n");
    frame.classList.toggle("is-empty", series.length === 0);
    const shown = series.length === 0 ? "nothing" : series.join(", ");
    canvas.setAttribute(
      "aria-label",
      `${title}, ${selection.workload}, ${selection.load}: ${shown}`,
    );
  };
  selection.watch(redraw);
  onTheme(redraw);
  new ResizeObserver(() => {
    redraw();
    made?.resize();
  }).observe(canvas);
  return frame;
}

function base(theme: Theme): EChartsCoreOption {
  return {
    animation: false,
    textStyle: { fontFamily: "inherit", color: theme.text },
    grid: { left: 8, right: 16, top: 18, bottom: 8, containLabel: true },
  };
}

/** A tooltip as text inside the drawing. */
export function tooltip(theme: Theme, formatter: (params: never) => string): object {
  return {
    trigger: "axis",
    renderMode: "richText",
    confine: true,
    backgroundColor: theme.surface,
    borderColor: theme.line,
    textStyle: { color: theme.text, fontSize: 12, fontFamily: "system-ui, sans-serif" },
    axisPointer: { type: "shadow", shadowStyle: { opacity: 0.12 } },
    formatter,
  };
}

/** Bars of what is shown but not ranked are pale. */
export function opacity(cell: Cell): number {
  return cell.verdict.verdict === "valid" ? 1 : 0.55;
}

/** The word that explains pale bars, where there are some. */
export function paleWord(cells: Cell[]): string {
  return cells.some((cell) => opacity(cell) < 1) ? "; pale: suspect, not ranked" : "";
}

/** Lines and labels of an axis. */
export function axis(theme: Theme, more: object): object {
  return {
    axisLine: { lineStyle: { color: theme.line } },
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
