// The report's page, put together. It asks nothing of any server: all it shows is in the file.

import "./style.css";
import { answer } from "./answer.ts";
import * as campaign from "./campaign.ts";
import { chart, type Draw } from "./charts/chart.ts";
import { errorDots, rateDots, requestDots } from "./charts/counts.ts";
import { percentileCurve } from "./charts/curve.ts";
import { cellKeys } from "./charts/forest.ts";
import { latencyDots } from "./charts/latency.ts";
import { memoryOverTime, processorsOverTime, rateOverTime } from "./charts/time.ts";
import { legend, tabs } from "./controls.ts";
import { element, section } from "./dom.ts";
import { configurations, equalWork } from "./equal.ts";
import { follow } from "./hash.ts";
import { h2loadTable } from "./h2load.ts";
import { links } from "./links.ts";
import { type Cell, readReport, type Report } from "./model.ts";
import { Selection } from "./selection.ts";
import { summary } from "./summary.ts";
import { mainTable, overview, remarks } from "./tables.ts";
import { printWhole } from "./print.ts";
import { apply, paint, toggleTheme } from "./theme.ts";
import { trialList } from "./trials.ts";
import { vegetaTable } from "./vegeta.ts";

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

/** The tables of the cells of one workload and load. */
function tablesOf(selection: Selection, cells: Cell[], title: string): HTMLElement[] {
  const peers = [h2loadTable(cells), vegetaTable(cells, selection.report.differences)];
  const parts = [mainTable(selection, cells, title), remarks(cells), ...peers];
  return parts.filter((part) => part !== null);
}

function tables(selection: Selection): HTMLElement {
  const box = element("div", { id: "table" });
  const draw = () => {
    const { workload, load } = selection;
    const cells = selection.cells();
    const title = `${workload}, ${selection.title(load)}`;
    box.replaceChildren(...tablesOf(selection, cells, title));
  };
  selection.watch(draw);
  draw();
  return box;
}

function results(selection: Selection): HTMLElement {
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
    tables(selection),
    element("p", { class: "muted" }, words),
    charts,
  );
  box.id = "results";
  // Rows of the first chart bring the focus here; it is no stop of its own.
  box.tabIndex = -1;
  return box;
}

/** Every table of the campaign, for printing and searching. */
function allTables(selection: Selection): HTMLElement {
  const { report } = selection;
  const box = element("details", { id: "all-tables" }, element("summary", {}, "All tables"));
  const body = element("div");
  const draw = () => {
    const parts = cellKeys(report).flatMap(({ workload, load }) => {
      const cells = report.cells.filter((it) => it.workload === workload && it.load === load);
      return tablesOf(selection, cells, `${workload}, ${selection.title(load)} (all tables)`);
    });
    body.replaceChildren(...parts);
  };
  let drawn = "";
  const redraw = () => {
    const { sort, baseline } = selection.choice;
    if (drawn !== `/${sort}/${baseline}`) draw();
    drawn = `/${sort}/${baseline}`;
  };
  // Not before the first screen is there.
  later(() => {
    selection.watch(redraw);
    redraw();
  });
  box.append(body);
  return box;
}

/** Does what is below the first screen once that is drawn. */
function later(work: () => void): void {
  requestAnimationFrame(() => setTimeout(work));
}

function start(report: Report): void {
  document.title = `bakeoff: ${report.campaign.name}`;
  paint(report);
  const selection = new Selection(report);
  const page = document.getElementById("page");
  const parts = [
    header(report),
    answer(selection),
    summary(report),
    section("Overview", overview(selection)),
    results(selection),
    campaign.comparisons(report),
    equalWork(report),
    configurations(report),
    links(report),
    campaign.notes(report),
    campaign.lost(report),
    section(
      "Trials",
      element("p", { class: "muted" }, "Of the workload and load chosen above."),
      trialList(selection),
    ),
    section("Tables", allTables(selection)),
    campaign.surroundings(report),
  ];
  page?.append(...parts.filter((part) => part !== null));
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
