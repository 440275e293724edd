// Grouped bars of the latency statistics, one group for each, one bar for each contender.

import { duration } from "../format.ts";
import { colours } from "../theme.ts";
import { axis, type Draw, opacity, paleWord, tooltip } from "./chart.ts";

const STATISTICS: [string, string][] = [
  ["min", "latency_min_ns"],
  ["median", "latency_p50_ns"],
  ["average", "latency_mean_ns"],
  ["p90", "latency_p90_ns"],
  ["p95", "latency_p95_ns"],
  ["p99", "latency_p99_ns"],
  ["max", "latency_max_ns"],
];

/** Beyond this ratio of the largest to the smallest bar, a linear axis hides the small ones. */
const LINEAR_UP_TO = 12;

export const latencyBars: Draw = (selection, theme) => {
  const colour = colours(selection.report);
  const cells = selection.shown().filter((cell) => cell.estimates["latency_p50_ns"]);
  const value = (cell: (typeof cells)[number], measure: string) =>
    cell.estimates[measure]?.point ?? null;
  const all = cells.flatMap((cell) => STATISTICS.map(([, measure]) => value(cell, measure) ?? 0));
  const positive = all.filter((ns) => ns > 0);
  const logarithmic = Math.max(...positive) / Math.min(...positive) > LINEAR_UP_TO;
  // Bars of a logarithmic axis start at a power of ten below the smallest value.
  const floor = 10 ** Math.floor(Math.log10(Math.min(...positive) * 0.8));
  const scale = logarithmic ? { type: "log", min: floor } : { type: "value", min: 0 };
  return {
    series: cells.map((cell) => cell.contender),
    subtitle: [
      "ok responses, median over rounds",
      logarithmic ? "; logarithmic axis" : "",
      paleWord(cells),
    ].join(""),
    option: {
      tooltip: tooltip(
        theme,
        (params: { axisValueLabel: string; seriesName: string; value: number }[]) =>
          [
            params[0]?.axisValueLabel,
            ...params.map((one) => `${one.seriesName}: ${duration(one.value)}`),
          ].join("\n"),
      ),
      xAxis: axis(theme, {
        type: "category",
        data: STATISTICS.map(([name]) => name),
        splitLine: { show: false },
      }),
      yAxis: axis(theme, {
        ...scale,
        axisLabel: {
          formatter: (ns: number) => duration(ns).replace(".00 ", " ").replace(".0 ", " "),
        },
      }),
      series: cells.map((cell) => ({
        type: "bar",
        name: cell.contender,
        barMaxWidth: 26,
        barGap: "8%",
        itemStyle: {
          color: colour.get(cell.contender),
          opacity: opacity(cell),
          borderRadius: [2, 2, 0, 0],
        },
        data: STATISTICS.map(([, measure]) => value(cell, measure)),
      })),
    },
  };
};
