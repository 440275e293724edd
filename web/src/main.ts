// The report's page, put together. It asks nothing of any server: all it shows is in the file.

import "./style.css";
import { answer } from "./answer.ts";
import { surroundings } from "./campaign.ts";
import { chart, type Draw } from "./charts/chart.ts";
import { errorDots, rateDots, requestDots } from "./charts/counts.ts";
import { percentileCurve } from "./charts/curve.ts";
import { latencyDots } from "./charts/latency.ts";
import { memoryOverTime, processorsOverTime, rateOverTime } from "./charts/time.ts";
import { legend, tabs } from "./controls.ts";
import { parts, type Section, sections } from "./document.ts";
import { element, section } from "./dom.ts";
import { whole } from "./format.ts";
import { follow } from "./hash.ts";
import { readReport, type Report } from "./model.ts";
import { printWhole } from "./print.ts";
import { Selection } from "./selection.ts";
import { type Group, groups, tablesOf } from "./tables.ts";
import { apply, paint, toggleTheme } from "./theme.ts";
import { trialList } from "./trials.ts";

function header(report: Report): HTMLElement {
  const { campaign: run } = report;
  const button = element("button", { type: "button", id: "theme", class: "theme" }, "Light / dark");
  button.addEventListener("click", toggleTheme);
  const { host, cpus, kernel, started_at } = run.machine;
  const started = started_at.replace(/\.\d+/, "");
  const machine = `${host}, ${cpus} CPUs, Linux ${kernel}, ${started}`;
  const title = element("h1", {}, element("span", { class: "brand" }, "bakeoff"), ` ${run.name}`);
  const subtitle = element("p", { class: "muted" }, machine);
  return element("header", {}, title, subtitle, button);
}

function tables(selection: Selection, all: Group[]): HTMLElement {
  const box = element("div", { id: "table" });
  const draw = () => {
    const { workload, load } = selection;
    const chosen = all.find(({ rows: [first] }) => {
      const cell = first?.[1];
      return cell?.workload === workload && cell.load === load;
    });
    box.replaceChildren(...(chosen ? tablesOf(selection, chosen, chosen.title) : []));
  };
  selection.watch(draw);
  draw();
  return box;
}

function results(selection: Selection, all: Group[]): HTMLElement {
  const { caption } = selection.report.campaign;
  const words = `${caption} Click a heading to sort; pale numbers are not valid.`;
  const bar = element("div", { class: "bar" }, tabs(selection), legend(selection));
  const framed = (title: string, classes: string, zooms: boolean, draw: Draw) =>
    chart(selection, { title, classes, ofCell: true, zooms }, draw);
  const charts = element(
    "div",
    { class: "charts" },
    framed("Latency", "wide", true, latencyDots),
    element(
      "div",
      { class: "stack" },
      framed("Requests/s", "short", false, rateDots),
      framed("Requests", "short", false, requestDots),
      framed("Errors", "short", false, errorDots),
    ),
    framed("Latency by percentile", "half", true, percentileCurve),
    framed("Requests/s over time", "half", true, rateOverTime),
    framed("CPU over time", "half", true, processorsOverTime),
    framed("Memory over time", "half", true, memoryOverTime),
  );
  const box = section(
    "Results",
    bar,
    tables(selection, all),
    element("p", { class: "muted" }, words),
    charts,
  );
  box.id = "results";
  // Rows of the first chart bring the focus here; it is no stop of its own.
  box.tabIndex = -1;
  return box;
}

/** Every table of the cells, for printing and searching. */
function allTables(selection: Selection, all: Group[]): HTMLElement {
  const body = element("div");
  let drawn = "";
  const redraw = () => {
    const { sort, baseline } = selection.choice;
    if (drawn === `/${sort}/${baseline}`) return;
    drawn = `/${sort}/${baseline}`;
    const label = ({ title }: Group) => `${title} (all tables)`;
    body.replaceChildren(...all.flatMap((one) => tablesOf(selection, one, label(one))));
  };
  // Not before the first screen is there.
  later(() => {
    selection.watch(redraw);
    redraw();
  });
  return element("details", { id: "all-tables" }, element("summary", {}, "All tables"), body);
}

/** Does what is below the first screen once that is drawn. */
function later(work: () => void): void {
  requestAnimationFrame(() => setTimeout(work));
}

/** Sections of the document that stand as they are. */
function plain(report: Report, name: string, heading?: string): HTMLElement | null {
  const [first, ...more] = sections(report, name);
  if (!first) return null;
  const id = name === "notes" ? (place: number) => `note-${place + 1}` : undefined;
  const bodies = [first, ...more].flatMap((one) => parts(one, id));
  return section(heading ?? first.title, ...bodies);
}

/** The same, each folded; what warns stands open. */
function folded(report: Report, name: string, heading: string): HTMLElement | null {
  const all = sections(report, name);
  const fold = (one: Section) => {
    const rows = one.parts.flatMap((part) => part.table?.rows ?? []).length;
    const title = one.title === heading ? `${whole(rows)} rows` : one.title;
    const box = element("details", {}, element("summary", {}, title), ...parts(one));
    box.open = one.parts.some((part) => part.lines?.some((line) => line.tone === "warning"));
    return box;
  };
  return all.length === 0 ? null : section(heading, ...all.map(fold));
}

function start(report: Report): void {
  document.title = `bakeoff: ${report.campaign.name}`;
  paint(report);
  const selection = new Selection(report);
  const cells = groups(report);
  const page = document.getElementById("page");
  const all = [
    header(report),
    answer(selection),
    plain(report, "cautions"),
    plain(report, "published"),
    folded(report, "published-ratios", "Published ratios"),
    plain(report, "ratios", "Overview"),
    results(selection, cells),
    folded(report, "comparisons", "Comparisons"),
    folded(report, "equal-work", "Equal work"),
    plain(report, "configurations"),
    plain(report, "links"),
    plain(report, "notes"),
    plain(report, "lost"),
    section(
      "Trials",
      element("p", { class: "muted" }, "Of the workload and load chosen above."),
      trialList(selection),
    ),
    section("Tables", allTables(selection, cells)),
    surroundings(report),
  ];
  page?.append(...all.filter((part) => part !== null));
  printWhole();
  apply();
  follow(selection, () => document.getElementById("results")?.scrollIntoView({ block: "start" }));
}

const report = readReport();
if (report) {
  start(report);
} else {
  document
    .getElementById("page")
    ?.append(element("p", {}, "This page carries no record that it can read."));
}
