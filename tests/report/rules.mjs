// What axe-core finds in a page that it was put into.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"];

/** The script that is put into the page. */
export function axeSource() {
  return readFile(require.resolve("axe-core/axe.min.js"), "utf8");
}

/** What axe finds: rule, and the first places of it. */
export function violations(page) {
  return page.evaluate(async (rules) => {
    const found = await window.axe.run(document, {
      runOnly: { type: "tag", values: rules },
      // What passes is not described, which takes a third of the time.
      resultTypes: ["violations"],
    });
    return found.violations.map((one) => {
      const places = one.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`);
      return `${one.id} (${one.nodes.length}): ${places.join("; ")}`;
    });
  }, RULES);
}
