// The report's page, put together. It asks nothing of any server: all it shows is in the file.

import "./style.css";
import * as campaign from "./campaign.ts";
import { latencyBars } from "./charts/bars.ts";
import { chart } from "./charts/chart.ts";
import { errorBars, rateBars, requestBars } from "./charts/counts.ts";
import { percentileCurve } from "./charts/curve.ts";
import { memoryOverTime, processorsOverTime, throughputOverTime } from "./charts/time.ts";
import { legend, tabs } from "./controls.ts";
import { element, section } from "./dom.ts";
import { configurations, equalWork } from "./equal.ts";
import { h2loadTable } from "./h2load.ts";
import { type Cell, readReport, type Report } from "./model.ts";
import { Selection } from "./selection.ts";
import { summary } from "./summary.ts";
import { mainTable, overview, remarks } from "./tables.ts";
import { apply, colours, onTheme, toggleTheme } from "./theme.ts";
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
  return element(
    "header",
    {},
    element(
      "div",
      {},
      title,
      element("p", {}, run.description),
      element("p", { class: "muted" }, machine),
    ),
    button,
  );
}

/** What the cells of one workload and load are told by. */
function tablesOf(report: Report, cells: Cell[], title: string): HTMLElement[] {
  const peers = [h2loadTable(cells), vegetaTable(cells, report.differences)];
  const parts = [mainTable(cells, title), remarks(cells), ...peers];
  return parts.filter((part) => part !== null);
}

function tables(selection: Selection): HTMLElement {
  const box = element("div", { id: "table" });
  const draw = () => {
    const { workload, load } = selection;
    const title = selection.report.campaign.loads.find((one) => one.label === load)?.title ?? load;
    const cells = selection.cells();
    box.replaceChildren(...tablesOf(selection.report, cells, `${workload}, ${title}`));
    paint(selection.report);
  };
  selection.watch(draw);
  draw();
  return box;
}

function results(selection: Selection): HTMLElement {
  const { campaign: run } = selection.report;
  const rounds = run.rounds === 1 ? "of one round" : `the median of ${run.rounds} rounds`;
  const caption = [
    `Each number is ${rounds}, with a fresh server each; `,
    `low to high is the ${run.interval.text}. Latencies are of ok responses only. `,
    "Requests are of one round, errors of all.",
  ].join("");
  const bar = element("div", { class: "bar" }, tabs(selection), legend(selection));
  const charts = element(
    "div",
    { class: "charts" },
    chart(selection, "Latency", "wide", latencyBars),
    element(
      "div",
      { class: "stack" },
      chart(selection, "Throughput", "short", rateBars),
      chart(selection, "Requests", "short", requestBars),
      chart(selection, "Errors", "short", errorBars),
    ),
    chart(selection, "Latency by percentile", "half", percentileCurve),
    chart(selection, "Throughput over time", "half", throughputOverTime),
    chart(selection, "CPU over time", "half", processorsOverTime),
    chart(selection, "Memory over time", "half", memoryOverTime),
  );
  const box = section(
    "Results",
    bar,
    tables(selection),
    element("p", { class: "muted" }, caption),
    charts,
  );
  box.id = "results";
  return box;
}

/** Every table of the campaign, for printing and searching. */
function allTables(report: Report): HTMLElement {
  const box = element("details", { id: "all-tables" }, element("summary", {}, "All tables"));
  const keys = new Set(report.cells.map((cell) => `${cell.workload}\n${cell.load}`));
  for (const key of keys) {
    const cells = report.cells.filter((cell) => `${cell.workload}\n${cell.load}` === key);
    const load = report.campaign.loads.find((one) => one.label === cells[0]?.load);
    const title = `${cells[0]?.workload ?? ""}, ${load?.title ?? cells[0]?.load ?? ""}`;
    box.append(...tablesOf(report, cells, title));
  }
  return box;
}

/** Gives every swatch the colour of its contender in the theme in force. */
function paint(report: Report): void {
  const colour = colours(report);
  for (const swatch of document.querySelectorAll<HTMLElement>(".swatch")) {
    swatch.style.background = colour.get(swatch.dataset["contender"] ?? "") ?? "";
  }
}

function start(report: Report): void {
  document.title = `bakeoff: ${report.campaign.name}`;
  const selection = new Selection(report);
  const page = document.getElementById("page");
  const parts = [
    header(report),
    summary(report),
    section("Overview", overview(selection)),
    results(selection),
    campaign.comparisons(report),
    equalWork(report),
    configurations(report),
    campaign.notes(report),
    campaign.lost(report),
    section(
      "Trials",
      element("p", { class: "muted" }, "Of the workload and load chosen above."),
      trialList(selection),
    ),
    section("Tables", allTables(report)),
    campaign.surroundings(report),
  ];
  page?.append(...parts.filter((part) => part !== null));
  selection.watch(() => paint(report));
  onTheme(() => paint(report));
  apply();
}

const report = readReport();
if (report) {
  start(report);
} else {
  document
    .getElementById("page")
    ?.append(element("p", {}, "This page carries no record that it can read."));
}
