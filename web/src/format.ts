// Numbers as a reader sees them. The terminal's tables follow the same rules.

const groups = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** A whole number with its thousands apart. */
export function whole(value: number): string {
  return groups.format(value);
}

/** A count with its noun: `1 round`, `3 rounds`. */
export function counted(value: number, noun: string): string {
  return `${whole(value)} ${noun}${value === 1 ? "" : "s"}`;
}

/** A value with about three digits, never in powers of ten. */
export function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95) return whole(value);
  if (size >= 9.995) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return value.toFixed(3);
}

/** A duration with the unit that fits it. */
export function duration(ns: number): string {
  if (ns >= 1e9) return `${digits(ns / 1e9)} s`;
  if (ns >= 1e6) return `${digits(ns / 1e6)} ms`;
  return `${digits(ns / 1e3)} µs`;
}

/** A share as a percentage, which never rounds to none or all; less than none has its sign. */
export function percent(share: number): string {
  const value = share * 100;
  if (value === 0) return "0";
  if (value < 0) return value > -0.001 ? ">-0.001" : value.toFixed(value > -1 ? 3 : 2);
  if (value < 0.001) return "<0.001";
  if (value < 1) return value.toFixed(3);
  return value < 100 ? Math.min(value, 99.99).toFixed(2) : "100";
}

/** Bytes with the unit that fits them. */
export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit + 1 < units.length) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value.toFixed(0) : value.toFixed(1)} ${units[unit] ?? ""}`;
}

/** A short number for an axis: 46k, 1.2M. */
export function compact(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${trim(value / 1e6)}M`;
  if (size >= 1e3) return `${trim(value / 1e3)}k`;
  return trim(value);
}

function trim(value: number): string {
  return String(Number(value.toPrecision(3)));
}

/** A ratio: `1.85`, `0.16`, `12.4`, `0.041`. */
export function times(ratio: number): string {
  if (ratio >= 99.95) return whole(ratio);
  if (ratio >= 9.995) return ratio.toFixed(1);
  return ratio.toFixed(ratio >= 0.0995 ? 2 : 3);
}

/** A duration for an axis: no more digits than it has. */
export function ticks(ns: number): string {
  if (ns >= 1e9) return `${trim(ns / 1e9)} s`;
  if (ns >= 1e6) return `${trim(ns / 1e6)} ms`;
  if (ns >= 1e3) return `${trim(ns / 1e3)} µs`;
  return `${trim(ns)} ns`;
}
