// The view model as the report writes it (`bakeoff.report/1`), as far as the page uses it.

import { unpack } from "./unpack.ts";

export interface Report {
  schema: string;
  campaign: Campaign;
  /** The first screen: findings, how far to trust them, what to run next. */
  answer: Answer;
  summary: Sentence[];
  notes: Note[];
  cells: Cell[];
  comparisons: Comparison[];
  differences: Difference[];
  equivalence: Equivalence[];
  diffs: ConfigDiff[];
  config_changes: ConfigChanges[];
  lost: Lost[];
  trials: Trial[];
  texts: string[];
}

export type Kind = "contender" | "control" | "yardstick" | "origin";
export type Metric =
  | "rate_per_s"
  | "latency_p50_ns"
  | "latency_p90_ns"
  | "latency_p99_ns"
  | "cpu_ns_per_request"
  | "memory_peak_bytes";
export type VerdictName = "valid" | "suspect" | "invalid" | "unsupported" | "skipped" | "failed";
export type NumberName = "rate" | "latency" | "cpu" | "memory" | "counts";
export type Verdicts = Record<NumberName, VerdictName>;
export type Level = "passed" | "note" | "not-run" | "suspect" | "disturbed" | "invalid";
export type Grade = "shown" | "plain" | "indication" | "not-shown";
export type Tone = "good" | "note" | "warning" | "bad";

export interface Answer {
  findings: Finding[];
  /** A table for each metric that is compared, with a row for each load that it suits. */
  tables: { metric: Metric; rows: { workload: string; load: string }[] }[];
  trust: { direction: boolean; size: boolean; reasons: TrustReason[] };
  next: string[];
}

/** A sentence that holds over several cells. */
export interface Finding {
  text: string;
  tone: Tone;
  metric: Metric;
  first: string;
  second: string;
  cells: number;
  cells_agreeing: number;
  grade: Grade;
}

export interface TrustReason {
  code: string;
  text: string;
  level: Level;
}

export interface Campaign {
  name: string;
  description: string;
  rounds: number;
  seed: number;
  rest_s: number;
  caption: string;
  interval: { kind: string; text: string };
  machine: Record<string, unknown> & {
    host: string;
    kernel: string;
    cpus: number;
    started_at: string;
  };
  contenders: { name: string; kind: Kind; server: string | null; versions: string[] }[];
  workloads: Workload[];
  loads: Load[];
  trials: Record<string, number>;
}

export interface Workload {
  name: string;
  description: string;
  protocol: string;
  request: string;
  expects: string;
  proxied: boolean;
  origin?: string;
  notes?: string[];
}

export interface Load {
  label: string;
  title: string;
  /** The title in a few characters. */
  short: string;
  model: "closed" | "open";
  clients: number;
  rate_per_s: number | null;
  warmup_s: number;
  duration_s: number;
}

export interface Sentence {
  tone: Tone;
  text: string;
  note: number | null;
}

export interface CellName {
  contender: string;
  workload: string;
  load: string;
}

export interface Note {
  number: number;
  code: string;
  rule: string;
  level: Level;
  cells: (CellName & { text: string })[];
}

export interface Estimate {
  point: number;
  low: number;
  high: number;
  n: number;
  interval: string;
}

export interface Check {
  code: string;
  rule: string;
  level: Level;
  value: number | null;
  limit: number | null;
  text: string;
}

/** How durations spread, ns; null where there are none, or too few. */
export interface Spread {
  min_ns: number | null;
  max_ns: number | null;
  mean_ns: number | null;
  sd_ns: number | null;
  within_sd_share: number | null;
}

/** A cell in h2load's form; of cells over HTTP/2 and 3. */
export interface H2load {
  request: Spread;
  connect: Spread;
  handshake: Spread;
  first_byte: Spread;
  read_bytes: number | null;
  header_bytes: number | null;
  header_saved_share: number | null;
  body_bytes: number | null;
  succeeded: number;
  failed: number;
  negotiated: {
    protocol: string;
    alpn: string | null;
    tls_version: string | null;
    cipher: string | null;
    group: string | null;
  };
}

/** A cell in Vegeta's form; of cells at a constant rate. `missing` says why something is null. */
export interface Vegeta {
  requests: {
    total: number | null;
    rate_per_s: number | null;
    throughput_per_s: number | null;
  };
  duration: { total_s: number | null; attack_s: number | null; wait_s: number | null };
  latencies: {
    mean_ns: number | null;
    p50_ns: number | null;
    p95_ns: number | null;
    p99_ns: number | null;
    max_ns: number | null;
  };
  bytes_in: { total: number | null; mean: number | null };
  bytes_out: { total: number | null; mean: number | null };
  success_share: number | null;
  status_codes: Record<string, number>;
  errors: Record<string, number>;
  missing: Record<string, string>;
}

export interface Cell extends CellName {
  kind: Kind;
  rounds: number;
  rounds_measured: number;
  estimates: Record<string, Estimate | null>;
  missing: Record<string, string>;
  at_least?: Record<string, number>;
  rate_is_lower_bound: boolean;
  completed: number;
  errors: number;
  error_share: number | null;
  due?: number;
  unended?: number;
  over_range?: number;
  outcomes: Record<string, number>;
  status: Record<string, number>;
  error_samples: Record<string, string>;
  verdict: { verdict: VerdictName; checks: Check[] };
  verdicts: Verdicts;
  notes: number[];
  bottleneck: { name: string; text: string; also: { name: string; text: string }[] } | null;
  h2load?: H2load;
  vegeta?: Vegeta;
}

export interface Comparison {
  workload: string;
  load: string;
  metric: Metric;
  first: string;
  second: string;
  /** Second over first. */
  ratio: Estimate | null;
  /** Where only one side of the ratio is known. */
  bound: "at-least" | "at-most" | null;
  evidence: string;
  /** Differences up to this share are noise: 0.03 is 3 %. */
  floor: number;
  basis: {
    p_value: number | null;
    rounds_needed: number | null;
    smallest_shown: number | null;
    /** Possible causes of a difference: what one does for an answer and the other does not. */
    unequal: Check[];
    reason: string | null;
  };
  conclusion: string;
  text: string;
}

/** `other` against `base`, in shares of the base: 0.14 is 14 % more, -0.14 as much less. */
export interface Difference {
  workload: string;
  load: string;
  base: string;
  other: string;
  shares: Record<string, Estimate | null>;
  missing: Record<string, string>;
  caution: string | null;
}

export interface Equivalence {
  workload: string;
  contenders: string[];
  rows: { fact: string; title: string; class: "unfair" | "differs"; values: (string | null)[] }[];
  equal: { fact: string; title: string; value: string }[];
  unknown: { fact: string; title: string; contenders: string[]; reason: string }[];
  inequalities: Inequality[];
}

export interface Inequality {
  fact: string;
  check: Check;
  pairs: [string, string][];
  remedies: { contender: string; server: string; line: string | null }[];
}

export interface ConfigDiff {
  server: string;
  workloads: string[];
  first: string;
  second: string;
  changed: number;
  text: string;
}

/** Lines of a contender's own configuration that a trial needed otherwise. */
export interface ConfigChanges {
  contender: string;
  server: string;
  changes: { file: string; line: number; before: string; after: string; why: string }[];
}

export interface Lost {
  contender: string;
  cells: { workload: string; load: string }[];
  rounds: number[];
  verdict: VerdictName;
  text: string;
  message: string | null;
}

export interface Tree {
  role: "server" | "origin" | "engine";
  at_s: number[];
  cores: number[];
  rss_bytes: number[];
}

export interface Trial extends CellName {
  id: string;
  index: number;
  round: number;
  attempt: number;
  disturbed?: string[];
  kind: Kind;
  started_at: string;
  end: { kind: string } & Record<string, unknown>;
  verdict: VerdictName;
  checks: Check[];
  passed: string[];
  values: Record<string, number>;
  server: Server | null;
  pinned: { server: number[]; engine: number[]; origin: number[] };
  measured_s: number | null;
  requests: Record<string, number | null> | null;
  outcomes: Record<string, number>;
  status: Record<string, number>;
  error_samples: Record<string, string>;
  bytes: Record<string, number> | null;
  connections: Record<string, number> | null;
  negotiated: Record<string, string | null> | null;
  engine: {
    cpu_user_s: number;
    cpu_system_s: number;
    rss_bytes_max: number;
    busy_share: number[];
  } | null;
  origin: Record<string, number> | null;
  answers: {
    when: string;
    status: number;
    body_bytes: number;
    right: boolean;
    headers: [string, string][];
  }[];
  steps: { step: string; took_s: number }[];
  processes: { trees: Tree[] };
  throughput: { at_s: number[]; ok_per_s: number[]; errors_per_s: number[] };
  curve: { one_in: number[]; latency_ns: number[] };
}

export interface Server {
  server: string;
  version: string;
  binary: string;
  binary_sha256: string;
  command: string[];
  configs: { path: string; text: number }[];
  address: string;
  server_header: string | null;
  stopped: { graceful: boolean; took_s: number; status: string | null } | null;
}

/** Reads the record out of the page; null when the page carries none. */
export function readReport(): Report | null {
  const text = document.getElementById("record")?.textContent ?? "null";
  const report = unpack(JSON.parse(text)) as Report | null;
  return report?.schema === "bakeoff.report/1" ? report : null;
}
