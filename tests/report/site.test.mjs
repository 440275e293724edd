// The site of many records as a reader meets it: opened from a disk, in a browser without a
// network. Run with SITE, the path of the index of a site that the example `synthetic_site` made
// of 50 records: see run.sh.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, reportAddress } from "./browser.mjs";
import { axeSource, violations } from "./rules.mjs";

let browser;
let axe;
before(async () => {
  browser = await launch();
  axe = await axeSource();
});
after(async () => {
  await browser?.close();
});

/** Opens the index, with every line of the console and every error kept. */
async function openSite(options = {}, hash = "") {
  const context = await browser.newContext({ offline: true, ...options });
  const page = await context.newPage();
  const seen = { console: [], errors: [], requests: [] };
  page.on("console", (message) => seen.console.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("request", (request) => seen.requests.push(request.url()));
  await page.goto(`${reportAddress("SITE")}${hash}`);
  return { context, page, seen };
}

/** Records and rankings that are shown. */
const shown = (page, selector) => page.locator(`${selector}:not([hidden])`).count();

test("all records are there, from a disk, and only files of the site are asked for", async () => {
  const { context, page, seen } = await openSite();
  assert.equal(await shown(page, ".records > li"), 50);
  assert.equal(await page.textContent("#count"), "50 records");
  assert.ok((await shown(page, "details[data-filtered]")) > 3);
  assert.ok(seen.requests.length >= 3);
  assert.ok(seen.requests.every((one) => one.startsWith("file:")), seen.requests.join(" "));
  assert.deepEqual([...seen.errors, ...seen.console], []);
  await context.close();
});

test("without a script the whole list is readable", async () => {
  const { context, page } = await openSite({ javaScriptEnabled: false });
  assert.equal(await page.locator(".records > li").count(), 50);
  assert.equal(await page.locator("#filters").isVisible(), false);
  assert.ok(await page.locator(".records > li").last().isVisible());
  await context.close();
});

test("a record is found by search, by filters, and by a link to both", async () => {
  const { context, page } = await openSite();
  await page.fill("#text", "rack-7 h2");
  const found = await shown(page, ".records > li");
  assert.ok(found > 0 && found < 10, `${found}`);
  assert.equal(await page.textContent("#count"), `${found} of 50 records`);
  await page.selectOption("#protocol", "h2");
  assert.equal(await shown(page, ".records > li"), found);
  const machines = await page.$$eval(".machine:not([hidden]) h3", (all) =>
    all.map((one) => one.textContent),
  );
  assert.ok(machines.length === 1 && machines[0].startsWith("rack-7"), machines.join());
  const link = new URL(page.url()).hash;
  assert.match(link, /text=rack-7/);
  assert.ok(!(await page.locator("#none").isVisible()));
  await page.fill("#text", "no such record");
  assert.equal(await page.textContent("#count"), "0 of 50 records");
  assert.ok(await page.locator("#none").isVisible());
  await page.click("button[type=reset]");
  await page.waitForFunction(() => document.getElementById("count").textContent === "50 records");
  await context.close();

  const again = await openSite({}, link);
  assert.equal(await shown(again.page, ".records > li"), found);
  await again.context.close();
});

test("the filters are reached and used by keyboard", async () => {
  const { context, page } = await openSite();
  await page.focus("#text");
  await page.keyboard.type("nightly");
  const found = await shown(page, ".records > li");
  assert.ok(found > 0 && found < 50);
  const reached = [];
  for (let index = 0; index < 6; index += 1) {
    await page.keyboard.press("Tab");
    reached.push(await page.evaluate(() => document.activeElement.id || document.activeElement.type));
  }
  assert.deepEqual(reached.slice(0, 5), ["server", "workload", "machine", "protocol", "reset"]);
  await context.close();
});

test("a record's page draws its report from the shared script, and leads back", async () => {
  const { context, page, seen } = await openSite();
  await page.click(".records h3 a");
  await page.waitForFunction(() => {
    const charts = [...document.querySelectorAll("figure.chart")];
    return charts.length > 0 && charts.every((one) => one.dataset.series !== undefined);
  });
  assert.deepEqual([...seen.errors, ...seen.console], []);
  await page.click("nav[aria-label=Site] a");
  await page.waitForSelector(".records");
  await context.close();
});

for (const [width, height] of [
  [1400, 900],
  [400, 800],
]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`no violation at ${width} x ${height}, ${colorScheme}`, async () => {
      const { context, page } = await openSite({ viewport: { width, height }, colorScheme });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `the page is ${wide} wide`);
      // Axe is put into the page by the test, which the policy does not know of.
      await page.evaluate(axe);
      assert.deepEqual(await violations(page), []);
      await page.fill("#text", "nightly");
      await page.$$eval("details:not([hidden])", (all) => all.forEach((one) => (one.open = true)));
      assert.deepEqual(await violations(page), [], "with a search, and rankings open");
      const unfolded = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(unfolded <= width, `the page is ${unfolded} wide`);
      await page.click(".records li:not([hidden]) h3 a");
      await page.waitForSelector("figure.chart");
      await page.waitForTimeout(300);
      await page.evaluate(axe);
      assert.deepEqual(await violations(page), [], "of a record's page");
      await context.close();
    });
  }
}
