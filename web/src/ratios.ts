// Comparisons seen from any baseline. The report holds each pair once; seen from the other side a
// ratio is inverted, and with it its interval, its bound and its conclusion. Nothing is judged
// here.

import { times } from "./format.ts";
import type { Comparison, Metric, Report } from "./model.ts";

/** What a comparison came to, from the baseline's side; `open` is what more rounds may decide. */
export type Mark = "more" | "less" | "equal" | "none" | "open" | "uncompared";

/** A contender's figure with its interval, over so many rounds. */
export interface Ranged {
  contender: string;
  point: number;
  low: number;
  high: number;
  n: number;
  /** The side on which it is only a bound. */
  bound: "at-least" | "at-most" | null;
}

export interface Ratio extends Ranged {
  workload: string;
  load: string;
  mark: Mark;
  /** Whether the mark is shown by enough rounds, and not only plain. */
  proven: boolean;
  /** Differences up to this share are noise. */
  floor: number;
  /** How the work of the two differs: possible causes. */
  unequal: string[];
}

/** The sign of what more rounds would decide. */
export const OPEN = "~";
/** Marks as the terminal prints them, for eyes. */
const SIGNS: Record<Mark, string> = {
  more: "^",
  less: "v",
  equal: "=",
  none: "",
  open: OPEN,
  uncompared: "",
};
/** The same for ears. */
const NAMES: Record<Mark, string> = {
  more: "more",
  less: "less",
  equal: "equal",
  none: "no difference shown",
  open: "not decided, needs more rounds",
  uncompared: "shown, not compared",
};

/** Whether a metric means something at a load, as latency does in open loops; others distract. */
export function suits(report: Report, metric: Metric) {
  const rows = report.answer.tables.find((one) => one.metric === metric)?.rows;
  return (cell: { workload: string; load: string }) =>
    rows?.some((row) => row.workload === cell.workload && row.load === cell.load) ?? true;
}

/** All comparisons of a metric against a baseline, in the order of the cells. */
export function ratiosTo(report: Report, baseline: string, metric: Metric): Ratio[] {
  const found: Ratio[] = [];
  const suited = suits(report, metric);
  for (const one of report.comparisons) {
    if (one.metric !== metric || one.ratio === null || !suited(one)) continue;
    if (one.first === baseline) found.push(seen(one, one.second, false));
    else if (one.second === baseline) found.push(seen(one, one.first, true));
  }
  return found;
}

function seen(one: Comparison, contender: string, inverted: boolean): Ratio {
  const { point, low, high, n } = one.ratio ?? { point: 1, low: 1, high: 1, n: 0 };
  const { bound } = one;
  const { mark, proven } = markOf(one);
  const ratio = { workload: one.workload, load: one.load, contender, n, proven };
  const unequal = one.basis.unequal.map((check) => check.text);
  const rest = { floor: one.floor, unequal };
  if (!inverted) return { ...ratio, ...rest, point, low, high, bound, mark };
  const across = { more: "less", less: "more" } as const;
  const sides = { "at-least": "at-most", "at-most": "at-least" } as const;
  return {
    ...ratio,
    ...rest,
    point: 1 / point,
    low: 1 / high,
    high: 1 / low,
    bound: bound === null ? null : sides[bound],
    mark: mark === "more" || mark === "less" ? across[mark] : mark,
  };
}

function markOf(one: Comparison): { mark: Mark; proven: boolean } {
  const name = one.conclusion;
  if (name === "higher") return { mark: "more", proven: true };
  if (name === "lower") return { mark: "less", proven: true };
  if (name === "equal") return { mark: "equal", proven: true };
  if (name === "plain-not-proven") {
    return { mark: pointOf(one) > 1 ? "more" : "less", proven: false };
  }
  if (name === "no-difference-shown") return { mark: "none", proven: false };
  return { mark: name === "cannot-tell" ? "open" : "uncompared", proven: false };
}

function pointOf(one: Comparison): number {
  return one.ratio?.point ?? 1;
}

/** `≥ 1.85×`. */
export function pointText(ratio: Ratio): string {
  const bound = { "at-least": "≥ ", "at-most": "≤ " };
  return `${ratio.bound === null ? "" : bound[ratio.bound]}${times(ratio.point)}×`;
}

/** `0.16× (0.14 to 0.18)`. */
export function ratioText(ratio: Ratio): string {
  if (ratio.n < 2) return pointText(ratio);
  return `${pointText(ratio)} (${times(ratio.low)} to ${times(ratio.high)})`;
}

/** Whether a difference is plain and more rounds would have to prove it. */
export function isPlain(ratio: Ratio): boolean {
  return !ratio.proven && (ratio.mark === "more" || ratio.mark === "less");
}

/** The sign after a ratio, which it has in the terminal too: ^, v, =, ~ or nothing. */
export function sign(ratio: Ratio): string {
  return isPlain(ratio) ? OPEN : SIGNS[ratio.mark];
}

/** What a ratio came to, as text. */
export function markText(ratio: Ratio): string {
  return isPlain(ratio) ? `${NAMES[ratio.mark]}, plain but not proven` : NAMES[ratio.mark];
}
