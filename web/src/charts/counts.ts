// One bar for each contender: requests per second with their spread, and the share of errors.

import { compact, percent, whole } from "../format.ts";
import type { Cell } from "../model.ts";
import { colours, type Theme } from "../theme.ts";
import { axis, type Draw, type Drawing, opacity, paleWord, tooltip } from "./chart.ts";

type Bar = { name: string; value: number };

/** Width of a letter of a contender's name, and of the longest name shown whole, pixels. */
const LABEL_LETTER = 7.2;
const LABEL_MOST = 132;

/** Right answers per second. */
export const rateBars: Draw = (selection, theme) => {
  const cells = selection.shown().filter((cell) => cell.estimates["rate_per_s"]);
  const label = (cell: Cell) => {
    const rate = cell.estimates["rate_per_s"];
    if (!rate) return "";
    const bound = cell.rate_is_lower_bound ? "≥ " : "";
    const range = `${whole(rate.low)} to ${whole(rate.high)}`;
    return `${bound}${whole(rate.point)} (${range}, ${rate.n} rounds)`;
  };
  const drawing = bars(selection.report, cells, theme, {
    value: (cell) => cell.estimates["rate_per_s"]?.point ?? 0,
    short: (cell) =>
      (cell.rate_is_lower_bound ? "≥ " : "") + compact(cell.estimates["rate_per_s"]?.point ?? 0),
    long: label,
    most: undefined,
    pale: true,
  });
  return { ...drawing, subtitle: `ok responses per second${paleWord(cells)}` };
};

/** Requests that ended in one round. */
export const requestBars: Draw = (selection, theme) => {
  const cells = selection.shown().filter((cell) => cell.estimates["requests"]);
  const drawing = bars(selection.report, cells, theme, {
    value: (cell) => cell.estimates["requests"]?.point ?? 0,
    short: (cell) => compact(cell.estimates["requests"]?.point ?? 0),
    long: (cell) => `${whole(cell.estimates["requests"]?.point ?? 0)} requests in a round`,
    most: undefined,
    pale: false,
  });
  return { ...drawing, subtitle: "ended in a round, in whatever way" };
};

/** Share of requests that did not come out ok. */
export const errorBars: Draw = (selection, theme) => {
  const cells = selection.shown().filter((cell) => cell.error_share !== null);
  const largest = Math.max(0.01, ...cells.map((cell) => cell.error_share ?? 0));
  const drawing = bars(selection.report, cells, theme, {
    value: (cell) => cell.error_share ?? 0,
    short: (cell) => `${percent(cell.error_share ?? 0)} %`,
    long: (cell) => `${whole(cell.errors)} of ${whole(cell.completed)} requests`,
    most: largest,
    pale: false,
  });
  return { ...drawing, subtitle: "of all requests that ended" };
};

interface Texts {
  value: (cell: Cell) => number;
  short: (cell: Cell) => string;
  long: (cell: Cell) => string;
  most: number | undefined;
  /** Whether the value rests on timing, so that a suspect cell's bar is pale. */
  pale: boolean;
}

function bars(
  report: Parameters<typeof colours>[0],
  cells: Cell[],
  theme: Theme,
  texts: Texts,
): Drawing {
  const colour = colours(report);
  const find = (name: string) => cells.find((cell) => cell.contender === name);
  const data = cells.map((cell) => ({
    value: texts.value(cell),
    itemStyle: {
      color: colour.get(cell.contender),
      opacity: texts.pale ? opacity(cell) : 1,
      borderRadius: [0, 2, 2, 0],
    },
  }));
  const names = Math.min(
    LABEL_MOST,
    Math.max(0, ...cells.map((cell) => cell.contender.length)) * LABEL_LETTER,
  );
  const text = (name: string, write: (cell: Cell) => string) => {
    const cell = find(name);
    return cell ? write(cell) : "";
  };
  return {
    series: cells.map((cell) => cell.contender),
    subtitle: "",
    option: {
      tooltip: tooltip(theme, (params: Bar[]) =>
        params.map((one) => `${one.name}: ${text(one.name, texts.long)}`).join("\n"),
      ),
      grid: { left: names + 8, right: 64, top: 4, bottom: 4, containLabel: false },
      xAxis: {
        type: "value",
        min: 0,
        show: false,
        ...(texts.most === undefined ? {} : { max: texts.most }),
      },
      yAxis: axis(theme, {
        type: "category",
        inverse: true,
        data: cells.map((cell) => cell.contender),
        splitLine: { show: false },
        axisLabel: {
          fontSize: 12,
          color: theme.text,
          width: names,
          overflow: "truncate",
          hideOverlap: false,
          interval: 0,
        },
      }),
      series: [
        {
          type: "bar",
          barMaxWidth: 20,
          data,
          label: {
            show: true,
            position: "right",
            color: theme.text,
            fontSize: 11,
            formatter: (bar: Bar) => text(bar.name, texts.short),
          },
        },
      ],
    },
  };
}
