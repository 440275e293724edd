// The report as the page reads it. Types are made from its JSON Schema (types.mjs); here they get
// the names that the page uses.

import type { Cell, Comparison, Finding, Report, Sentence } from "../made/schema.ts";
import { unpack } from "./unpack.ts";

export type {
  Cell,
  Check,
  Comparison,
  ConfigChanges,
  ConfigDiff,
  Difference,
  Equivalence,
  Estimate,
  Finding,
  H2Load,
  Inequality,
  Level,
  Link,
  Report,
  Server,
  Spread,
  Trial,
  Vegeta,
  Weakness,
} from "../made/schema.ts";

export type Grade = Finding["grade"];
export type Metric = Comparison["metric"];
export type NumberName = keyof Cell["verdicts"];
export type Tone = Sentence["tone"];
export type VerdictName = Cell["verdict"]["verdict"];

/** Reads the record out of the page; null when the page carries none. */
export function readReport(): Report | null {
  const text = document.getElementById("record")?.textContent ?? "null";
  const report = unpack(JSON.parse(text)) as Report | null;
  return report?.schema === "bakeoff.report/1" ? report : null;
}
