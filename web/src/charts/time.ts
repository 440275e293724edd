// What happened over time in one round: rate, processors and memory of the server.

import { bytes, compact, digits } from "../format.ts";
import type { Cell, NumberName, Trial } from "../model.ts";
import type { Selection } from "../selection.ts";
import { colours, dash, type Theme } from "../theme.ts";
import { axis, type Draw, type Drawing, LEGEND, tooltip } from "./chart.ts";
import { nameOf } from "./scale.ts";

type Points = [number, number][];

interface Shape {
  subtitle: string;
  /** The measure that the line shows over time: withheld with it from an invalid cell. */
  restsOn: string | null;
  /** The verdict that it rests on. */
  number: NumberName;
  points: (trial: Trial) => Points;
  /** Name of the vertical axis, with its unit. */
  unit: string;
  /** Name of the column in CSV. */
  column: string;
  short: (value: number) => string;
  long: (value: number) => string;
}

/** Right answers per second. */
export const rateOverTime: Draw = (selection, theme) =>
  lines(selection, theme, {
    subtitle: "ok responses per second",
    points: (trial) => pairs(trial.throughput.at_s, trial.throughput.ok_per_s),
    restsOn: "rate_per_s",
    unit: "requests/s",
    column: "ok_per_s",
    number: "rate",
    short: compact,
    long: (value) => `${digits(value)} req/s`,
  });

/** Processors that the server's processes kept busy. */
export const processorsOverTime: Draw = (selection, theme) =>
  lines(selection, theme, {
    subtitle: "processors kept busy by the server and its children",
    points: (trial) => ofServer(trial, "cores"),
    restsOn: null,
    unit: "processors",
    column: "processors",
    number: "cpu",
    short: (value) => String(Number(value.toFixed(2))),
    long: (value) => `${digits(value)} processors`,
  });

/** Resident memory of the server's processes. */
export const memoryOverTime: Draw = (selection, theme) =>
  lines(selection, theme, {
    subtitle: "resident memory of the server and its children",
    points: (trial) => ofServer(trial, "rss_bytes"),
    restsOn: null,
    unit: "memory",
    column: "rss_bytes",
    number: "memory",
    short: (value) => bytes(value).replace(".0 ", " "),
    long: bytes,
  });

function pairs(times: number[], values: number[]): Points {
  return times.map((at, index) => [at, values[index] ?? 0]);
}

function ofServer(trial: Trial, what: "cores" | "rss_bytes"): Points {
  const tree = trial.processes.trees.find((one) => one.role === "server");
  return tree ? pairs(tree.at_s, tree[what]) : [];
}

function lines(selection: Selection, theme: Theme, shape: Shape): Drawing {
  const colour = colours(selection.report);
  const drawn: { cell: Cell; points: Points; measured_s: number }[] = [];
  for (const cell of selection.shown()) {
    if (shape.restsOn !== null && !cell.estimates[shape.restsOn]) continue;
    const trial = selection.trial(cell);
    const points = trial ? shape.points(trial) : [];
    if (trial && points.length > 1) drawn.push({ cell, points, measured_s: trial.measured_s ?? 0 });
  }
  const beforeWindow = drawn.some(({ points }) => (points[0]?.[0] ?? 0) < 0);
  const window = beforeWindow ? windowMark(theme) : {};
  return {
    series: drawn.map(({ cell }) => cell.contender),
    subtitle: shape.subtitle,
    zoom: "x",
    grid: { top: LEGEND + 24, bottom: 40 },
    table: {
      columns: ["contender", "at_s", shape.column, "verdict"],
      rows: drawn.flatMap(({ cell, points }) =>
        points.map(([time, value]) => [cell.contender, time, value, cell.verdicts[shape.number]]),
      ),
    },
    option: {
      tooltip: tooltip(theme, (params: { seriesName: string; value: [number, number] }[]) => {
        const at = params[0] ? `${digits(params[0].value[0])} s` : "";
        return [at, ...params.map((one) => `${one.seriesName}: ${shape.long(one.value[1])}`)].join(
          "\n",
        );
      }),
      xAxis: axis(theme, {
        type: "value",
        min: Math.min(0, ...drawn.map(({ points }) => points[0]?.[0] ?? 0)),
        max: Math.max(0, ...drawn.map((one) => one.measured_s)),
        ...nameOf("seconds of the measured window", false),
        splitLine: { show: false },
        axisLabel: {
          formatter: (at: number) => String(Number(at.toFixed(1))),
          showMinLabel: !beforeWindow,
        },
      }),
      yAxis: axis(theme, {
        type: "value",
        min: 0,
        splitNumber: 4,
        ...nameOf(shape.unit, true),
        axisLabel: { formatter: shape.short },
      }),
      series: drawn.map(({ cell, points }, index) => ({
        type: "line",
        name: cell.contender,
        showSymbol: false,
        data: points,
        lineStyle: { width: 2, type: dash(selection.report, cell.contender) },
        itemStyle: { color: colour.get(cell.contender) },
        ...(index === 0 ? window : {}),
      })),
    },
  };
}

/** A line where the warm-up ends and the measured window begins. */
function windowMark(theme: Theme): object {
  return {
    markLine: {
      silent: true,
      symbol: "none",
      label: { show: false },
      lineStyle: { color: theme.muted, type: "dashed", width: 1 },
      data: [{ xAxis: 0 }],
    },
  };
}
