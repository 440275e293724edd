// What is being looked at: a workload, a load, a round, the contenders that are shown, and what
// they are compared with. Charts and tables watch it; none of them keeps a choice of its own.

import type { Cell, Metric, Report, Trial } from "./model.ts";
import { ratiosTo } from "./ratios.ts";

/** What can be chosen. */
export interface Choice {
  workload: string;
  load: string;
  /** A contender's row to point out, or none. */
  contender: string;
  /** A round, or null for the round whose rate is the median. */
  round: number | null;
  /** The contender that others are compared with; empty for values as they are. */
  baseline: string;
  /** What the chart of the first screen shows. */
  metric: Metric;
  /** The column that tables are sorted by, with `-` before it for the largest first. */
  sort: string;
}

export class Selection {
  readonly choice: Choice;
  readonly start: Readonly<Choice>;
  readonly hidden: Set<string>;
  /** The contenders that are hidden at first. */
  readonly references: ReadonlySet<string>;
  private readonly watchers: (() => void)[] = [];

  constructor(readonly report: Report) {
    const first = report.cells[0];
    // As in the other formats: the first contender that ran, and the metric that decides, which is
    // no rate where the load made it.
    const table = report.answer.tables[0];
    const baseline = table?.baseline ?? "";
    const metric = table?.metric ?? "rate_per_s";
    this.start = {
      workload: first?.workload ?? "",
      load: first?.load ?? "",
      contender: "",
      round: null,
      // Where nothing could be divided by it, a chart of ratios would be empty.
      baseline: ratiosTo(report, baseline, metric).length > 0 ? baseline : "",
      metric,
      sort: "",
    };
    this.choice = { ...this.start };
    // References would flatten the contenders' bars, so they wait to be asked for.
    const others = report.campaign.contenders.filter((one) => one.kind !== "contender");
    this.references = new Set(others.map((one) => one.name));
    this.hidden = new Set(this.references);
  }

  get workload(): string {
    return this.choice.workload;
  }

  get load(): string {
    return this.choice.load;
  }

  /** Calls back after every change. */
  watch(watcher: () => void): void {
    this.watchers.push(watcher);
  }

  /** Changes the choice and calls everyone back. */
  choose(change: Partial<Choice>): void {
    Object.assign(this.choice, change);
    if (!this.workloads().includes(this.workload)) this.choice.workload = this.start.workload;
    if (!this.loads().includes(this.load)) this.choice.load = this.loads()[0] ?? "";
    if (!this.cells().some((cell) => cell.contender === this.choice.contender)) {
      this.choice.contender = "";
    }
    const { round } = this.choice;
    if (round !== null && !this.rounds().includes(round)) this.choice.round = null;
    this.changed();
  }

  /** Shows a hidden contender, or hides a shown one. */
  toggle(contender: string): void {
    if (!this.hidden.delete(contender)) this.hidden.add(contender);
    this.changed();
  }

  /** Calls everyone back. */
  changed(): void {
    for (const watcher of this.watchers) watcher();
  }

  /** Names of what is compared, without references, in order. */
  contenders(): string[] {
    const all = this.report.campaign.contenders.filter((one) => one.kind === "contender");
    return all.map((one) => one.name);
  }

  /** Workloads that have a cell, in order. */
  workloads(): string[] {
    return [...new Set(this.report.cells.map((cell) => cell.workload))];
  }

  /** Loads that have a cell in the chosen workload, in order. */
  loads(): string[] {
    const cells = this.report.cells.filter((cell) => cell.workload === this.workload);
    return [...new Set(cells.map((cell) => cell.load))];
  }

  /** A load as people say it. */
  title(load: string): string {
    return this.report.campaign.loads.find((one) => one.label === load)?.title ?? load;
  }

  /** A load in a few characters; its label where those of another are the same. */
  short(load: string): string {
    const { loads } = this.report.campaign;
    const short = loads.find((one) => one.label === load)?.short ?? load;
    return loads.filter((one) => one.short === short).length > 1 ? load : short;
  }

  /** All cells of the chosen workload and load. */
  cells(): Cell[] {
    return this.report.cells.filter(
      (cell) => cell.workload === this.workload && cell.load === this.load,
    );
  }

  /** Those of them whose contender is shown. */
  shown(): Cell[] {
    return this.cells().filter((cell) => !this.hidden.has(cell.contender));
  }

  /** Rounds of the chosen workload and load. */
  rounds(): number[] {
    const rounds = this.cells().flatMap((cell) => this.trials(cell).map((trial) => trial.round));
    return [...new Set(rounds)].sort((left, right) => left - right);
  }

  /** Trials of a cell by round. */
  trials(cell: Cell): Trial[] {
    return this.report.trials.filter(
      (trial) =>
        trial.contender === cell.contender &&
        trial.workload === cell.workload &&
        trial.load === cell.load,
    );
  }

  /** The trial of a cell that charts over time show; undefined when it was not measured. */
  trial(cell: Cell): Trial | undefined {
    // Of a round the attempt that counts stands first, before those that were set aside.
    const counts = (trial: Trial, place: number, all: Trial[]) =>
      all.findIndex((it) => it.round === trial.round) === place;
    const accepted = this.trials(cell).filter(counts);
    const measured = accepted.filter((trial) => trial.end.kind === "measured");
    const round = this.choice.round;
    if (round !== null) return measured.find((trial) => trial.round === round);
    const rate = (trial: Trial) => trial.values["rate_per_s"] ?? 0;
    const byRate = measured.sort((left, right) => rate(left) - rate(right));
    return byRate[Math.floor((byRate.length - 1) / 2)];
  }
}
