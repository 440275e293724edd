// Rules of WCAG 2.1, A and AA, as axe-core checks them: wide and narrow, light and dark, folded and
// unfolded. Run with REPORT_ANSWER: see run.sh.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, open } from "./browser.mjs";
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

for (const [width, height] of [
  [1400, 900],
  [400, 800],
]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`no violation at ${width} x ${height}, ${colorScheme}`, async () => {
      const options = { viewport: { width, height }, colorScheme };
      const { context, page } = await open(browser, options, "REPORT_ANSWER");
      await page.evaluate(axe);
      assert.deepEqual(await violations(page), []);
      await page.click('.legend [data-series="caddy-default"]');
      await page.click('#table [data-sort="p99"]');
      for (const details of await page.$$("details")) {
        await details.evaluate((one) => {
          if (!one.matches(".save")) one.open = true;
        });
      }
      await page.waitForFunction(() =>
        [...document.querySelectorAll(".trials > details")].every((one) => one.querySelector(".checks")),
      );
      assert.deepEqual(await violations(page), [], "with everything unfolded");
      await context.close();
    });
  }
}
