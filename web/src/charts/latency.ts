// The latency statistics, a column for each, in it a dot with its interval for each contender.

import { duration, ticks } from "../format.ts";
import { colours } from "../theme.ts";
import { axis, type Draw, type Drawing, LEGEND, opacity, paleWord, tooltip } from "./chart.ts";
import { at, logScale, nameOf } from "./scale.ts";
import { shifts, whiskers } from "./whiskers.ts";

const STATISTICS: [string, string][] = [
  ["min", "latency_min_ns"],
  ["p50", "latency_p50_ns"],
  ["mean", "latency_mean_ns"],
  ["p90", "latency_p90_ns"],
  ["p95", "latency_p95_ns"],
  ["p99", "latency_p99_ns"],
  ["max", "latency_max_ns"],
];

export const latencyDots: Draw = (selection, theme, width) => {
  const colour = colours(selection.report);
  const cells = selection.shown().filter((cell) => cell.estimates["latency_p50_ns"]);
  const found = cells.flatMap((cell) =>
    STATISTICS.map(([title, measure], column) => {
      const estimate = cell.estimates[measure];
      const bound = estimate ? undefined : cell.at_least?.[measure];
      return { cell, title, column, estimate: estimate ?? null, bound: bound ?? null };
    }),
  );
  const values = found.flatMap(({ estimate, bound }) =>
    estimate ? [estimate.point, estimate.low, estimate.high] : bound === null ? [] : [bound],
  );
  const scale = logScale(theme, values, ticks, { name: "latency, log scale", vertical: true });
  const places = shifts(cells.length, (width / STATISTICS.length) * 0.7);
  return {
    series: cells.map((cell) => cell.contender),
    subtitle: `ok responses, median over rounds with its interval${paleWord(cells, "latency")}`,
    zoom: "y",
    grid: { top: LEGEND + 24, bottom: 24 },
    table: tableOf(found),
    option: {
      tooltip: tooltip(
        theme,
        (params: { axisValueLabel?: string }[]) => {
          const title = params[0]?.axisValueLabel ?? "";
          const lines = found.filter((one) => one.title === title).map(line);
          return [title, ...lines].join("\n");
        },
        { axisPointer: { type: "shadow", shadowStyle: { opacity: 0.12 } } },
      ),
      xAxis: axis(theme, {
        type: "category",
        data: STATISTICS.map(([name]) => name),
        splitLine: { show: false },
        axisLabel: { hideOverlap: false, interval: 0, fontSize: 12, color: theme.text },
      }),
      yAxis: { ...scale.axis, ...nameOf("latency, log scale", true) },
      series: cells.map((cell, index) =>
        whiskers(theme, {
          name: cell.contender,
          colour: colour.get(cell.contender) ?? "",
          horizontal: false,
          shift: places[index] ?? 0,
          data: found
            .filter((one) => one.cell === cell && (one.estimate !== null || one.bound !== null))
            .map(({ column, estimate, bound }) => ({
              across: column,
              point: at(estimate?.point ?? bound ?? 1),
              low: at(estimate?.low ?? bound ?? 1),
              high: at(estimate?.high ?? bound ?? 1),
              bound: estimate ? null : "at-least",
              opacity: opacity(cell, "latency"),
            })),
        }),
      ),
    },
  };
};

interface Found {
  cell: { contender: string; verdicts: { latency: string } };
  title: string;
  estimate: { point: number; low: number; high: number; n: number } | null;
  bound: number | null;
}

function tableOf(found: Found[]): Drawing["table"] {
  const measures = ["ns", "low_ns", "high_ns", "rounds", "at_least_ns"];
  return {
    columns: ["contender", "statistic", ...measures, "verdict"],
    rows: found.map(({ cell, title, estimate, bound }) => {
      // One round has no interval.
      const ranged = estimate && estimate.n > 1 ? estimate : null;
      return [
        cell.contender,
        title,
        estimate?.point ?? null,
        ranged?.low ?? null,
        ranged?.high ?? null,
        estimate?.n ?? null,
        bound,
        cell.verdicts.latency,
      ];
    }),
  };
}

function line({ cell, estimate, bound }: Found): string {
  if (!estimate) return `${cell.contender}: ${bound === null ? "–" : `≥ ${duration(bound)}`}`;
  const range = `${duration(estimate.low)} to ${duration(estimate.high)}`;
  const of = estimate.n > 1 ? ` (${range}, ${estimate.n} rounds)` : "";
  return `${cell.contender}: ${duration(estimate.point)}${of}`;
}
