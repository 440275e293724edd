// Logarithmic axes whose marks are where people look for them: 1, 2, 5, 10, and finer where an
// axis spans little. Charts get logarithms on a plain axis; only its labels are powers again.

import type { Theme } from "../theme.ts";
import { axis } from "./chart.ts";

/** A logarithmic axis and the positions of values on it. */
export interface LogScale {
  axis: object;
  min: number;
  max: number;
}

const FINE = [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9];
const MIDDLE = [1, 1.5, 2, 3, 5, 7];
const COARSE = [1, 2, 5];
const DECADES = [1];

/** Where a value is on a logarithmic axis. */
export const at = Math.log10;

/** An axis that holds the values with a little room, marked by `tick`. */
export function logScale(
  theme: Theme,
  values: number[],
  tick: (value: number) => string,
  more: { name?: string; room?: number; vertical?: boolean } = {},
): LogScale {
  const positive = values.filter((value) => value > 0 && Number.isFinite(value)).map(at);
  const low = positive.length > 0 ? Math.min(...positive) : 0;
  const high = positive.length > 0 ? Math.max(...positive) : 1;
  const room = Math.max((high - low) * (more.room ?? 0.06), 0.015);
  const [min, max] = [low - room, high + room];
  const marks = marksBetween(min, max);
  return {
    min,
    max,
    axis: axis(theme, {
      type: "value",
      min,
      max,
      ...(more.name === undefined ? {} : nameOf(more.name, more.vertical ?? false)),
      axisTick: { show: false, customValues: marks },
      axisLabel: {
        customValues: marks,
        formatter: (position: number) => tick(10 ** position),
        showMinLabel: true,
        showMaxLabel: true,
      },
      splitLine: { show: true, lineStyle: { color: theme.line } },
    }),
  };
}

/** A name beside an axis: above a vertical one, below a horizontal one. */
export function nameOf(name: string, vertical: boolean): object {
  return vertical
    ? { name, nameLocation: "end", nameGap: 8, nameTextStyle: { align: "left", padding: 0 } }
    : { name, nameLocation: "middle", nameGap: 24 };
}

function marksBetween(min: number, max: number): number[] {
  const span = max - min;
  const steps = span > 4 ? DECADES : span > 1.1 ? COARSE : span > 0.5 ? MIDDLE : FINE;
  const marks: number[] = [];
  for (let decade = Math.floor(min); decade <= Math.ceil(max); decade += 1) {
    for (const step of steps) {
      const mark = decade + at(step);
      if (mark >= min && mark <= max) marks.push(mark);
    }
  }
  return marks;
}
