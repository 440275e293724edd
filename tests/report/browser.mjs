// How the tests open a report: Debian's Chromium, headless, from a file, with every request and
// every line of the console kept.

import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");

const ARGUMENTS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Where distributions put Chromium. The one without a window takes half the processor time. */
const PLACES = ["chromium-headless-shell", "chromium", "chromium-browser"];

/** The browser program: `CHROMIUM`, or the first that is there. */
function program() {
  const places = [process.env.CHROMIUM, ...PLACES.map((name) => `/usr/bin/${name}`)];
  const found = places.find((place) => place && existsSync(place));
  if (!found)
    throw new Error(`no Chromium found: apt-get install ${PLACES[0]}, or set CHROMIUM`);
  return found;
}

/** The address of the report named by `REPORT`, or by another variable of the environment. */
export function reportAddress(variable = "REPORT") {
  const path = process.env[variable];
  if (!path) throw new Error(`set ${variable} to the report.html to be tested`);
  return pathToFileURL(resolve(path)).href;
}

/** Starts the browser. */
export function launch() {
  return chromium.launch({ executablePath: program(), args: ARGUMENTS });
}

/** Opens the report and waits until its charts are drawn; `seen` fills up as things happen. */
export function open(browser, options = {}, variable = "REPORT", hash = "") {
  return opened(browser, options, `${reportAddress(variable)}${hash}`);
}

/** The same with another report in the page: `change` makes of it what no made-up campaign has. */
export async function openChanged(browser, options, variable, change) {
  const page = await readFile(fileURLToPath(reportAddress(variable)), "utf8");
  const slot = /(<script type="application\/json" id="record">)(.*?)(<\/script>)/s;
  const report = unpacked(JSON.parse(slot.exec(page)[2]));
  change(report);
  const written = JSON.stringify(report).replaceAll("<", "\\u003c");
  const changed = page.replace(slot, (_, before, __, after) => before + written + after);
  const folder = await mkdtemp(join(tmpdir(), "bakeoff-page-"));
  try {
    const path = join(folder, "report.html");
    await writeFile(path, changed);
    return await opened(browser, options, pathToFileURL(path).href);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A report from its packed form, which crates/report/src/pack.rs describes. */
function unpacked({ keys, shared, value }) {
  const known = [];
  const read = (packed) => {
    if (!Array.isArray(packed)) return packed;
    const [kind, first] = packed;
    if (kind === 2) return known[first];
    if (kind === 0) return packed.slice(1).map(read);
    return Object.fromEntries(keys[first].map((name, index) => [name, read(packed[index + 2])]));
  };
  for (const one of shared) known.push(read(one));
  // Written and read again, so that a change to one of two that are equal leaves the other.
  return JSON.parse(JSON.stringify(read(value)));
}

/** Opens a trial's details and waits for them: the page makes them after the click is over. */
export async function unfold(trial) {
  await trial.locator("> summary").click();
  await trial.locator(".checks").waitFor({ state: "attached" });
}

async function opened(browser, options, address) {
  const context = await browser.newContext({ offline: true, ...options });
  const page = await context.newPage();
  const seen = { requests: [], console: [], errors: [], dialogs: [] };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("console", (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("dialog", (dialog) => {
    seen.dialogs.push(dialog.message());
    return dialog.dismiss();
  });
  await page.goto(address);
  await page.waitForFunction(() => {
    const charts = [...document.querySelectorAll("figure.chart")];
    return charts.length > 0 && charts.every((one) => one.dataset.series !== undefined);
  });
  return { context, page, seen };
}
