// What is compared: names, units and which way is better.

import { bytes, compact, digits, duration, ticks } from "./format.ts";
import type { Metric, NumberName, Report } from "./model.ts";

export interface MetricFacts {
  metric: Metric;
  /** Name in a heading. */
  title: string;
  /** Name on a button. */
  short: string;
  /** The verdict that it rests on. */
  number: NumberName;
  /** Whether more of it is better. */
  moreIsBetter: boolean;
  /** A value with its unit. */
  text: (value: number) => string;
  /** A value on an axis. */
  tick: (value: number) => string;
}

export const METRICS: MetricFacts[] = [
  {
    metric: "rate_per_s",
    title: "Requests per second",
    short: "req/s",
    number: "rate",
    moreIsBetter: true,
    text: (value) => `${digits(value)} req/s`,
    tick: compact,
  },
  {
    metric: "latency_p99_ns",
    title: "p99 latency",
    short: "p99",
    number: "latency",
    moreIsBetter: false,
    text: duration,
    tick: ticks,
  },
  {
    metric: "cpu_ns_per_request",
    title: "CPU per request",
    short: "CPU",
    number: "cpu",
    moreIsBetter: false,
    text: (ns) => `${digits(ns / 1e3)} µs`,
    tick: ticks,
  },
  {
    metric: "memory_peak_bytes",
    title: "Memory",
    short: "memory",
    number: "memory",
    moreIsBetter: false,
    text: bytes,
    tick: (value) => bytes(value).replace(".0 ", " "),
  },
];

/** The facts of a metric. */
export function factsOf(metric: Metric): MetricFacts {
  const found = METRICS.find((one) => one.metric === metric);
  if (!found) throw new Error(`no metric is called ${metric}`);
  return found;
}

/** What contenders are compared by at a load: in an open loop the load makes the rate. */
export function decidingAt(report: Report, load: string): Metric {
  const model = report.campaign.loads.find((one) => one.label === load)?.model;
  return model === "open" ? "latency_p99_ns" : "rate_per_s";
}
