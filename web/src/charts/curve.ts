// Latency by percentile: the share beyond on a logarithmic axis, so that the tail has room.

import { duration, ticks } from "../format.ts";
import { colours, dash } from "../theme.ts";
import { axis, type Draw, LEGEND, tooltip } from "./chart.ts";
import { at, logScale, nameOf } from "./scale.ts";

/** One over the share beyond that is marked on the axis: p0, p50, p90, p99 and so on. */
const MARKS = [1, 2, 10, 100, 1e3, 1e4, 1e5, 1e6];

/** One over the share beyond, as the percentile that people say. */
function percentileName(oneIn: number): string {
  if (oneIn <= 1.001) return "min";
  const percentile = 100 - 100 / oneIn;
  const places = Math.max(0, Math.ceil(Math.log10(oneIn) - 1e-9) - 2);
  return `p${Number(percentile.toFixed(places))}`;
}

export const percentileCurve: Draw = (selection, theme) => {
  const colour = colours(selection.report);
  const drawn = selection.shown().flatMap((cell) => {
    const curve = cell.estimates["latency_p50_ns"] ? selection.trial(cell)?.curve : undefined;
    return curve && curve.one_in.length > 1 ? [{ cell, curve }] : [];
  });
  const times = drawn.flatMap(({ curve }) => curve.latency_ns).filter((ns) => ns > 0);
  const most = Math.max(10, ...drawn.flatMap(({ curve }) => curve.one_in));
  const name = "latency, log scale";
  const scale = logScale(theme, times, ticks, { name, vertical: true });
  const data = (curve: (typeof drawn)[number]["curve"]) =>
    curve.one_in.map((oneIn, index) => [at(oneIn), at(curve.latency_ns[index] || 1)]);
  return {
    series: drawn.map(({ cell }) => cell.contender),
    subtitle: "ok responses of one round; each curve ends with its largest",
    zoom: "x",
    grid: { top: LEGEND + 24, bottom: 40 },
    table: {
      columns: ["contender", "percentile", "latency_ns", "verdict"],
      rows: drawn.flatMap(({ cell, curve }) =>
        curve.one_in.map((oneIn, index) => [
          cell.contender,
          Number((100 - 100 / oneIn).toPrecision(9)),
          curve.latency_ns[index] ?? null,
          cell.verdicts.latency,
        ]),
      ),
    },
    option: {
      tooltip: tooltip(theme, (params: { seriesName: string; value: [number, number] }[]) => {
        const place = params[0] ? percentileName(10 ** params[0].value[0]) : "";
        const line = (one: { seriesName: string; value: [number, number] }) =>
          `${one.seriesName}: ${duration(10 ** one.value[1])}`;
        return [place, ...params.map(line)].join("\n");
      }),
      xAxis: axis(theme, {
        type: "value",
        min: 0,
        max: at(most),
        ...nameOf("percentile", false),
        splitLine: { show: true, lineStyle: { color: theme.line } },
        axisTick: { show: false, customValues: MARKS.map(at) },
        axisLabel: {
          customValues: MARKS.map(at),
          formatter: (position: number) => percentileName(10 ** position),
        },
      }),
      yAxis: scale.axis,
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
