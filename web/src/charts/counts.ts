// One line for each contender: requests per second with their interval, requests that ended, and
// the share of errors. Their axes begin at zero.

import { compact, digits, percent, whole } from "../format.ts";
import type { Cell, Estimate, NumberName } from "../model.ts";
import type { Selection } from "../selection.ts";
import { colours, type Theme } from "../theme.ts";
import { bounded, BOUND_COLUMNS } from "./bounds.ts";
import { axis, type Draw, type Drawing, opacity, paleWord, tooltip } from "./chart.ts";
import { nameOf } from "./scale.ts";
import { whiskers } from "./whiskers.ts";

/** Height of a contender's line, and of what is not lines. */
const LINE = 24;
const REST = 74;

/** Right answers per second. */
export const rateDots: Draw = (selection, theme) => {
  const cells = selection.shown().filter((cell) => cell.estimates["rate_per_s"]);
  const drawing = lines(selection, cells, theme, {
    estimate: (cell) => cell.estimates["rate_per_s"] ?? null,
    bound: (cell) => cell.rate_is_lower_bound,
    short: compact,
    long: (value) => `${digits(value)} req/s`,
    unit: "requests/s",
    column: "rate_per_s",
    number: "rate",
    opacity: (cell) => opacity(cell, "rate"),
  });
  return { ...drawing, subtitle: `ok responses per second${paleWord(cells, "rate")}` };
};

/** Requests that ended in one round. */
export const requestDots: Draw = (selection, theme) => {
  const cells = selection.shown().filter((cell) => cell.estimates["requests"]);
  const drawing = lines(selection, cells, theme, {
    estimate: (cell) => cell.estimates["requests"] ?? null,
    bound: () => false,
    short: compact,
    long: (value) => `${whole(value)} requests in a round`,
    unit: "requests in a round",
    column: "requests",
    number: "counts",
    opacity: () => 1,
  });
  return { ...drawing, subtitle: "ended in a round, with whatever outcome" };
};

/** Share of requests that did not come out ok. */
export const errorDots: Draw = (selection, theme) => {
  const cells = selection.shown().filter((cell) => cell.error_share !== null);
  const drawing = lines(selection, cells, theme, {
    estimate: (cell) => alone(cell.error_share ?? 0),
    bound: () => false,
    short: shortPercent,
    long: (share) => `${percent(share)} %`,
    unit: "% of requests",
    column: "error_share",
    number: "counts",
    opacity: () => 1,
    most: 0.01,
  });
  return { ...drawing, subtitle: "of all requests asked for, all rounds together" };
};

/** A percentage without the zeros that end its decimals: `0.5`, `20`, `100`. */
function shortPercent(share: number): string {
  return percent(share).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

function alone(value: number): Estimate {
  return { point: value, low: value, high: value, n: 1, interval: "range" };
}

interface Texts {
  estimate: (cell: Cell) => Estimate | null;
  bound: (cell: Cell) => boolean;
  short: (value: number) => string;
  long: (value: number) => string;
  /** Name of the axis. */
  unit: string;
  /** Name of the column in CSV. */
  column: string;
  /** The verdict that it rests on. */
  number: NumberName;
  opacity: (cell: Cell) => number;
  /** What the axis reaches at least. */
  most?: number;
}

function lines(selection: Selection, cells: Cell[], theme: Theme, texts: Texts): Drawing {
  const colour = colours(selection.report);
  const points = cells.flatMap((cell) => {
    const estimate = texts.estimate(cell);
    return estimate ? [{ cell, estimate }] : [];
  });
  const most = Math.max(texts.most ?? 0, ...points.map(({ estimate }) => estimate.high));
  const label = ({ cell, estimate }: (typeof points)[number]) => {
    const bound = texts.bound(cell) ? "≥ " : "";
    const range = `${texts.long(estimate.low)} to ${texts.long(estimate.high)}`;
    const of = estimate.n > 1 ? ` (${range}, ${estimate.n} rounds)` : "";
    return `${cell.contender}: ${bound}${texts.long(estimate.point)}${of}`;
  };
  return {
    series: points.map(({ cell }) => cell.contender),
    subtitle: "",
    height: REST + LINE * Math.max(points.length, 1),
    grid: { top: 30, left: 8, bottom: 26, right: 58 },
    table: {
      columns: ["contender", texts.column, ...BOUND_COLUMNS, "rounds", "verdict"],
      rows: points.map(({ cell, estimate }) => {
        const bound = texts.bound(cell) ? "at-least" : null;
        const [sign = null, ...ends] = bounded({ ...estimate, bound });
        const rest = estimate.n > 1 ? [...ends, estimate.n] : [null, null, null];
        return [cell.contender, estimate.point, sign, ...rest, cell.verdicts[texts.number]];
      }),
    },
    option: {
      tooltip: tooltip(
        theme,
        (params: { dataIndex: number; seriesName: string }[]) =>
          points
            .filter(({ cell }) => params.some((one) => one.seriesName === cell.contender))
            .map(label)
            .join("\n"),
        { axisPointer: { type: "shadow", shadowStyle: { opacity: 0.12 } } },
      ),
      xAxis: valueAxis(theme, texts, most),
      yAxis: axis(theme, {
        type: "category",
        inverse: true,
        data: points.map(({ cell }) => cell.contender),
        splitLine: { show: false },
        axisLabel: { show: false },
      }),
      series: points.map(({ cell, estimate }, index) => ({
        ...whiskers(theme, {
          name: cell.contender,
          colour: colour.get(cell.contender) ?? "",
          horizontal: true,
          data: [
            {
              across: index,
              ...{ point: estimate.point, low: estimate.low, high: estimate.high },
              bound: texts.bound(cell) ? "at-least" : null,
              opacity: texts.opacity(cell),
            },
          ],
        }),
        markLine: beside(
          theme,
          `${texts.bound(cell) ? "≥ " : ""}${texts.short(estimate.point)}`,
          index,
          most,
        ),
      })),
    },
  };
}

function valueAxis(theme: Theme, texts: Texts, most: number): object {
  return axis(theme, {
    type: "value",
    min: 0,
    max: most,
    ...nameOf(texts.unit, false),
    nameGap: 20,
    splitNumber: 4,
    axisLabel: { formatter: texts.short, showMaxLabel: false },
  });
}

/** A value written at the end of its line. */
function beside(theme: Theme, words: string, line: number, most: number): object {
  return {
    silent: true,
    symbol: "none",
    lineStyle: { width: 0 },
    label: {
      show: true,
      position: "end",
      distance: 8,
      color: theme.text,
      fontSize: 12,
      formatter: words,
    },
    data: [[{ coord: [0, line] }, { coord: [most, line] }]],
  };
}
