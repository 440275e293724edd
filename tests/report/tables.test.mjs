// Every table of Markdown and of CSV is on the page, with the same names and the same figures.
// Run with REPORT_ANSWER and the other pages, each with Markdown and CSV beside it: see run.sh.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch, open, reportAddress } from "./browser.mjs";

let browser;
before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

/** What stands beside a page, in another format. */
const beside = (variable, ending) =>
  readFile(fileURLToPath(reportAddress(variable)).replace(/html$/, ending), "utf8");

/** The tables of Markdown as rows of fields, their heads first. */
function tablesOf(markdown) {
  const plain = (field) =>
    field
      .replaceAll("<!-- -->", "")
      .replaceAll(/\\(.)/g, "$1")
      .replaceAll("&lt;", "<")
      .replaceAll("&gt;", ">")
      .replaceAll("&amp;", "&")
      .trim();
  const rows = (block) => block.trim().split("\n").filter((line) => !/^\| -+:?/.test(line));
  const blocks = markdown.match(/(^\|.*\n)+/gm) ?? [];
  return blocks.map((block) =>
    rows(block).map((line) => line.slice(2, -2).split(/ \| |(?<=^) ?\| /).map(plain)),
  );
}

/** The tables of the page in the same form. References have no brackets, and holes have a dash. */
function tablesOn(page) {
  return page.$$eval("table", (all) =>
    all.map((table) => {
      const field = (cell) => {
        const name = cell.querySelector(".named")?.childNodes[1]?.textContent;
        return name ?? cell.textContent.replace(/ [↑↓]$/, "").replace(/^–$/, "").trim();
      };
      const head = [...table.tHead.rows[0].cells].map((cell) => {
        const unit = cell.querySelector("small")?.textContent ?? "";
        const title = cell.textContent.slice(0, cell.textContent.length - unit.length).trim();
        return unit === "" ? title : `${title} (${unit})`;
      });
      return [head, ...[...table.tBodies[0].rows].map((row) => [...row.cells].map(field))];
    }),
  );
}

for (const variable of ["REPORT_ANSWER", "REPORT_HOSTS", "REPORT_CONSTANT", "REPORT_FAILED"]) {
  test(`the tables of Markdown are on the page, ${variable}`, async () => {
    const { context, page } = await open(browser, {}, variable);
    const onPage = (await tablesOn(page)).map((table) => JSON.stringify(table));
    const written = tablesOf(await beside(variable, "md"));
    assert.ok(written.length > 3, `${written.length} tables`);
    for (const table of written) {
      const [head, ...rows] = table;
      const named = rows.map((row) => row.map((field) => field.replace(/^\((.*)\)$/, "$1")));
      assert.ok(onPage.includes(JSON.stringify([head, ...named])), JSON.stringify(table));
    }
    await context.close();
  });

  test(`the values of CSV are on the page, ${variable}`, async () => {
    const { context, page } = await open(browser, {}, variable);
    const values = await page.$$eval("#all-tables td[data-value]", (all) =>
      all.map((one) => Number(one.dataset.value)),
    );
    const known = new Set(values);
    const lines = (await beside(variable, "csv")).trimEnd().split("\n");
    const [names, ...rows] = lines.map((line) => line.split(","));
    for (const name of ["rate_per_s", "latency_p50_ns", "latency_p99_ns", "memory_peak_bytes"]) {
      const found = rows.map((row) => row[names.indexOf(name)]).filter((field) => field !== "");
      assert.ok(found.length > 0, name);
      for (const field of found) assert.ok(known.has(Number(field)), `${name}: ${field}`);
    }
    await context.close();
  });
}
