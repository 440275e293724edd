// Latency by percentile: the share beyond on a logarithmic axis, so that the tail has room.

import { duration } from "../format.ts";
import { colours, dash } from "../theme.ts";
import { axis, type Draw, NAMED_GRID, tooltip } from "./chart.ts";

/** One over the share beyond, as the percentile that people say. */
function percentileName(oneIn: number): string {
  if (oneIn <= 1) return "min";
  const percentile = 100 - 100 / oneIn;
  const places = Math.max(0, Math.ceil(Math.log10(oneIn)) - 2);
  return `p${Number(percentile.toFixed(places))}`;
}

export const percentileCurve: Draw = (selection, theme) => {
  const colour = colours(selection.report);
  const drawn = selection.shown().flatMap((cell) => {
    const curve = cell.estimates["latency_p50_ns"] ? selection.trial(cell)?.curve : undefined;
    return curve && curve.one_in.length > 1 ? [{ cell, curve }] : [];
  });
  const times = drawn.flatMap(({ curve }) => curve.latency_ns).filter((ns) => ns > 0);
  const floor = times.length > 0 ? 10 ** Math.floor(Math.log10(Math.min(...times))) : 1;
  const data = (curve: (typeof drawn)[number]["curve"]) =>
    curve.one_in.map((oneIn, index) => [oneIn, curve.latency_ns[index] ?? null]);
  return {
    series: drawn.map(({ cell }) => cell.contender),
    subtitle: "ok responses of one round; each curve ends with its largest",
    option: {
      grid: NAMED_GRID,
      tooltip: tooltip(theme, (params: { seriesName: string; value: [number, number] }[]) => {
        const at = params[0] ? percentileName(params[0].value[0]) : "";
        return [at, ...params.map((one) => `${one.seriesName}: ${duration(one.value[1])}`)].join(
          "\n",
        );
      }),
      xAxis: axis(theme, {
        type: "log",
        min: 1,
        name: "percentile",
        nameLocation: "middle",
        nameGap: 24,
        splitLine: { show: true, lineStyle: { color: theme.line } },
        axisLabel: { formatter: percentileName },
      }),
      yAxis: axis(theme, {
        type: "log",
        min: floor,
        axisLabel: {
          formatter: (ns: number) => duration(ns).replace(".00 ", " ").replace(".0 ", " "),
        },
      }),
      series: drawn.map(({ cell, curve }) => ({
        type: "line",
        name: cell.contender,
        showSymbol: false,
        data: data(curve),
        lineStyle: { width: 2, type: dash(selection.report, cell.contender) },
        itemStyle: { color: colour.get(cell.contender) },
      })),
    },
  };
};
