// The first screen, what a reader can do with it by mouse and by keyboard, and what can be saved.
// Run with REPORT_ANSWER, REPORT_CONSTANT, REPORT_FAILED and REPORT_STOPPED: see run.sh.

import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, open, openChanged, reportAddress } from "./browser.mjs";

const WIDE = { viewport: { width: 1400, height: 900 } };
/** A4 across, at 96 points an inch, without its margins. */
const PAPER = { viewport: { width: 1046, height: 740 } };
const PHONE = { viewport: { width: 400, height: 800 } };

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

/** Numbers of the chart of the first screen, as its table has them. */
async function forestNumbers(page) {
  const shown = await page.locator(".forest .numbers table").count();
  if (shown === 0) {
    await page.click(".forest .save summary");
    await page.click('.forest [data-tool="table"]');
  }
  const rows = await page.$$eval(".forest .numbers tbody tr", (all) =>
    all.map((row) => [...row.cells].map((cell) => cell.textContent)),
  );
  return rows.map(([workload, load, contender, baseline, point]) => ({
    cell: `${workload}, ${load}`,
    contender,
    baseline,
    point: Number(point),
  }));
}

async function saved(page, figure, tool) {
  await page.click(`${figure} .save summary`);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.click(`${figure} [data-tool="${tool}"]`),
  ]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

/** Adds contenders that did what caddy-default did, until there are so many. */
function crowded(report, count) {
  const pattern = "caddy-default";
  const { contenders } = report.campaign;
  const [one] = contenders.filter((it) => it.name === pattern);
  const cells = report.cells.filter((it) => it.contender === pattern);
  const pairs = report.comparisons.filter((it) => it.second === pattern);
  const kind = (it) => it.kind === "contender";
  for (let number = contenders.filter(kind).length + 1; number <= count; number += 1) {
    const name = `contender-number-${number}`;
    contenders.push({ ...one, name });
    report.cells.push(...cells.map((it) => ({ ...it, contender: name })));
    report.comparisons.push(...pairs.map((it) => ({ ...it, second: name })));
  }
}

/** Texts of a drawing that match, with where each stands in it. */
function textsOf(page, drawing, pattern) {
  return page.$eval(
    drawing,
    (svg, source) => {
      const { top } = svg.getBoundingClientRect();
      const found = [...svg.querySelectorAll("text")].filter((one) =>
        new RegExp(source).test(one.textContent),
      );
      return found.map((one) => {
        const box = one.getBoundingClientRect();
        return { text: one.textContent, top: box.top - top, bottom: box.bottom - top };
      });
    },
    pattern,
  );
}

for (const [name, size] of [
  ["1400 x 900", WIDE],
  ["400 x 800", PHONE],
]) {
  test(`the answer is on the first screen at ${name}`, async () => {
    const { context, page } = await open(browser, size, "REPORT_ANSWER");
    const parts = [".headline", ".forest .canvas", ".tiles", ".trust > summary"];
    for (const part of parts) {
      const box = await page.locator(part).boundingBox();
      assert.ok(box && box.height > 10, `${part} is there`);
      const end = Math.round(box.y + box.height);
      assert.ok(box.y >= 0 && end <= size.viewport.height, `${part} ends at ${end}`);
    }
    assert.equal(await page.locator(".tile").count(), 3);
    assert.match(await page.locator(".headline").textContent(), /\w{3}/);
    const trust = await page.locator(".trust > summary").textContent();
    assert.match(trust, /requests\/s: (no|direction yes, size (no|within [\d.]+ %))/);
    assert.equal(await page.locator(".trust").getAttribute("open"), null, "reasons are folded");
    await context.close();
  });
}

test("a campaign that was stopped names the rounds that it has", async () => {
  const { context, page } = await open(browser, WIDE, "REPORT_STOPPED");
  assert.match(await page.locator(".headline").textContent(), /, 2 to 4 rounds\)\.$/);
  await context.close();
});

test("servers that failed, or answered late after their load, are named below the findings", async () => {
  const late = 'li:has(> .mark[data-tone="warning"])';
  const failed = await open(browser, WIDE, "REPORT_ANSWER");
  const texts = await failed.page.locator(`.findings > .lines > ${late}`).allTextContents();
  assert.match(texts.join(), /^.?nginx-default at synthetic, c200: 122,213 of .* requests failed/);
  await failed.context.close();
  for (const [size, most] of [
    [WIDE, 2],
    [PHONE, 0],
  ]) {
    const { context, page } = await open(browser, size, "REPORT_STOPPED");
    const texts = await page.locator(`.findings > .lines > ${late}`).allTextContents();
    assert.equal(texts.length, most);
    const known = /nginx-default at [^:]+: (slow to recover: .* 30\.0 s after the load|.* requests failed .*)\.$/;
    for (const text of texts) assert.match(text, known);
    assert.ok((await page.locator(`.findings details ${late}`).count()) > 0, "the rest is folded");
    const rest = await page.locator(".findings summary").textContent();
    assert.match(rest, /^\d+ more, \d+ to be careful with$/);
    await context.close();
  }
});

test("a click on another baseline turns ratios round", async () => {
  const { context, page } = await open(browser, WIDE, "REPORT_ANSWER");
  const before = await forestNumbers(page);
  const caddy = before.filter((one) => one.contender === "caddy-default");
  assert.ok(caddy.length >= 3, `caddy is compared in ${caddy.length} cells`);
  await page.click('[data-baseline="caddy-default"]');
  const after = await forestNumbers(page);
  for (const one of caddy) {
    const turned = after.find((it) => it.cell === one.cell && it.contender === "nginx-default");
    assert.equal(turned.baseline, "caddy-default");
    assert.ok(Math.abs(turned.point * one.point - 1) < 1e-9, `${turned.point} and ${one.point}`);
  }
  const pressed = page.locator('.choice [data-baseline][aria-pressed="true"]');
  assert.equal(await pressed.getAttribute("data-baseline"), "caddy-default");
  const ratio = (name) =>
    page.locator(`#table .main tr[data-contender="${name}"] td:nth-of-type(3)`).textContent();
  assert.equal(await ratio("caddy-default"), "–", "it is 1");
  assert.match(await ratio("nginx-default"), /^[\d.]+ \([\d.]+-[\d.]+\) \^$/);
  await page.click('[data-tile="cpu_ns_per_request"]');
  assert.match(await page.locator(".forest h3").textContent(), /CPU per request/);
  await context.close();
});

test("every value that is shown is one", async () => {
  const { context, page } = await open(browser, WIDE, "REPORT_ANSWER");
  for (const baseline of ["nginx-default", "nginx-optimized", ""]) {
    await page.click(`[data-baseline="${baseline}"]`);
    for (const metric of ["rate_per_s", "latency_p99_ns", "cpu_ns_per_request"]) {
      await page.click(`[data-metric="${metric}"]`);
      const text = await page.locator("#page").textContent();
      assert.doesNotMatch(text, /undefined|NaN|Infinity|\[object/, `${metric} to ${baseline}`);
    }
  }
  await context.close();
});

test("noise is a grey band as wide as the floor, and a bound is hollow", async () => {
  const { context, page } = await open(browser, WIDE, "REPORT_ANSWER");
  const report = await page.$eval(".forest .canvas svg", (svg) => ({
    bands: [...svg.querySelectorAll('[fill-opacity="0.28"]')].length,
    text: svg.textContent,
  }));
  const rows = new Set((await forestNumbers(page)).map((one) => one.cell)).size;
  assert.equal(report.bands, rows, "one in each row");
  assert.match(report.text, /[≥≤] \d/);
  assert.match(await page.locator(".forest .subtitle").textContent(), /grey: noise; hollow/);
  await context.close();
});

test("without a baseline the chart shows the values themselves", async () => {
  const { context, page } = await open(browser, WIDE, "REPORT_ANSWER");
  await page.click('[data-baseline=""]');
  const values = await forestNumbers(page);
  const row = values.find((one) => one.contender === "nginx-default");
  assert.equal(row.baseline, "–");
  assert.ok(row.point > 1000, `${row.point} requests a second`);
  await context.close();
});

test("ratios are to the first contender that ran", async () => {
  const { context, page, seen } = await open(browser, WIDE, "REPORT_FAILED");
  const numbers = await forestNumbers(page);
  assert.ok(numbers.length > 0, "the first chart has something");
  assert.deepEqual([...new Set(numbers.map((one) => one.baseline))], ["nginx-optimized"]);
  const ratio = (name) =>
    page.locator(`#table .main tr[data-contender="${name}"] td:nth-of-type(3)`).textContent();
  assert.equal(await ratio("nginx-optimized"), "–");
  assert.match(await ratio("caddy-default"), /^\W*0\.\d+/);
  assert.equal(await ratio("nginx-default"), "–");
  await page.click('[data-baseline="nginx-default"]');
  assert.equal(await ratio("nginx-default"), "–", "it has nothing to divide by");
  assert.deepEqual(seen.errors, []);
  await context.close();
});

test("a campaign of open loops alone begins with its p99, in table and chart", async () => {
  const { context, page, seen } = await open(browser, WIDE, "REPORT_CONSTANT");
  const title = await page.locator(".forest h3").textContent();
  assert.match(title, /^p99 latency against nginx-default/);
  const caddy = (await forestNumbers(page)).find((one) => one.contender === "caddy-default");
  const field = page.locator('#table .main tr[data-contender="caddy-default"] td:nth-of-type(3)');
  assert.equal(Number(await field.getAttribute("data-value")), caddy.point);
  assert.ok(caddy.point > 1.1, `${caddy.point} of the p99`);
  assert.equal(await page.evaluate(() => window.location.hash), "");
  await page.click('[data-metric="rate_per_s"]');
  assert.match(await page.locator(".forest h3").textContent(), /^Requests per second/);
  assert.deepEqual(seen.errors, []);
  await context.close();
});

test("where nothing can be compared the first chart shows values", async () => {
  const { context, page } = await openChanged(browser, WIDE, "REPORT_ANSWER", (report) => {
    for (const one of report.comparisons) one.ratio = null;
  });
  const numbers = await forestNumbers(page);
  assert.ok(numbers.some((one) => one.contender === "nginx-default" && one.point > 1000));
  const pressed = page.locator('.choice [data-baseline][aria-pressed="true"]');
  assert.equal(await pressed.getAttribute("data-baseline"), "");
  await context.close();
});

test("ratios have the digits that they have in the other formats", async () => {
  const rows = [
    [0.0149, "0.015×"],
    [0.046, "0.046×"],
    [0.7249, "0.72×"],
    [12.44, "12.4×"],
    [99.6, "99.6×"],
    [1204, "1,204×"],
  ];
  for (const [point, text] of rows) {
    const { context, page } = await openChanged(browser, WIDE, "REPORT_ANSWER", (report) => {
      for (const one of report.comparisons.filter((it) => it.ratio !== null)) {
        Object.assign(one.ratio, { point, low: point, high: point });
        one.bound = null;
      }
    });
    const label = await page.locator(".forest .stops button").first().getAttribute("aria-label");
    assert.ok(label.includes(`caddy-default: ${text} (`), `${text} in ${label}`);
    await context.close();
  }
});

test("what more rounds would decide has the mark of the terminal, and is no difference", async () => {
  const { context, page } = await openChanged(browser, WIDE, "REPORT_ANSWER", (report) => {
    for (const one of report.comparisons.filter((it) => it.ratio !== null)) {
      Object.assign(one.ratio, { point: 2, low: 1.5, high: 2.5 });
      one.bound = null;
      one.conclusion = one.second === "caddy-default" ? "cannot-tell" : "plain-not-proven";
    }
  });
  const label = await page.locator(".forest .stops button").first().getAttribute("aria-label");
  assert.match(label, /caddy-default: 2\.00× [^;]+; not decided, needs more rounds/);
  assert.match(label, /nginx-optimized: 2\.00× [^;]+; more, plain but not proven/);
  assert.match(await page.locator(".forest .subtitle").textContent(), /; ~ needs more rounds/);
  assert.doesNotMatch(await page.locator(".forest .canvas svg").textContent(), /[\^]/);
  const tile = await page.locator('[data-tile="cpu_ns_per_request"]').textContent();
  assert.match(tile, /\^ more in \d+ \(not proven\) of \d+ cells/);
  assert.match(tile, /~ not decided in \d+ of \d+ cells/);
  await context.close();
});

test("one round has no interval", async () => {
  const { context, page } = await openChanged(browser, WIDE, "REPORT_ANSWER", (report) => {
    const single = (one) => one && Object.assign(one, { low: one.point, high: one.point, n: 1 });
    report.comparisons.forEach((one) => single(one.ratio));
    report.cells.forEach((cell) => Object.values(cell.estimates).forEach(single));
  });
  const label = () => page.locator(".forest .stops button").first().getAttribute("aria-label");
  assert.match(await label(), /caddy-default: \d[\d.]*×, 1 round; /);
  const low = async (figure) => {
    const lines = (await saved(page, figure, "csv")).bytes.toString().trimEnd().split("\r\n");
    const [head, ...rows] = lines.map((line) => line.split(","));
    const at = head.findIndex((name) => name.startsWith("low"));
    return new Set(rows.map((row) => row[at]));
  };
  for (const figure of [".forest", 'figure[data-chart="Latency"]']) {
    assert.deepEqual([...(await low(figure))], [""], figure);
  }
  await page.click('[data-baseline=""]');
  assert.match(await label(), /nginx-default: [\d,]+ req\/s \(1 round\)/);
  await context.close();
});

test("a phone says of ratios, too, that they are not compared", async () => {
  const { context, page } = await openChanged(browser, PHONE, "REPORT_ANSWER", (report) => {
    const p99 = report.comparisons.filter((one) => one.metric === "latency_p99_ns");
    for (const one of p99) one.conclusion = "not-comparable";
  });
  const words = (tile) => page.locator(`[data-tile="${tile}"] .tile-line small:visible`);
  assert.deepEqual([...new Set(await words("latency_p99_ns").allTextContents())], [
    "shown, not compared",
  ]);
  assert.equal(await words("cpu_ns_per_request").count(), 0, "others have no room for words");
  await context.close();
});

test("a link opens the cell that it names, and the address follows the reader", async () => {
  const hash = "#workload=proxy&load=c200&contender=nginx-optimized&baseline=caddy-default";
  const { context, page } = await open(browser, WIDE, "REPORT_ANSWER", hash);
  const row = page.locator("#table tr[aria-current]");
  assert.equal(await row.getAttribute("data-contender"), "nginx-optimized");
  assert.match(await page.locator("#table caption").first().textContent(), /^proxy, 200 clients/);
  assert.ok(await row.evaluate((one) => one.getBoundingClientRect().top < window.innerHeight));
  await page.click('[aria-label="Load"] button:nth-of-type(1)');
  await page.click('[data-metric="cpu_ns_per_request"]');
  await page.click('#table [data-sort="p99"]');
  const address = await page.evaluate(() => window.location.hash);
  const parts = new URLSearchParams(address.slice(1));
  assert.equal(parts.get("load"), "c10");
  assert.equal(parts.get("metric"), "cpu_ns_per_request");
  assert.equal(parts.get("sort"), "p99");
  const again = await open(browser, WIDE, "REPORT_ANSWER", address);
  const text = (one) => one.page.locator("#table table.main tbody").first().textContent();
  assert.equal(await text(again), await text({ page }));
  // A number in brackets still leads to its note.
  await page.evaluate(() => document.querySelector('a[href^="#note-"]').click());
  assert.match(await page.evaluate(() => window.location.hash), /^#note-\d+$/);
  assert.match(await page.locator("#table caption").first().textContent(), /^proxy/);
  await again.context.close();
  await context.close();
});

test("an address that names nothing known leaves the page as it was", async () => {
  const hash = "#workload=no&load=%3Cb%3E";
  const { context, page, seen } = await open(browser, WIDE, "REPORT_ANSWER", hash);
  assert.match(await page.locator("#table caption").first().textContent(), /^synthetic/);
  assert.deepEqual(seen.errors, []);
  await context.close();
});

test("headings sort, say so, and keep the focus", async () => {
  const { context, page } = await open(browser, WIDE, "REPORT_ANSWER");
  const order = () =>
    page.$$eval("#table table.main tbody tr", (rows) => rows.map((row) => row.dataset.contender));
  const plain = await order();
  const heading = page.locator('#table [data-sort="req/s"]');
  const values = () =>
    page.$$eval("#table table.main tbody td:nth-of-type(1)", (all) =>
      all.map((one) => Number(one.dataset.value)).filter((value) => !Number.isNaN(value)),
    );
  await heading.click();
  const up = await values();
  assert.deepEqual(up, [...up].sort((a, b) => a - b));
  const sorted = page.locator('#table th[aria-sort="ascending"]');
  assert.match(await sorted.textContent(), /req\/s/);
  await page.keyboard.press("Enter");
  const down = await values();
  assert.deepEqual(down, [...up].reverse());
  await page.keyboard.press("Enter");
  assert.deepEqual(await order(), plain);
  await context.close();
});

test("columns stand in the order of what decides", async () => {
  const { context, page } = await open(browser, WIDE, "REPORT_ANSWER");
  const titles = await page.$$eval("#table table.main thead .sort", (all) =>
    all.map((one) => one.dataset.sort),
  );
  assert.deepEqual(titles.slice(0, 10), [
    "contender",
    "req/s",
    "low to high",
    "ratio",
    "p50",
    "p99",
    "errors",
    "CPU/req",
    "memory",
    "verdict",
  ]);
  await context.close();
});

test("charts are saved as PNG, SVG and CSV, and tables as CSV", async () => {
  const { context, page, seen } = await open(browser, WIDE, "REPORT_ANSWER");
  const chart = 'figure[data-chart="Latency by percentile"]';
  for (const figure of [".forest", chart, 'figure[data-chart="Latency"]']) {
    const png = await saved(page, figure, "png");
    assert.match(png.name, /^synthetic-.*\.png$/);
    assert.equal(png.bytes.subarray(1, 4).toString(), "PNG");
    assert.equal(png.bytes.readUInt32BE(16), 2000, "two points for each of 1,000");
    assert.ok(png.bytes.length > 10_000, `a picture of ${png.bytes.length} bytes`);
    const svg = (await saved(page, figure, "svg")).bytes.toString();
    assert.match(svg, /^<svg /);
    assert.match(svg, /<text[^>]*>[^<]*synthetic/, "its title is in it");
    assert.match(svg, /caddy-default/, "and a legend");
    assert.ok((svg.match(/<path/g) ?? []).length > 10);
    assert.doesNotMatch(svg, /NaN/);
  }
  const csv = (await saved(page, chart, "csv")).bytes.toString();
  const lines = csv.trimEnd().split("\r\n");
  assert.equal(lines[0], "contender,percentile,latency_ns,verdict");
  assert.ok(lines.some((line) => /^nginx-default,[45]\d\.\d+,\d+,[a-z]+$/.test(line)), lines[9]);
  assert.match((await saved(page, chart, "svg")).bytes.toString(), /<text[^>]*>p50</);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.click("#table .csv >> nth=0"),
  ]);
  const table = (await readFile(await download.path())).toString().split("\r\n");
  assert.match(table[0], /^contender,rate_per_s,low to high,ratio,latency_p50_ns,latency_p99_ns/);
  assert.match(table[1], /^nginx-default,\d+(\.\d+)?,/, "values are not rounded");
  assert.deepEqual(seen.errors, []);
  assert.deepEqual(seen.console, []);
  await context.close();
});

test("a legend of many contenders is one line, and rows name them", async () => {
  const many = (report) => crowded(report, 30);
  for (const size of [WIDE, PHONE]) {
    const { context, page, seen } = await openChanged(browser, size, "REPORT_ANSWER", many);
    for (const title of ["Latency", "Requests/s", "Errors"]) {
      const drawing = `figure[data-chart="${title}"] .canvas svg`;
      const names = await textsOf(page, drawing, "^contender-number-");
      assert.equal(names.length, 27, title);
      const lowest = Math.max(...names.map((one) => one.bottom));
      assert.ok(lowest <= 26, `${title}: a name ends at ${lowest}`);
    }
    const all = await textsOf(page, ".forest .canvas svg", "^contender-num");
    const inRows = all.filter((one) => one.top > 26);
    if (size === WIDE) assert.ok(inRows.length >= 27, `${inRows.length} names in rows`);
    else assert.equal(inRows.length, 0, "a phone has no room for them");
    assert.deepEqual(seen.errors, []);
    await context.close();
  }
});

test("a saved picture has the names of all contenders above its rows", async () => {
  const many = (report) => crowded(report, 30);
  const { context, page } = await openChanged(browser, WIDE, "REPORT_ANSWER", many);
  const svg = (await saved(page, 'figure[data-chart="Requests/s"]', "svg")).bytes.toString();
  const picture = await context.newPage();
  await picture.setContent(svg);
  const names = await textsOf(picture, "svg", "^contender-number-");
  const values = await textsOf(picture, "svg", "^(≥ )?[0-9.]+k$");
  assert.equal(names.length, 27);
  assert.ok(values.length >= 30, `${values.length} values`);
  const lowest = Math.max(...names.map((one) => one.bottom));
  const highest = Math.min(...values.map((one) => one.top));
  assert.ok(lowest <= highest, `names end at ${lowest}, rows begin at ${highest}`);
  await context.close();
});

test("a bound is saved as one", async () => {
  const { context, page, seen } = await open(browser, WIDE, "REPORT_ANSWER");
  const fields = (bytes) => bytes.toString().trimEnd().split("\r\n").map((line) => line.split(","));
  const of = (rows, name) => rows.find((row) => row.includes(name));
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.click("#table .csv >> nth=0"),
  ]);
  const table = fields(await readFile(await download.path()));
  assert.match(of(table, "nginx-optimized")[1], /^>= \d+(\.\d+)?$/);
  assert.match(of(table, "caddy-default")[1], /^\d+(\.\d+)?$/);
  const rates = fields((await saved(page, 'figure[data-chart="Requests/s"]', "csv")).bytes);
  const columns = ["contender", "rate_per_s", "bound", "low", "high", "rounds", "verdict"];
  assert.deepEqual(rates[0], columns);
  const fast = of(rates, "nginx-optimized");
  assert.equal(fast[2], ">=");
  assert.ok(Number(fast[3]) > 0 && fast[4] === "", `${fast}: what it is below is not known`);
  const slow = of(rates, "caddy-default");
  assert.ok(slow[2] === "" && Number(slow[4]) >= Number(slow[1]), `${slow}`);
  const ratios = fields((await saved(page, ".forest", "csv")).bytes);
  const at = (name) => ratios[0].indexOf(name);
  const bounds = ratios.filter((row) => row[at("bound")] === ">=");
  assert.ok(bounds.length > 0);
  for (const row of bounds) assert.ok(row[at("low")] !== "" && row[at("high")] === "", `${row}`);
  await page.click('[data-baseline="nginx-optimized"]');
  const turned = fields((await saved(page, ".forest", "csv")).bytes);
  const most = turned.filter((row) => row[at("bound")] === "<=");
  assert.equal(most.length > 0, true, "from the other side it is an upper bound");
  for (const row of most) assert.ok(row[at("low")] === "" && row[at("high")] !== "", `${row}`);
  assert.deepEqual(seen.errors, []);
  await context.close();
});

test("a chart zooms by its buttons and back", async () => {
  const { context, page } = await open(browser, WIDE, "REPORT_ANSWER");
  const figure = page.locator('figure[data-chart="Requests/s over time"]');
  const picture = () => figure.locator(".canvas svg").innerHTML();
  const whole = await picture();
  await figure.locator('[data-tool="zoom-in"]').click();
  await page.waitForTimeout(100);
  assert.notEqual(await picture(), whole);
  await figure.locator('[data-tool="zoom-reset"]').click();
  await page.waitForTimeout(100);
  const ticks = (text) => text.match(/<text[^>]*>[^<]*/g)?.join();
  assert.equal(ticks(await picture()), ticks(whole));
  await context.close();
});

test("what is not valid is marked so where it is saved", async () => {
  const doubted = (report) => {
    for (const cell of report.cells) {
      for (const number of Object.keys(cell.verdicts)) cell.verdicts[number] = "valid";
    }
    const { verdicts } = report.cells.find((cell) => cell.contender === "caddy-default");
    Object.assign(verdicts, { rate: "suspect", latency: "suspect" });
  };
  const { context, page } = await openChanged(browser, WIDE, "REPORT_ANSWER", doubted);
  for (const [title, verdict] of [
    ["Requests/s", "suspect"],
    ["Requests", "valid"],
    ["Latency", "suspect"],
    ["Latency by percentile", "suspect"],
    ["Requests/s over time", "suspect"],
    ["CPU over time", "valid"],
  ]) {
    const { bytes } = await saved(page, `figure[data-chart="${title}"]`, "csv");
    const [head, ...lines] = bytes.toString().trimEnd().split("\r\n");
    assert.match(head, /,verdict$/, title);
    const its = (name) => lines.filter((line) => line.startsWith(`${name},`));
    assert.ok(its("caddy-default").length > 0 && its("nginx-default").length > 0, title);
    for (const line of its("caddy-default")) assert.ok(line.endsWith(`,${verdict}`), line);
    for (const line of its("nginx-default")) assert.ok(line.endsWith(",valid"), line);
  }
  await context.close();
});

test("the keyboard goes through the page in the order of reading", async () => {
  const { context, page } = await open(browser, WIDE, "REPORT_ANSWER");
  const stops = [];
  for (let press = 0; press < 60; press += 1) {
    await page.keyboard.press("Tab");
    stops.push(
      await page.evaluate(() => {
        const one = document.activeElement;
        const box = one.getBoundingClientRect();
        const name = one.getAttribute("aria-label") ?? one.textContent.trim();
        const own = getComputedStyle(one);
        return {
          name,
          order: [...document.querySelectorAll("*")].indexOf(one),
          tab: one.getAttribute("tabindex"),
          seen: box.width > 0 && box.top < window.innerHeight && box.bottom > 0,
          ring: own.outlineStyle !== "none" && Number.parseFloat(own.outlineWidth) >= 2,
        };
      }),
    );
  }
  assert.equal(stops[0].name, "Light / dark");
  for (const [index, stop] of stops.entries()) {
    assert.ok(stop.name.length > 0, `stop ${index} has a name`);
    assert.ok(stop.seen, `${stop.name} is on the screen`);
    assert.ok(stop.ring, `${stop.name} shows that it has the focus`);
    assert.ok(stop.tab === null || stop.tab === "0", `${stop.name} is in natural order`);
    if (index > 0) assert.ok(stop.order > stops[index - 1].order, `${stop.name} follows`);
  }
  const names = stops.map((stop) => stop.name);
  const places = ["caddy-default", "CPU", "How far to trust it", "Save as CSV: requests/s", "synthetic"];
  const found = places.map((place) => names.findIndex((name) => name.startsWith(place)));
  assert.ok(!found.includes(-1), `${found} of ${names.join(" | ")}`);
  await context.close();
});

test("a button pressed by keyboard keeps the focus", async () => {
  const { context, page } = await open(browser, WIDE, "REPORT_ANSWER");
  await page.focus('[data-baseline="caddy-default"]');
  await page.keyboard.press("Enter");
  const focus = () => page.evaluate(() => ({ ...document.activeElement.dataset }));
  assert.equal((await focus()).baseline, "caddy-default");
  await page.focus('[data-tile="memory_peak_bytes"]');
  await page.keyboard.press("Space");
  assert.equal((await focus()).tile, "memory_peak_bytes");
  await page.focus(".forest .save summary");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.equal((await focus()).tool, "png");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".forest .save").getAttribute("open"), null);
  await context.close();
});

test("a row of the first chart opens by keyboard", async () => {
  const { context, page, seen } = await open(browser, WIDE, "REPORT_ANSWER");
  const stops = page.locator(".forest .stops button");
  const cells = [...new Set((await forestNumbers(page)).map((one) => one.cell))];
  assert.equal(await stops.count(), cells.length, "a stop for each row");
  assert.equal(await page.locator('.forest .stops button[tabindex="0"]').count(), 1);
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  await stops.first().focus();
  assert.ok((await focused()).startsWith(`${cells[0]}: `), await focused());
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  const last = cells.at(-1);
  assert.ok((await focused()).startsWith(`${last}: `), await focused());
  assert.match(await focused(), /×.* rounds; /);
  // A stop lies over its row, where a mouse still reaches the drawing.
  const row = await stops.last().boundingBox();
  const canvas = await page.locator(".forest .canvas").boundingBox();
  assert.ok(row.y >= canvas.y && row.y + row.height <= canvas.y + canvas.height);
  const under = await page.evaluate(
    ([x, y]) => document.elementFromPoint(x, y).closest(".canvas") !== null,
    [row.x + row.width / 2, row.y + row.height / 2],
  );
  assert.ok(under);
  await page.keyboard.press("Enter");
  const caption = await page.locator("#table caption").first().textContent();
  assert.ok(caption.startsWith(last), caption);
  assert.equal(await page.evaluate(() => document.activeElement.id), "results");
  // Another baseline draws the rows anew; the one that was chosen stays.
  await page.click('[data-baseline="nginx-optimized"]');
  const chosen = page.locator('.forest .stops button[tabindex="0"]');
  assert.ok((await chosen.getAttribute("aria-label")).startsWith(`${last}: `));
  assert.deepEqual(seen.errors, []);
  await context.close();
});

test("work that is not equal is named where a row is looked at", async () => {
  const { context, page } = await open(browser, WIDE, "REPORT_ANSWER");
  const labels = await page.$$eval(".forest .stops button", (all) =>
    all.map((one) => one.getAttribute("aria-label")),
  );
  const proxied = labels.filter((one) => one.startsWith("proxy"));
  assert.ok(proxied.length > 0 && proxied.every((one) => /different work: /.test(one)), labels[0]);
  const row = await page.locator('.forest .stops button[data-stop^="proxy"]').first().boundingBox();
  await page.mouse.move(row.x + row.width / 2, row.y + row.height - 3);
  await page.waitForTimeout(200);
  assert.match(await page.locator(".forest .canvas svg").textContent(), /different work: /);
  await context.close();
});

test("the next commands name the record", async () => {
  const { context, page } = await open(browser, WIDE, "REPORT_ANSWER");
  const commands = await page.$$eval(".trust pre", (all) => all.map((one) => one.textContent));
  assert.ok(commands.length > 0);
  for (const one of commands) assert.match(one, /^bakeoff \w+ (--resume )?quick-20261121/);
  await context.close();
});

test("a phone has the requests per second in sight", async () => {
  const { context, page } = await open(browser, PHONE, "REPORT_ANSWER");
  for (const field of await page.$$("#table table.main tbody td:nth-of-type(1)")) {
    const box = await field.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 400, `it ends at ${box.x + box.width}`);
  }
  await context.close();
});

test("a print cuts nothing off", async () => {
  const { context, page } = await open(browser, PAPER, "REPORT_ANSWER");
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await page.waitForTimeout(200);
  const cut = await page.$$eval(".scroll, pre, figure, .canvas svg", (all) =>
    all
      .filter((one) => one.getBoundingClientRect().width > 0)
      .filter((one) => {
        const { right } = one.getBoundingClientRect();
        return one.scrollWidth > one.clientWidth + 1 || right > window.innerWidth + 1;
      })
      .map((one) => `${one.tagName} ${one.getAttribute("aria-label") ?? one.className}`),
  );
  assert.deepEqual(cut, []);
  const folded = await page.$$eval("details:not([open])", (all) =>
    all.filter((one) => !one.matches(".save, [data-trial], [data-trial] *")).length,
  );
  assert.equal(folded, 0, "everything is unfolded");
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  assert.equal(await page.locator("#all-tables").getAttribute("open"), null);
  await context.close();
});

test("rows without room on the screen are in print, files and numbers", async () => {
  const more = (report) => {
    for (let number = 1; number <= 20; number += 1) {
      const workload = `workload-${number}`;
      const of = (it) => it.workload === "synthetic";
      const again = (all) => all.push(...all.filter(of).map((it) => ({ ...it, workload })));
      for (const all of [report.cells, report.comparisons]) again(all);
      for (const table of report.answer.tables) again(table.rows);
    }
  };
  const { context, page, seen } = await openChanged(browser, WIDE, "REPORT_ANSWER", more);
  const drawn = () => page.locator(".forest .stops button").count();
  const onScreen = await drawn();
  const cells = new Set((await forestNumbers(page)).map((one) => one.cell)).size;
  assert.ok(cells >= 40 && onScreen < cells, `${onScreen} of ${cells} rows have room`);
  const rows = (await saved(page, ".forest", "csv")).bytes.toString().trimEnd().split("\r\n");
  const inFile = new Set(rows.slice(1).map((row) => row.split(",").slice(0, 2).join()));
  assert.equal(inFile.size, cells);
  const svg = (await saved(page, ".forest", "svg")).bytes.toString();
  assert.match(svg, /workload-20/);
  assert.doesNotMatch(await page.locator(".forest .canvas svg").textContent(), /workload-20/);
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  assert.equal(await drawn(), cells, "on paper");
  assert.match(await page.locator(".forest .canvas svg").textContent(), /workload-20/);
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  assert.equal(await drawn(), onScreen, "on the screen again");
  assert.deepEqual(seen.errors, []);
  await context.close();
});

test("a print is light where the screen is dark", async () => {
  const seenOf = (page) =>
    page.evaluate(() => ({
      text: getComputedStyle(document.body).color,
      drawn: document.querySelector(".forest .canvas svg").outerHTML,
    }));
  const light = await open(browser, { ...PAPER, colorScheme: "light" }, "REPORT_ANSWER");
  const wanted = await seenOf(light.page);
  await light.context.close();
  for (const colorScheme of ["dark", "light"]) {
    const { context, page } = await open(browser, { ...PAPER, colorScheme }, "REPORT_ANSWER");
    if (colorScheme === "light") await page.click("#theme");
    const dark = await seenOf(page);
    assert.notEqual(dark.text, wanted.text);
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    const printed = await seenOf(page);
    assert.equal(printed.text, wanted.text);
    const colours = (drawn) => [...new Set(drawn.match(/#[0-9a-f]{6}/g))].sort();
    assert.deepEqual(colours(printed.drawn), colours(wanted.drawn));
    assert.notDeepEqual(colours(dark.drawn), colours(wanted.drawn));
    await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
    const after = await seenOf(page);
    assert.equal(after.text, dark.text);
    assert.deepEqual(colours(after.drawn), colours(dark.drawn));
    await context.close();
  }
});

test("a report of a thousand trials is below 3 MB and opens", async (t) => {
  const { size } = await stat(fileURLToPath(reportAddress("REPORT_LARGE")));
  assert.ok(size < 3_000_000, `it has ${size} bytes`);
  const start = performance.now();
  const { context, seen } = await open(browser, WIDE, "REPORT_LARGE");
  // At most 2 s on an idle machine. This one may be busy, so nothing rests on it.
  t.diagnostic(`it took ${Math.round(performance.now() - start)} ms`);
  assert.deepEqual(seen.errors, []);
  await context.close();
});
