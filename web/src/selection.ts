// What is being looked at: a workload, a load, a round, and the contenders that are shown. Charts
// and tables watch it; none of them keeps a choice of its own.

import type { Cell, Report, Trial } from "./model.ts";

export class Selection {
  workload: string;
  load: string;
  /** A round, or null for the round whose rate is the median. */
  round: number | null = null;
  readonly hidden = new Set<string>();
  private readonly watchers: (() => void)[] = [];

  constructor(readonly report: Report) {
    const first = report.cells[0];
    this.workload = first?.workload ?? "";
    this.load = first?.load ?? "";
    // References would flatten the contenders' bars, so they wait to be asked for.
    for (const one of report.campaign.contenders) {
      if (one.kind !== "contender") this.hidden.add(one.name);
    }
  }

  /** Calls back after every change. */
  watch(watcher: () => void): void {
    this.watchers.push(watcher);
  }

  /** Changes the choice and tells everyone. */
  choose(change: Partial<Pick<Selection, "workload" | "load" | "round">>): void {
    Object.assign(this, change);
    if (!this.loads().includes(this.load)) this.load = this.loads()[0] ?? "";
    this.tell();
  }

  /** Shows a hidden contender, or hides a shown one. */
  toggle(contender: string): void {
    if (!this.hidden.delete(contender)) this.hidden.add(contender);
    this.tell();
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
    const measured = this.trials(cell).filter((trial) => trial.end.kind === "measured");
    if (this.round !== null) return measured.find((trial) => trial.round === this.round);
    const rate = (trial: Trial) => trial.values["rate_per_s"] ?? 0;
    const byRate = measured.sort((left, right) => rate(left) - rate(right));
    return byRate[Math.floor((byRate.length - 1) / 2)];
  }

  private tell(): void {
    for (const watcher of this.watchers) watcher();
  }
}
