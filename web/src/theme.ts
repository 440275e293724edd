// Light and dark, and the colour of each contender: the same everywhere, and distinct with
// any kind of colour vision. Lines also differ by their dashes.

import type { Report } from "./model.ts";

export interface Theme {
  dark: boolean;
  text: string;
  muted: string;
  line: string;
  surface: string;
}

const LIGHT: Theme = {
  dark: false,
  text: "#1c2024",
  muted: "#5c636b",
  line: "#dfe3e8",
  surface: "#ffffff",
};
const DARK: Theme = {
  dark: true,
  text: "#e7eaee",
  muted: "#a2abb5",
  line: "#2f363d",
  surface: "#181c20",
};

// After Okabe and Ito, darkened or lightened until each has a contrast of 3 to its ground.
const ON_LIGHT = [
  "#0b6bb3",
  "#d17a00",
  "#00835f",
  "#b0488b",
  "#c2410c",
  "#2b93c9",
  "#7355a8",
  "#7a6a00",
];
const ON_DARK = [
  "#5aaee8",
  "#f0a93b",
  "#2fbf93",
  "#e08cc0",
  "#f07f4f",
  "#8fd0f5",
  "#ae96e0",
  "#d6c442",
];
const REFERENCE_ON_LIGHT: Record<string, string> = {
  yardstick: "#8a9199",
  origin: "#5b636b",
  control: "#6f7f95",
};
const REFERENCE_ON_DARK: Record<string, string> = {
  yardstick: "#7d868f",
  origin: "#aab2ba",
  control: "#8fa0b8",
};
const DASHES: ("solid" | "dashed" | "dotted")[] = ["solid", "dashed", "dotted"];

const wish = window.matchMedia("(prefers-color-scheme: dark)");
let chosen: boolean | null = null;
let onPaper = false;
const watchers: (() => void)[] = [];

/** The theme in force. */
export function theme(): Theme {
  return !onPaper && (chosen ?? wish.matches) ? DARK : LIGHT;
}

/**
 * Paper is white and has room: the page is light and drawn whole while it is printed, and then as
 * the reader had it.
 */
export function printing(begins: boolean): void {
  onPaper = begins;
  apply();
}

/** Whether the page is being printed. */
export function isPrinting(): boolean {
  return onPaper;
}

/** Changes to the other theme, whatever the system wishes. */
export function toggleTheme(): void {
  chosen = !theme().dark;
  apply();
}

/** Calls back whenever the theme changes. */
export function onTheme(watcher: () => void): void {
  watchers.push(watcher);
}

let painted: Report | null = null;

/** Lets swatches show the colours of this report's contenders. */
export function paint(report: Report): void {
  painted = report;
}

/** The colour of a contender's swatch, which follows the theme by itself. */
export function swatchColour(name: string): string {
  const index = painted?.campaign.contenders.findIndex((one) => one.name === name) ?? -1;
  return `var(--contender-${index})`;
}

/** Puts the theme in force on the page. */
export function apply(): void {
  const root = document.documentElement;
  root.dataset["theme"] = theme().dark ? "dark" : "light";
  if (painted) {
    for (const [index, colour] of [...colours(painted).values()].entries()) {
      root.style.setProperty(`--contender-${index}`, colour);
    }
  }
  for (const watcher of watchers) watcher();
}

wish.addEventListener("change", apply);

/** Colour of each contender by name, in the theme in force. */
export function colours(report: Report): Map<string, string> {
  const dark = theme().dark;
  const palette = dark ? ON_DARK : ON_LIGHT;
  const references = dark ? REFERENCE_ON_DARK : REFERENCE_ON_LIGHT;
  let next = 0;
  return new Map(
    report.campaign.contenders.map((contender) => {
      const reference = contender.kind === "contender" ? undefined : references[contender.kind];
      return [contender.name, reference ?? palette[next++ % palette.length] ?? "#888888"];
    }),
  );
}

/** Dash of a contender's lines: changes when the colours begin again, and for references. */
export function dash(report: Report, name: string): "solid" | "dashed" | "dotted" {
  const index = report.campaign.contenders.findIndex((one) => one.name === name);
  if (report.campaign.contenders[index]?.kind !== "contender") return "dotted";
  return DASHES[Math.floor(index / ON_LIGHT.length) % DASHES.length] ?? "solid";
}
