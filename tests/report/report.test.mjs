// The report as a reader meets it: opened from a file, in a browser without a network.
// Run with REPORT, REPORT_ANSWER, REPORT_H3, REPORT_CONSTANT and REPORT_HOSTS, made by the example
// `synthetic_report`: see run.sh, which makes those of the other files too.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { launch, open, openChanged, reportAddress, unfold } from "./browser.mjs";

const HOSTILE = "<script>alert(1)</script>";

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

const LATENCY = 'figure[data-chart="Latency"]';

/** Dots and lines of a colour in a chart. */
async function shapesOf(page, chart, contender) {
  const colour = await page.$eval(
    `.legend [data-series="${contender}"] .swatch`,
    (swatch) => getComputedStyle(swatch).backgroundColor,
  );
  return page.$$eval(
    `${chart} svg path`,
    (paths, wanted) =>
      paths.filter((path) =>
        [getComputedStyle(path).fill, getComputedStyle(path).stroke].includes(wanted),
      ).length,
    colour,
  );
}

test("the report loads from a file without errors, and asks for nothing else", async () => {
  const { context, page, seen } = await open(browser);
  await page.click('[aria-label="Load"] button:nth-of-type(2)');
  await unfold(page.locator(".trials > details").first());
  assert.deepEqual(seen.requests, [reportAddress()]);
  assert.deepEqual(seen.errors, []);
  assert.deepEqual(seen.console, []);
  const policy = await page.getAttribute('meta[http-equiv="Content-Security-Policy"]', "content");
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy.match(/script-src[^;]*/)[0], /unsafe/);
  await context.close();
});

test("the policy stops a script that got into the page, and its request", async () => {
  const { context, page, seen } = await open(browser);
  await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.intruder = true";
    document.body.append(script);
    const image = document.createElement("img");
    image.src = "http://127.0.0.1:9/pixel.png";
    document.body.append(image);
  });
  // What the browser says of it comes in its own time.
  const isSaid = () => seen.console.some((line) => line.includes("Content Security Policy"));
  for (let look = 0; look < 200 && !isSaid(); look += 1) {
    await page.waitForTimeout(50);
  }
  assert.equal(await page.evaluate(() => window.intruder), undefined);
  assert.ok(isSaid());
  await context.close();
});

test("a click in the legend hides that series in every chart, another shows it", async () => {
  const { context, page } = await open(browser);
  const button = page.locator('.legend [data-series="caddy-default"]');
  const before = await shapesOf(page, LATENCY, "caddy-default");
  assert.ok(before >= 7, `a dot for each statistic, not ${before}`);
  await button.click();
  assert.equal(await button.getAttribute("aria-pressed"), "false");
  assert.equal(await shapesOf(page, LATENCY, "caddy-default"), 0);
  for (const series of await page.$$eval("#results figure.chart", (all) =>
    all.map((one) => one.dataset.series),
  )) {
    assert.doesNotMatch(series, /caddy-default/);
    assert.match(series, /nginx-default/);
  }
  await button.click();
  assert.equal(await shapesOf(page, LATENCY, "caddy-default"), before);
  await context.close();
});

test("a hostile Server header stays text", async () => {
  const { context, page, seen } = await open(browser);
  const trial = page.locator('.trials > details[data-trial^="r1-caddy-default"]');
  await unfold(trial);
  const header = trial.locator(".server-header");
  assert.equal(await header.textContent(), HOSTILE);
  assert.equal(await header.locator("*").count(), 0);
  assert.deepEqual(seen.dialogs, []);
  assert.equal(await page.locator("body script").count(), 2, "the record and the page's own");
  await context.close();
});

test("dark follows the system, and the button changes it", async () => {
  const ground = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await open(browser, { colorScheme: "light" });
  const dark = await open(browser, { colorScheme: "dark" });
  const [inLight, inDark] = [await ground(light.page), await ground(dark.page)];
  assert.notEqual(inLight, inDark);
  await light.page.click("#theme");
  assert.equal(await ground(light.page), inDark);
  await light.page.click("#theme");
  assert.equal(await ground(light.page), inLight);
  await light.context.close();
  await dark.context.close();
});

test("tables have a row for each contender and reference, and say what is missing", async () => {
  const { context, page } = await open(browser);
  const rows = (selector) =>
    page.$$eval(`${selector} tbody tr`, (all) => all.map((row) => row.dataset.contender));
  const contenders = ["nginx-default", "nginx-optimized", "caddy-default"];
  assert.deepEqual(await rows("#table"), [...contenders, "yardstick"]);
  await page.click('[aria-label="Workload"] button:nth-of-type(2)');
  assert.deepEqual(await rows("#table"), [...contenders, "origin", "yardstick"]);
  assert.equal(await page.locator("#all-tables table").count(), 4);
  await page.click('[aria-label="Load"] button:nth-of-type(2)');
  const skipped = page.locator('#table tr[data-contender="caddy-default"]');
  assert.match(await skipped.textContent(), /skipped/);
  assert.match(await page.locator("#page").textContent(), /ulimit -n 65536/);
  await context.close();
});

test("unequal work stands open with what to change, and equal work is folded away", async () => {
  const { context, page } = await open(browser);
  const unequal = page.locator("details", { hasText: "Equal work: proxy" });
  assert.equal(await unequal.getAttribute("open"), "");
  const row = unequal.locator("tr", { hasText: "HTTP/1.0" });
  assert.deepEqual(await row.locator("td").allTextContents(), [
    "HTTP/1.0",
    "HTTP/1.1",
    "HTTP/1.1",
    "unfair",
  ]);
  assert.match(await unequal.textContent(), /to change in nginx-default \(nginx\): proxy_http/);
  const equal = page.locator("details", { hasText: "Equal work: synthetic" });
  assert.equal(await equal.getAttribute("open"), null);
  assert.match(await equal.textContent(), /equal: status 200/);
  const diff = page.locator("details", { hasText: "nginx-optimized against nginx-default" });
  assert.deepEqual(await diff.locator(".added").allTextContents(), ["+    sendfile on;\n"]);
  await context.close();
});

test("what was changed in an own configuration stands by line and reason, as text", async () => {
  const { context, page, seen } = await open(browser);
  const changed = page.locator("details", { hasText: "caddy-default (caddy): 5 lines of its own" });
  await changed.locator("summary").click();
  const text = await changed.locator("pre").textContent();
  assert.match(text, /\/etc\/caddy\/Caddyfile:3 \(not at a port of the system's\)\n/);
  const added = await changed.locator(".added").allTextContents();
  assert.equal(added.length, 5, "a line that was left out has none");
  assert.ok(added[3].includes(HOSTILE), added[3]);
  assert.equal(await changed.locator("script").count(), 0);
  assert.deepEqual(seen.errors, []);
  await context.close();
});

test("long names leave a narrow screen room for numbers", async () => {
  const long = (name) => `${name}-${"mainline".repeat(8)}`.slice(0, 64);
  const names = ["caddy-default", "nginx-optimized", "synthetic", "proxy"];
  const change = (report) => {
    const text = JSON.stringify(report);
    const changed = names.reduce((all, name) => all.replaceAll(`"${name}"`, `"${long(name)}"`), text);
    Object.assign(report, JSON.parse(changed));
    const { parts } = report.document.sections.find((one) => one.name === "findings");
    parts[0].lines[0].text = `${long("caddy-default")} is faster than all others.`;
  };
  const options = { viewport: { width: 400, height: 800 } };
  const { context, page, seen } = await openChanged(browser, options, "REPORT", change);
  await page.$$eval("details:not(.save)", (all) => all.forEach((one) => (one.open = true)));
  await page.waitForTimeout(200);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 400, `the page is ${wide} wide`);
  const heads = await page.$$eval("table tbody th:first-child", (all) =>
    all.map((one) => one.getBoundingClientRect().width),
  );
  assert.ok(heads.length > 10 && Math.max(...heads) <= 150, `a name takes ${Math.max(...heads)}`);
  assert.deepEqual(seen.errors, []);
  await context.close();
});

test("errors are shown by kind, and with a narrow screen nothing overflows the page", async () => {
  const { context, page } = await open(browser, { viewport: { width: 390, height: 844 } });
  await page.click('[aria-label="Load"] button:nth-of-type(2)');
  assert.match(
    await page.locator("#table .lines").first().textContent(),
    /330,\d{3} refused \(31\.00 %\)/,
  );
  const [inner, outer] = await page.evaluate(() => [
    document.documentElement.scrollWidth,
    window.innerWidth,
  ]);
  assert.ok(inner <= outer, `the page is ${inner} wide in a window of ${outer}`);
  await context.close();
});

test("cells are told in the forms of h2load and Vegeta where these would be used", async () => {
  for (const [variable, form] of [
    ["REPORT_H3", /As h2load prints it[^]*h3 by ALPN h3, TLSv1\.3[^]*321,070 succeeded, 0 failed/],
    ["REPORT_CONSTANT", /As Vegeta prints it[^]*500\.20[^]*200:7,500[^]*\+65\.4[^]*-39\.6/],
  ]) {
    const { context, page, seen } = await open(browser, {}, variable);
    assert.match(await page.locator("#table details").textContent(), form);
    assert.deepEqual(seen.errors, []);
    await context.close();
  }
  const { context, page } = await open(browser);
  assert.equal(await page.locator("#table pre").count(), 0);
  await context.close();
});

test("errors are a share of what was asked for, as in the tables", async () => {
  const { context, page } = await open(browser);
  const subtitle = page.locator('figure[data-chart="Errors"] .subtitle');
  assert.match(await subtitle.textContent(), /^of all requests asked for/);
  await context.close();
});

test("a contender that failed every request has 100 % beside its dot", async () => {
  const { context, page } = await openChanged(browser, {}, "REPORT", (report) => {
    report.cells[0].error_share = 1;
  });
  const errors = page.locator('figure[data-chart="Errors"] svg text');
  const texts = await errors.allTextContents();
  assert.ok(texts.includes("100") && !texts.includes("1"), texts.join(" "));
  await context.close();
});

test("the machine is shown with its settings, each as a value", async () => {
  const { context, page } = await open(browser);
  const facts = await page.$$eval("dl.facts dt", (all) =>
    all.map((one) => [one.textContent, one.nextElementSibling.textContent]),
  );
  const of = Object.fromEntries(facts);
  assert.equal(of["memory bytes"], "8.3 GB");
  assert.equal(of.microcode, "0x2b000590");
  assert.equal(of["swap bytes"], "2.1 GB");
  assert.equal(of["net.core.somaxconn"], "4096");
  assert.equal(of["net.ipv4.tcp_rmem"], "4096\t131072\t6291456");
  for (const [name, value] of facts) assert.doesNotMatch(value, /\[object/, name);
  await context.close();
});

/** Numbers of a contender in a chart, as its CSV has them. */
async function drawnOf(page, title, contender) {
  const figure = `figure[data-chart="${title}"]`;
  await page.click(`${figure} .save summary`);
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.click(`${figure} [data-tool="csv"]`),
  ]);
  const lines = (await readFile(await download.path())).toString().trimEnd().split("\r\n");
  const its = lines.filter((line) => line.startsWith(`${contender},`));
  return its.map((line) => Number(line.split(",")[2]));
}

test("curves show the median of the rounds that count, not an attempt set aside", async () => {
  const attempts = (report) => {
    const { workload, load, contender } = report.cells[0];
    const is = (it) =>
      it.workload === workload && it.load === load && it.contender === contender;
    const its = report.trials.filter(is);
    const others = report.trials.filter((it) => !is(it));
    assert.equal(its.length, 3);
    const drawn = (trial, rate, mark) => {
      const throughput = { at_s: [1, 2], ok_per_s: [mark, mark], errors_per_s: [0, 0] };
      const values = { ...trial.values, rate_per_s: rate };
      return { ...trial, values, throughput };
    };
    const counted = its.map((it, index) => drawn(it, [30, 10, 20][index], index + 1));
    const aside = its.slice(0, 2).map((it) => ({ ...drawn(it, 5, 99), attempt: 2 }));
    report.trials = [...counted, ...aside, ...others];
  };
  const { context, page } = await openChanged(browser, {}, "REPORT", attempts);
  const title = "Requests/s over time";
  assert.deepEqual(await drawnOf(page, title, "nginx-default"), [3, 3], "of the third round");
  await page.selectOption('[aria-label="Round shown over time"]', "1");
  assert.deepEqual(await drawnOf(page, title, "nginx-default"), [1, 1]);
  await context.close();
});

test("a round that a cell does not have is not chosen there", async () => {
  const stopped = (report) => {
    report.trials = report.trials.filter((it) => it.workload !== "proxy" || it.round < 3);
  };
  const { context, page } = await openChanged(browser, {}, "REPORT", stopped);
  const round = page.locator('[aria-label="Round shown over time"]');
  const chart = 'figure[data-chart="Requests/s over time"]';
  await round.selectOption("3");
  await page.click('[aria-label="Workload"] button:nth-of-type(2)');
  assert.equal(await round.inputValue(), "", "the median round again");
  assert.match(await page.getAttribute(chart, "data-series"), /nginx-default/);
  await context.close();

  const linked = await open(browser, {}, "REPORT", "#round=9");
  assert.match(await linked.page.getAttribute(chart, "data-series"), /nginx-default/);
  await linked.context.close();
});

test("links between hosts are shown with both measurements, and only where there are hosts", async () => {
  const plain = await open(browser);
  const links = '[aria-label="Links between hosts"]';
  assert.equal(await plain.page.locator(links).count(), 0);
  await plain.context.close();
  for (const width of [1400, 400]) {
    const viewport = { width, height: 900 };
    const { context, page, seen } = await open(browser, { viewport }, "REPORT_HOSTS");
    const rows = await page.locator(`${links} tbody tr`).allInnerTexts();
    const cells = rows.map((row) => row.split(/\s*\t\s*/).map((cell) => cell.trim()));
    assert.deepEqual(cells, [
      ["sut", "g1", "96.0 Mbit/s", "80.0 Mbit/s", "0.120", "changed: -16.7 %"],
      ["sut", "g2", ">= 9.50 Gbit/s", "–", "0.120", ""],
    ]);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `the page is ${wide} pixels wide at ${width}`);
    assert.deepEqual(seen.errors, []);
    await context.close();
  }
});

test("a trial has the p99 beside its name where the load makes the rate", async () => {
  const { context, page } = await open(browser, {}, "REPORT_ANSWER");
  const poisson = page.locator('[aria-label="Load"] button').nth(2);
  assert.equal(await poisson.getAttribute("title"), "4,000 requests/s, Poisson, 50 clients");
  await poisson.click();
  const trial = page.locator(".trials > details > summary .muted").first();
  assert.match(await trial.textContent(), /^ p99 [\d.]+ [µm]s$/);
  await context.close();
});

test("loads of one rate keep names that tell them apart", async () => {
  const { context, page } = await open(browser, {}, "REPORT_CONSTANT");
  const heads = await page.locator('[aria-label="Load"] button').allTextContents();
  assert.deepEqual(heads.slice(0, 2), ["r500-c10-n2500", "r500-c200"]);
  await context.close();
});

test("a number's own verdict is what its trial says", async () => {
  const own = (report) => {
    const weak = { rate: "valid", latency: "invalid", cpu: "suspect", memory: "suspect", counts: "suspect" };
    const [cell] = report.cells;
    const [trial, other] = report.trials.filter(
      (it) =>
        it.contender === cell.contender && it.workload === cell.workload && it.load === cell.load,
    );
    Object.assign(trial, { verdict: "invalid", verdicts: { ...weak, rate: "suspect" } });
    const all = Object.fromEntries(Object.keys(weak).map((name) => [name, "invalid"]));
    Object.assign(other, { verdict: "invalid", verdicts: all });
  };
  const { context, page } = await openChanged(browser, {}, "REPORT", own);
  const verdicts = await page.locator(".trials > details > summary .verdict").allTextContents();
  assert.equal(verdicts[0], "invalid: rate suspect, latency, cpu suspect, memory suspect, counts suspect");
  assert.equal(verdicts[1], "invalid", "all of them");
  await context.close();
});

test("trials name the numbers that are not valid, and which check says so", async () => {
  const { context, page } = await open(browser, {}, "REPORT_ANSWER");
  const trial = page.locator('.trials > details[data-trial="r1-nginx-optimized-synthetic-c10"]');
  await unfold(trial);
  assert.equal(await trial.locator("> summary .verdict").textContent(), "suspect: latency, rate");
  const checks = await trial.locator(".checks li").allTextContents();
  assert.match(checks[0], /^generator-ceiling \(R10\) latency, rate: /);
  await context.close();
});

test("a note is told once, with some of its cells", async () => {
  const { context, page } = await open(browser, {}, "REPORT_ANSWER");
  const note = page.locator("#note-1");
  assert.match(await note.textContent(), /^\[1\] generator-ceiling \(R10\)/);
  assert.equal(await note.locator("li").count(), 2);
  const known = await page.locator('section:has(> h2:text("What to know")) li').allTextContents();
  const shared = known.filter((one) => one.includes("shared-cores"));
  assert.equal(shared.length, 1);
  assert.match(shared[0], /\d+ more cells likewise\.$/);
  await context.close();
});

test("the bar stays in sight and small, however narrow the screen and many the contenders", async () => {
  const crowd = (report) => {
    const [one] = report.campaign.contenders;
    for (let number = 1; number <= 30; number += 1) {
      report.campaign.contenders.push({ ...one, name: `contender-number-${number}` });
    }
  };
  for (const [width, height] of [
    [1400, 900],
    [400, 800],
  ]) {
    const viewport = { width, height };
    const { context, page } = await openChanged(browser, { viewport }, "REPORT_ANSWER", crowd);
    await page.locator('figure[data-chart="Memory over time"]').scrollIntoViewIfNeeded();
    const bar = await page.locator(".bar").boundingBox();
    assert.ok(Math.abs(bar.y) < 1 && bar.height <= height / 10, `${bar.height} high at ${bar.y}`);
    await page.locator(".legend button").last().click();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `the page is ${wide} wide`);
    await context.close();
  }
});
