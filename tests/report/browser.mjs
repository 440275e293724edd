// How the tests open a report: Debian's Chromium, headless, from a file, with every request and
// every line of the console kept.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

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

/** The browser program: `CHROMIUM`, or where distributions put it. */
function program() {
  const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser"];
  const found = places.find((place) => place && existsSync(place));
  if (!found)
    throw new Error("no Chromium found: install it (apt-get install chromium) or set CHROMIUM");
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
export async function open(browser, options = {}, variable = "REPORT", hash = "") {
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
  await page.goto(`${reportAddress(variable)}${hash}`);
  await page.waitForFunction(() => {
    const charts = [...document.querySelectorAll("figure.chart")];
    return charts.length > 0 && charts.every((one) => one.dataset.series !== undefined);
  });
  return { context, page, seen };
}
