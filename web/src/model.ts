// The report as the page reads it. Types are made from its JSON Schema (types.mjs); here they get
// the names that the page uses.

import type { Cell, Comparison, Report as Model, Sentence } from "../made/schema.ts";
import type { Section } from "./document.ts";
import { unpack } from "./unpack.ts";

export type {
  Cell,
  Check,
  Comparison,
  Estimate,
  Trial,
} from "../made/schema.ts";

/** The view model, and what was drawn from it. */
export type Report = Model & { document: { title: string; sections: Section[] } };
export type Metric = Comparison["metric"];
export type NumberName = keyof Cell["verdicts"];
export type Tone = Sentence["tone"];

/** Reads the record out of the page; null when the page carries none. */
export function readReport(): Report | null {
  const text = document.getElementById("record")?.textContent ?? "null";
  const report = unpack(JSON.parse(text)) as Report | null;
  return report?.schema === "bakeoff.report/1" ? report : null;
}
