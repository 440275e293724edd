// The first screen: which, by how much, and can it be trusted. What is said was judged by the
// report and put into words by its document; the page chooses where it stands.

import { chart } from "./charts/chart.ts";
import { fitting, forest, forestRows } from "./charts/forest.ts";
import { entries, type Line, linesOf, list, named, sections, spoken } from "./document.ts";
import { element } from "./dom.ts";
import { whole } from "./format.ts";
import { factsOf, type MetricFacts, METRICS } from "./metrics.ts";
import type { Metric, Report } from "./model.ts";
import {
  isPlain,
  type Mark,
  OPEN,
  pointText,
  type Ratio,
  ratiosTo,
  ratioText,
  suits,
} from "./ratios.ts";
import type { Selection } from "./selection.ts";
import { isPrinting } from "./theme.ts";

/** Below this width the screen is a phone's. */
const PHONE = 620;
/** Findings on the first screen; the others are folded. */
const FINDINGS = 2;

/** Letters from which a sentence is set smaller, so that the rest of the answer stays in sight. */
const LONG = 90;

/** The first screen. */
export function answer(selection: Selection): HTMLElement {
  const { report } = selection;
  const box = element("section", { class: "answer", "aria-label": "The answer" });
  box.append(findings(report), forestAndTiles(selection), trust(report));
  return box;
}

/** The most important sentence large, the next below it, the rest folded. */
function findings(report: Report): HTMLElement {
  const [[first, ...below] = [], ...more] = entries(linesOf(report, "findings"));
  const text = first?.text ?? "";
  const size = text.length > LONG ? "headline long" : "headline";
  const box = element("div", { class: "findings" }, element("h2", { class: size }, text));
  if (below.length > 0) box.append(list([below]));
  const narrow = window.innerWidth < PHONE;
  const warns = (one: Line[]): boolean => one[0]?.tone === "warning";
  // What warns stands last, and takes the room of what does not.
  const room = narrow ? 0 : FINDINGS;
  const warning = Math.min(room, more.filter(warns).length);
  const rooms = { other: room - warning, warning };
  const [open, folded]: [Line[][], Line[][]] = [[], []];
  for (const one of more) {
    (rooms[warns(one) ? "warning" : "other"]-- > 0 ? open : folded).push(one);
  }
  if (open.length > 0) box.append(list(open));
  if (folded.length > 0) {
    const careful = folded.filter(warns).length;
    const withCare = careful > 0 ? `, ${whole(careful)} to be careful with` : "";
    const words = `${whole(folded.length)} more${withCare}`;
    box.append(element("details", {}, element("summary", {}, words), list(folded)));
  }
  return box;
}

function forestAndTiles(selection: Selection): HTMLElement {
  const fold = new Fold(selection);
  const title = () => {
    const facts = factsOf(selection.choice.metric);
    const { baseline } = selection.choice;
    const plain = baseline === "" || window.innerWidth < PHONE;
    return plain ? facts.title : `${facts.title} against ${baseline}`;
  };
  const choices = element("div", { class: "choices" });
  const stops = "Rows of the chart: arrow keys choose one, Enter shows it below";
  const frame = { title, classes: "forest", ofCell: false, zooms: true, above: choices, stops };
  const plot = chart(selection, frame, forest(() => fold.limit()));
  plot.append(fold.button);
  const tiles = element("div", { class: "tiles" });
  let width = 0;
  const draw = () => {
    keepingFocus(choices, () =>
      choices.replaceChildren(baselines(selection), metricChoice(selection)),
    );
    const others = METRICS.filter((one) => one.metric !== "rate_per_s");
    keepingFocus(tiles, () =>
      tiles.replaceChildren(...others.map((facts) => tile(selection, facts))),
    );
    fold.update(width);
  };
  selection.watch(draw);
  new ResizeObserver(([entry]) => {
    if (!entry || entry.contentRect.width === width) return;
    width = entry.contentRect.width;
    fold.update(width);
  }).observe(plot);
  draw();
  return element("div", { class: "answer-grid" }, plot, tiles);
}

/** Rows that the first screen has no room for wait behind a button. */
class Fold {
  readonly button = element("button", { type: "button", class: "link more-rows" });
  private unfolded = false;

  constructor(private readonly selection: Selection) {
    this.button.addEventListener("click", () => {
      this.unfolded = !this.unfolded;
      selection.changed();
    });
  }

  /** Height that the chart may take; null for any, as on paper. */
  limit(): number | null {
    if (this.unfolded || isPrinting()) return null;
    return window.innerWidth < PHONE ? 310 : Math.max(320, window.innerHeight - 430);
  }

  /** Says what a click would do. */
  update(width: number): void {
    const all = forestRows(this.selection);
    const limit = this.limit();
    const cut = limit !== null && width > 0 && fitting(all, width, limit).length < all.length;
    this.button.hidden = !cut && !this.unfolded;
    const words = this.unfolded ? "Show fewer rows" : `Show all ${whole(all.length)} rows`;
    this.button.textContent = words;
  }
}

/** Redraws buttons and gives focus back to the one that had it. */
function keepingFocus(box: HTMLElement, draw: () => void): void {
  const active = document.activeElement;
  const key = active instanceof HTMLElement && box.contains(active) ? active.dataset["key"] : null;
  draw();
  if (!key) return;
  for (const one of box.querySelectorAll<HTMLElement>("[data-key]")) {
    if (one.dataset["key"] === key) one.focus({ preventScroll: true });
  }
}

function baselines(selection: Selection): HTMLElement {
  const group = element("div", { class: "choice", role: "group", "aria-label": "Baseline" });
  group.append(element("span", { class: "label", "aria-hidden": "true" }, "against"));
  const add = (value: string, face: string | HTMLElement) => {
    const pressed = String(selection.choice.baseline === value);
    const attributes = { type: "button", "aria-pressed": pressed, "data-key": `base-${value}` };
    const button = element("button", { ...attributes, "data-baseline": value }, face);
    button.addEventListener("click", () => selection.choose({ baseline: value }));
    group.append(button);
  };
  const compared = selection.report.comparisons.length > 0 ? selection.contenders() : [];
  for (const name of compared) add(name, named(name, "contender"));
  add("", "values");
  return group;
}

function metricChoice(selection: Selection): HTMLElement {
  const group = element("div", { class: "choice", role: "group", "aria-label": "Measure" });
  for (const facts of METRICS) {
    const pressed = String(selection.choice.metric === facts.metric);
    const attributes = { type: "button", "aria-pressed": pressed, "data-metric": facts.metric };
    const button = element(
      "button",
      { ...attributes, "data-key": `metric-${facts.metric}` },
      facts.short,
    );
    button.addEventListener("click", () => selection.choose({ metric: facts.metric }));
    group.append(button);
  }
  return group;
}

/** A metric at a glance: each contender's ratios over all cells; a click draws them. */
function tile(selection: Selection, facts: MetricFacts): HTMLElement {
  const { baseline, metric } = selection.choice;
  const attributes = { type: "button", class: "tile", "data-key": `tile-${facts.metric}` };
  const pressed = String(metric === facts.metric);
  const box = element("button", {
    ...attributes,
    "data-tile": facts.metric,
    "aria-pressed": pressed,
  });
  const title = element("span", { class: "tile-title" }, facts.title);
  const open = selection.report.campaign.loads.filter((load) => load.model === "open");
  const only = baseline !== "" && facts.number === "latency" && open.length > 0;
  const better = facts.moreIsBetter ? "more is better" : "less is better";
  title.append(element("small", {}, only ? `open loops; ${better}` : better));
  box.append(title);
  const own = baseline === "" ? selection.contenders() : [baseline];
  for (const name of own) {
    const line = valuesLine(selection, facts, name, baseline !== "");
    if (baseline !== "") line.classList.add("is-base");
    box.append(line);
  }
  if (baseline !== "") {
    const { found, shownOnly } = comparedIn(selection, baseline, facts.metric);
    for (const name of selection.contenders()) {
      const its = found.filter((one) => one.contender === name);
      if (its.length > 0) box.append(ratioLine(name, its, shownOnly));
    }
    if (found.length === 0) box.append(element("small", {}, "nothing to compare"));
  }
  box.addEventListener("click", () => selection.choose({ metric: facts.metric }));
  return box;
}

/** What was compared; where nothing was, what is only shown. */
function comparedIn(selection: Selection, baseline: string, metric: Metric) {
  const found = ratiosTo(selection.report, baseline, metric).filter(
    (one) => selection.contenders().includes(one.contender),
  );
  const compared = found.filter((one) => one.mark !== "uncompared");
  return { found: compared.length > 0 ? compared : found, shownOnly: compared.length === 0 };
}

function ratioLine(name: string, its: Ratio[], shownOnly: boolean): HTMLElement {
  const byPoint = [...its].sort((one, other) => one.point - other.point);
  const [low = "", high = ""] = [byPoint[0], byPoint.at(-1)].map((one) => one && pointText(one));
  const [only] = its;
  const range = low === high ? low : `${low.replace("×", "")} to ${high}`;
  const value = its.length === 1 && only ? ratioText(only) : range;
  // What is only shown is said where there is room for nothing else, too.
  const classes = shownOnly ? "tile-line is-only-shown" : "tile-line";
  const line = element("span", { class: classes }, named(name, "contender"));
  line.append(element("b", {}, value), element("small", {}, tally(its, shownOnly)));
  return line;
}

/** In how many cells it is more and in how many less, and what of that is not proven. */
function tally(its: Ratio[], shownOnly: boolean): string {
  if (shownOnly) return "shown, not compared";
  const parts: string[] = [];
  const add = (mark: Mark, words: string) => {
    const found = its.filter((one) => one.mark === mark);
    if (found.length === 0) return;
    const plain = found.filter(isPlain).length;
    const all = plain === found.length ? " (not proven)" : ` (${plain} not proven)`;
    parts.push(`${words} ${found.length}${plain === 0 ? "" : all}`);
  };
  add("more", "^ more in");
  add("less", "v less in");
  add("equal", "equal in");
  add("open", `${OPEN} not decided in`);
  if (parts.length === 0) parts.push("no difference shown");
  const cells = its.length === 1 ? "1 cell" : `${its.length} cells`;
  return `${parts.join(", ")} of ${cells}`;
}

/** The values themselves over all cells, from the least to the most. */
function valuesLine(
  selection: Selection,
  facts: MetricFacts,
  name: string,
  asBase: boolean,
): HTMLElement {
  const suited = suits(selection.report, facts.metric);
  const cells = selection.report.cells.filter(
    (cell) => cell.contender === name && (!asBase || suited(cell)),
  );
  const points = cells.flatMap((cell) => cell.estimates[facts.metric]?.point ?? []);
  const line = element("span", { class: "tile-line" }, named(name, "contender"));
  if (points.length === 0) {
    line.append(element("b", {}, "–"));
    return line;
  }
  const [low, high] = [Math.min(...points), Math.max(...points)];
  const [from, to] = [facts.text(low), facts.text(high)];
  const [number = "", unit = ""] = from.split(" ");
  const start = to.endsWith(` ${unit}`) ? number : from;
  line.append(element("b", {}, from === to ? from : `${start} to ${to}`));
  if (asBase) line.append(element("small", {}, "= 1, the baseline"));
  return line;
}

/** How far to trust it: a line for each number, with what else weakens it folded. */
function trust(report: Report): HTMLElement {
  const { next, record, trust } = report.answer;
  const lines = linesOf(report, "trust");
  const numbers = lines.slice(0, trust.numbers.length);
  const reasons = lines.slice(numbers.length);
  const title = sections(report, "trust")[0]?.title ?? "";
  // In a summary there is room for phrases alone.
  const said = numbers.map((one) => element("span", { class: "trusted" }, ...spoken(one)));
  const line = element("summary", {}, element("b", {}, title), ...said);
  const box = element("details", { class: "trust" }, line);
  box.append(reasons.length > 0 ? list(entries(reasons)) : "No check found a reason for doubt.");
  if (next.length > 0) {
    const withRecord = (line: string) => (record ? line.replace("RECORD", quoted(record)) : line);
    const where = record ? `in the folder that holds ${record}` : "RECORD is the record folder";
    const lines = next.map((one) => element("pre", { tabindex: "0" }, withRecord(one)));
    box.append(element("p", {}, "Next, ", where, ":"), ...lines);
  }
  return box;
}

/** A name as a shell takes it. */
function quoted(name: string): string {
  return /^[\w./@%:+-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}
