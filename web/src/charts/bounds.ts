// What a saved table says of a value beside it: whether it is a bound, and what its interval is.

import type { Ranged } from "../ratios.ts";

/** Names of the columns. */
export const BOUND_COLUMNS = ["bound", "low", "high"];

/** What is in them: of a bound the end on its open side is not known, and one round has none. */
export function bounded(
  one: Pick<Ranged, "low" | "high" | "n" | "bound">,
): (string | number | null)[] {
  const low = one.bound === "at-most" || one.n < 2 ? null : one.low;
  const high = one.bound === "at-least" || one.n < 2 ? null : one.high;
  const signs = { "at-least": ">=", "at-most": "<=" };
  return [one.bound === null ? null : signs[one.bound], low, high];
}
