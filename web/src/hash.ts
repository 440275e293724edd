// The choice in the address: a link opens the page at what its sender was looking at. Only what
// differs from the start is in it, so that a page just opened has a plain address.

import type { Metric } from "./model.ts";
import { METRICS } from "./metrics.ts";
import type { Choice, Selection } from "./selection.ts";

/** The choice as the part of an address after `#`. */
export function written(selection: Selection): string {
  const { choice, start, hidden, references } = selection;
  const parts = new URLSearchParams();
  // A cell is named by both, so that the link means the same in a longer report.
  if (choice.workload !== start.workload || choice.load !== start.load || choice.contender) {
    parts.set("workload", choice.workload);
    parts.set("load", choice.load);
  }
  for (const key of ["contender", "baseline", "metric", "sort"] as const) {
    if (choice[key] !== start[key]) parts.set(key, choice[key] || "none");
  }
  if (choice.round !== null) parts.set("round", String(choice.round));
  const hides = [...hidden].filter((name) => !references.has(name));
  const shows = [...references].filter((name) => !hidden.has(name));
  for (const name of hides) parts.append("hide", name);
  for (const name of shows) parts.append("show", name);
  return parts.toString();
}

/** Takes the choice from an address; whether it names a cell. */
export function read(selection: Selection, hash: string): boolean {
  const parts = new URLSearchParams(hash.replace(/^#/, ""));
  const known = ["workload", "load", "contender", "baseline", "metric", "sort", "round"];
  if (![...known, "hide", "show"].some((key) => parts.has(key))) return false;
  const { start, references, hidden } = selection;
  const change: Choice = { ...start };
  for (const key of ["workload", "load", "contender", "sort"] as const) {
    change[key] = parts.get(key) ?? start[key];
  }
  const baseline = parts.get("baseline") ?? start.baseline;
  change.baseline = selection.contenders().includes(baseline) ? baseline : "";
  const metric = parts.get("metric");
  if (METRICS.some((one) => one.metric === metric)) change.metric = metric as Metric;
  const round = Number(parts.get("round"));
  change.round = Number.isInteger(round) && round > 0 ? round : null;
  hidden.clear();
  for (const name of references) hidden.add(name);
  for (const name of parts.getAll("hide")) hidden.add(name);
  for (const name of parts.getAll("show")) hidden.delete(name);
  selection.choose(change);
  return parts.has("workload");
}

/** Keeps the address and the choice the same; `opened` is called when an address names a cell. */
export function follow(selection: Selection, opened: () => void): void {
  const take = () => {
    if (read(selection, window.location.hash)) opened();
  };
  take();
  let last = written(selection);
  selection.watch(() => {
    const now = written(selection);
    if (now === last) return;
    last = now;
    const address = window.location.href.split("#")[0] ?? "";
    window.history.replaceState(null, "", now === "" ? address : `${address}#${now}`);
  });
  window.addEventListener("hashchange", take);
}
