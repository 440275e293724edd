// The answer as a picture: a row for each workload and load, in it each contender's ratio to the
// baseline with its interval on a logarithmic axis. Grey is what noise alone would do. Without a
// baseline the values themselves are drawn.

import type { CustomSeriesRenderItemAPI } from "echarts";
import { counted } from "../format.ts";
import { factsOf, type MetricFacts } from "../metrics.ts";
import type { Estimate, Report } from "../model.ts";
import { markText, OPEN, pointText, type Ranged, ratiosTo, ratioText, sign } from "../ratios.ts";
import type { Selection } from "../selection.ts";
import { colours, type Theme } from "../theme.ts";
import { bounded, BOUND_COLUMNS } from "./bounds.ts";
import { axis, type Draw, type Drawing, FONT, isValid, LEGEND, tooltip } from "./chart.ts";
import { at, type LogScale, logScale } from "./scale.ts";
import type { Stop } from "./stops.ts";
import { whiskers } from "./whiskers.ts";

/** A contender in a row. */
export interface Entry extends Ranged {
  /** Whether it counts: a difference or equality that was shown, or a valid value. */
  firm: boolean;
  /** Beside the row, in full and cut down for narrow screens. */
  long: string;
  short: string;
  /** For a closer look. */
  detail: string;
  /** What the detail ends with in the table of numbers. */
  verdict: string;
  /** How its work differs from the baseline's. */
  unequal: string[];
  mark: string;
}

export interface Row {
  workload: string;
  load: string;
  title: string;
  short: string;
  floor: number | null;
  entries: Entry[];
}

/** Below this width labels take two lines, and ratios stand without their intervals. */
const NARROW = 560;
const AXIS = 44;
/** Longest line of a tooltip: it is drawn as it is, without folding. */
const TOOLTIP_LETTERS = 84;

/** What the chart shows: rows that have anything of the chosen metric. */
export function forestRows(selection: Selection): Row[] {
  const { report } = selection;
  const { baseline, metric } = selection.choice;
  const facts = factsOf(metric);
  const entries = baseline === "" ? values(selection, facts) : ratios(selection, baseline);
  const rows: Row[] = [];
  for (const { workload, load } of cellKeys(report)) {
    const found = entries.filter((one) => one.workload === workload && one.load === load);
    if (found.length === 0) continue;
    const floors = found.flatMap((one) => (one.floor === null ? [] : [one.floor]));
    rows.push({
      workload,
      load,
      title: selection.title(load),
      short: selection.short(load),
      floor: floors.length > 0 ? Math.max(...floors) : null,
      entries: found.map((one) => one.entry),
    });
  }
  return rows;
}

/** Workloads and loads in the order of the cells. */
export function cellKeys(report: Report): { workload: string; load: string }[] {
  const keys = new Map(report.cells.map((cell) => [`${cell.workload}\n${cell.load}`, cell]));
  return [...keys.values()].map(({ workload, load }) => ({ workload, load }));
}

interface Placed {
  workload: string;
  load: string;
  floor: number | null;
  entry: Entry;
}

function ratios(selection: Selection, baseline: string): Placed[] {
  const { report, hidden } = selection;
  const order = selection.contenders();
  return ratiosTo(report, baseline, selection.choice.metric)
    .filter((one) => order.includes(one.contender) && !hidden.has(one.contender))
    .sort((left, right) => order.indexOf(left.contender) - order.indexOf(right.contender))
    .map((one) => ({
      workload: one.workload,
      load: one.load,
      floor: one.floor,
      entry: {
        contender: one.contender,
        ...{ point: one.point, low: one.low, high: one.high, n: one.n, bound: one.bound },
        firm: ["more", "less", "equal"].includes(one.mark),
        long: ratioText(one),
        short: pointText(one),
        detail: `${one.contender}: ${ratioText(one)}, ${counted(one.n, "round")}; ${markText(one)}`,
        verdict: markText(one),
        unequal: one.unequal,
        mark: sign(one),
      },
    }));
}

function values(selection: Selection, facts: MetricFacts): Placed[] {
  const order = selection.contenders();
  const cells = selection.report.cells.filter(
    (cell) => order.includes(cell.contender) && !selection.hidden.has(cell.contender),
  );
  return cells.flatMap((cell) => {
    const estimate: Estimate | null = cell.estimates[facts.metric] ?? null;
    if (!estimate) return [];
    const lower = facts.metric === "rate_per_s" && cell.rate_is_lower_bound;
    const text = `${lower ? "≥ " : ""}${facts.text(estimate.point)}`;
    const ends = `${facts.text(estimate.low)} to ${facts.text(estimate.high)}, `;
    const range = `${estimate.n > 1 ? ends : ""}${counted(estimate.n, "round")}`;
    const entry: Entry = {
      contender: cell.contender,
      ...{ point: estimate.point, low: estimate.low, high: estimate.high, n: estimate.n },
      bound: lower ? "at-least" : null,
      firm: isValid(cell, facts.number),
      long: text,
      short: `${lower ? "≥ " : ""}${facts.tick(estimate.point)}`,
      detail: `${cell.contender}: ${text} (${range})`,
      verdict: cell.verdicts[facts.number],
      unequal: [],
      mark: "",
    };
    return [{ workload: cell.workload, load: cell.load, floor: null, entry }];
  });
}

/** How a drawing is laid out: lines below each other, labels left, numbers right. */
interface Layout {
  narrow: boolean;
  left: number;
  right: number;
  /** Room for names before the numbers; none where colours say enough. */
  names: number;
  line: number;
  /** Height of each row. */
  heights: number[];
  /** Top of each row. */
  tops: number[];
  height: number;
}

function layout(rows: Row[], width: number): Layout {
  const narrow = width < NARROW;
  // A short table gets more air.
  const lines = rows.reduce((sum, row) => sum + row.entries.length, 0);
  const line = narrow ? 14 : lines <= 10 ? 21 : 17;
  const heights = rows.map((row) => Math.max(row.entries.length * line + 8, narrow ? 32 : 26));
  const tops = heights.map((_, index) => heights.slice(0, index).reduce((sum, it) => sum + it, 0));
  const height = heights.reduce((sum, it) => sum + it, 0);
  const longest = Math.max(0, ...rows.map((row) => `${row.workload}  ${row.short}`.length));
  const left = narrow ? 92 : Math.min(230, Math.max(120, longest * 6.8 + 10));
  return { narrow, left, right: narrow ? 82 : 176, names: 0, line, heights, tops, height };
}

/** The layout with contenders named in every row, where two of them have one colour. */
function withNames(form: Layout, rows: Row[], colour: Map<string, string>): Layout {
  const names = [...new Set(rows.flatMap((row) => row.entries.map((one) => one.contender)))];
  const distinct = new Set(names.map((name) => colour.get(name)));
  if (form.narrow || distinct.size === names.length) return form;
  const room = Math.min(150, Math.max(...names.map((name) => name.length)) * 6.8 + 10);
  return { ...form, names: room, right: form.right + room };
}

/** As many rows as fit, or all of them: as they are in a file, and always in the numbers. */
export function forest(limit: () => number | null): Draw {
  return (selection, theme, width, forFile = false) => {
    const all = forestRows(selection);
    const most = forFile ? null : limit();
    const rows = most === null ? all : fitting(all, width, most);
    const { metric, baseline } = selection.choice;
    const table = tableOf(all, metric, baseline);
    return { ...drawn(selection, theme, rows, all.length, width), table };
  };
}

/** The first rows that fit into a height. */
export function fitting(rows: Row[], width: number, most: number): Row[] {
  const { tops, heights } = layout(rows, width);
  const room = most - AXIS - LEGEND;
  const count = rows.filter((_, index) => (tops[index] ?? 0) + (heights[index] ?? 0) <= room);
  return rows.slice(0, Math.max(count.length, 3));
}

function drawn(
  selection: Selection,
  theme: Theme,
  rows: Row[],
  total: number,
  width: number,
): Omit<Drawing, "table"> {
  const { baseline, metric } = selection.choice;
  const facts = factsOf(metric);
  const colour = colours(selection.report);
  const form = withNames(layout(rows, width), rows, colour);
  const entries = rows.flatMap((row) => row.entries);
  const floors = rows.flatMap((row) => (row.floor === null ? [] : [1 + row.floor]));
  const known = entries.flatMap((one) => [one.point, one.low, one.high]);
  const extent = baseline === "" ? known : [...known, 1, ...floors, ...floors.map((it) => 1 / it)];
  const times = (value: number) => `${Number(value.toPrecision(3))}×`;
  const tick = baseline === "" ? facts.tick : times;
  const [less, more] = form.narrow ? ["←", "→"] : ["← less", "more →"];
  const ratioName = `${less}   ratio to ${baseline}, log scale   ${more}`;
  const name = baseline === "" ? `${facts.title}, log scale` : ratioName;
  const scale = logScale(theme, extent, tick, { name, room: 0.08 });
  const names = selection.contenders().filter((one) => entries.some((it) => it.contender === one));
  const hollow = entries.some((one) => one.bound !== null) ? "; hollow: a bound" : "";
  const pale = baseline === "" ? "suspect, not ranked" : "no difference shown, or not compared";
  const open = entries.some((one) => one.mark === OPEN) ? `; ${OPEN} needs more rounds` : "";
  const paleWord = entries.some((one) => !one.firm) ? `; pale: ${pale}` : "";
  const grey = floors.length > 0 ? "; grey: noise" : "";
  const better = facts.moreIsBetter ? "more is better" : "less is better";
  const fewer = rows.length < total ? `; ${rows.length} of ${total} rows` : "";
  return {
    series: names,
    subtitle: `${better}${grey}${hollow}${paleWord}${open}${fewer}`,
    zoom: "x",
    height: form.height + AXIS + LEGEND,
    grid: {
      ...{ left: form.left, right: form.right, top: LEGEND, bottom: AXIS },
      outerBoundsMode: "none",
    },
    open: ({ dataIndex, seriesIndex }) => {
      // The first series is the rows themselves, then one for each contender.
      const contender = seriesIndex === 0 ? "" : (names[seriesIndex - 1] ?? "");
      const its = rows.filter((row) => row.entries.some((it) => it.contender === contender));
      const row = seriesIndex === 0 ? rows[dataIndex] : its[dataIndex];
      if (row) opened(selection, row, contender);
    },
    stops: stopsOf(selection, rows, form),
    option: {
      tooltip: tooltip(
        theme,
        (one: { seriesIndex: number; dataIndex: number; seriesName: string }) => {
          const its = rows.filter((row) =>
            row.entries.some((it) => it.contender === one.seriesName),
          );
          const row = one.seriesIndex === 0 ? rows[one.dataIndex] : its[one.dataIndex];
          if (!row) return "";
          return [`${row.workload}, ${row.title}`, ...row.entries.flatMap(detailLines)].join("\n");
        },
        { trigger: "item" },
      ),
      xAxis: { ...scale.axis, axisLine: { show: false } },
      yAxis: axis(theme, {
        type: "value",
        inverse: true,
        min: 0,
        max: form.height,
        show: false,
      }),
      series: [
        rowSeries(rows, form, scale, theme, baseline !== "", colour),
        ...names.map((contender) => entrySeries(selection, theme, rows, form, contender)),
      ],
    },
  };
}

/** Shows the tables and charts of a row below. */
function opened(selection: Selection, row: Row, contender: string): void {
  selection.choose({ workload: row.workload, load: row.load, contender });
  document.getElementById("results")?.scrollIntoView({ block: "start" });
}

/** The rows by keyboard, which takes the focus along. */
function stopsOf(selection: Selection, rows: Row[], form: Layout): Stop[] {
  return rows.map((row, index) => ({
    key: `${row.workload}\n${row.load}`,
    label: spokenRow(row),
    top: LEGEND + (form.tops[index] ?? 0),
    height: form.heights[index] ?? 0,
    open: () => {
      opened(selection, row, "");
      document.getElementById("results")?.focus({ preventScroll: true });
    },
  }));
}

/** A row for ears. */
function spokenRow(row: Row): string {
  const words = row.entries.flatMap((one) => [one.detail, ...workOf(one)]);
  return `${row.workload}, ${row.title}: ${words.join("; ")}`;
}

/** An entry for a tooltip, in lines that fit into one. */
function detailLines(one: Entry): string[] {
  return [one.detail, ...workOf(one).flatMap((words) => folded(words, TOOLTIP_LETTERS))];
}

function workOf(one: Entry): string[] {
  return one.unequal.map((words) => `different work: ${words}`);
}

/** Words in lines of so many letters at the most, the later ones set in. */
function folded(words: string, most: number): string[] {
  const lines: string[] = [];
  for (const word of words.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(lines.length === 0 ? `  ${word}` : `    ${word}`);
    }
  }
  return lines;
}

function tableOf(rows: Row[], metric: string, baseline: string): Drawing["table"] {
  return {
    columns: [
      ...["workload", "load", "contender", "baseline"],
      ...[metric, ...BOUND_COLUMNS, "rounds", "mark"],
    ],
    rows: rows.flatMap((row) =>
      row.entries.map((one) => [
        row.workload,
        row.title,
        one.contender,
        baseline === "" ? null : baseline,
        ...[one.point, ...bounded(one), one.n],
        one.verdict,
      ]),
    ),
  };
}

/** A contender's dots, one for each row that has it. */
function entrySeries(
  selection: Selection,
  theme: Theme,
  rows: Row[],
  form: Layout,
  contender: string,
): object {
  const data = rows.flatMap((row, index) => {
    const place = row.entries.findIndex((one) => one.contender === contender);
    const entry = row.entries[place];
    if (!entry) return [];
    return [
      {
        across: lineMiddle(form, row, index, place),
        ...{ point: at(entry.point), low: at(entry.low), high: at(entry.high) },
        bound: entry.bound,
        opacity: entry.firm ? 1 : 0.5,
      },
    ];
  });
  const colour = colours(selection.report).get(contender) ?? "";
  return whiskers(theme, { name: contender, colour, horizontal: true, data });
}

function lineMiddle(form: Layout, row: Row, index: number, place: number): number {
  const middle = (form.tops[index] ?? 0) + (form.heights[index] ?? 0) / 2;
  return middle + (place - (row.entries.length - 1) / 2) * form.line;
}

/** The rows behind the dots: what noise would do, the baseline, labels and numbers. */
function rowSeries(
  rows: Row[],
  form: Layout,
  scale: LogScale,
  theme: Theme,
  relative: boolean,
  colour: Map<string, string>,
): object {
  return {
    type: "custom",
    clip: false,
    z: 1,
    cursor: "pointer",
    data: rows.map((_, index) => [scale.min, form.tops[index] ?? 0]),
    renderItem: (params: unknown, api: CustomSeriesRenderItemAPI) => {
      const { dataIndex, coordSys } = params as {
        dataIndex: number;
        coordSys: { x: number; width: number };
      };
      const row = rows[dataIndex];
      if (!row) return null;
      const top = form.tops[dataIndex] ?? 0;
      const height = form.heights[dataIndex] ?? 0;
      const y = api.coord([scale.min, top])[1] ?? 0;
      const [left, right] = [coordSys.x, coordSys.x + coordSys.width];
      const across = (value: number) => {
        const x = api.coord([at(value), top])[0] ?? 0;
        return Math.min(Math.max(x, left), right);
      };
      const children: object[] = [
        // An area to click on.
        {
          type: "rect",
          shape: { x: 0, y, width: right + form.right, height },
          style: { fill: theme.surface, opacity: 0.001 },
        },
        {
          type: "line",
          shape: { x1: 0, y1: y, x2: right + form.right, y2: y },
          style: { stroke: theme.line, lineWidth: 1 },
        },
      ];
      if (row.floor !== null) {
        const [from, to] = [across(1 / (1 + row.floor)), across(1 + row.floor)];
        children.push({
          type: "rect",
          shape: { x: from, y, width: Math.max(to - from, 1), height },
          style: { fill: theme.muted, opacity: 0.28 },
        });
      }
      if (relative) {
        children.push({
          type: "line",
          shape: { x1: across(1), y1: y, x2: across(1), y2: y + height },
          style: { stroke: theme.text, lineWidth: 1.2 },
        });
      }
      children.push(...labels(row, form, theme, y + height / 2));
      for (const [place, entry] of row.entries.entries()) {
        const middle = y + lineMiddle(form, row, dataIndex, place) - top;
        children.push(...numbers(entry, form, theme, right, middle, colour));
      }
      return { type: "group", children };
    },
  };
}

function text(x: number, y: number, words: string, style: object): object {
  return { type: "text", style: { x, y, text: words, verticalAlign: "middle", ...style } };
}

function labels(row: Row, form: Layout, theme: Theme, middle: number): object[] {
  const room = { width: form.left - 6, overflow: "truncate", fontFamily: FONT };
  const strong = { fill: theme.text, fontSize: form.narrow ? 12 : 12.5, fontWeight: 600 };
  const pale = { fill: theme.muted, fontSize: form.narrow ? 11 : 12 };
  if (form.narrow) {
    return [
      text(2, middle - 7, row.workload, { ...strong, ...room }),
      text(2, middle + 7, row.short, { ...pale, ...room }),
    ];
  }
  const words = `{a|${row.workload}}  {b|${row.short}}`;
  const rich = { a: { ...strong, fontFamily: FONT }, b: { ...pale, fontFamily: FONT } };
  return [text(2, middle, words, { ...room, rich })];
}

function numbers(
  entry: Entry,
  form: Layout,
  theme: Theme,
  right: number,
  middle: number,
  colour: Map<string, string>,
): object[] {
  const words = form.narrow ? entry.short : entry.long;
  const fill = entry.firm ? theme.text : theme.muted;
  const style = { fontSize: 12, fontFamily: FONT };
  const own = colour.get(entry.contender) ?? fill;
  const room = { width: form.names - 8, overflow: "truncate" };
  const name = text(right + 19, middle, entry.contender, { ...style, ...room, fill: theme.muted });
  return [
    { type: "circle", shape: { cx: right + 12, cy: middle, r: 3 }, style: { fill: own } },
    ...(form.names > 0 ? [name] : []),
    text(right + 19 + form.names, middle, words, { ...style, fill }),
    text(right + form.right, middle, entry.mark, { ...style, fill, align: "right" }),
  ];
}
