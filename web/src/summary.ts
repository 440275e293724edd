// What a reader must know of the campaign, below the answer.

import { element } from "./dom.ts";
import type { Report } from "./model.ts";

const MARKS = { good: "✓", note: "i", warning: "!", bad: "✕" } as const;
const WORDS = { good: "Good", note: "Note", warning: "Careful", bad: "Not to be used" } as const;

/** The sentences of the summary; what only sums up a note is folded away under it. */
export function summary(report: Report): HTMLElement {
  const list = element("ul", { class: "summary" });
  const folded = element("ul", { class: "summary" });
  for (const sentence of report.summary) {
    const mark = element("span", {
      class: "mark",
      role: "img",
      "aria-label": WORDS[sentence.tone],
    });
    mark.append(MARKS[sentence.tone]);
    const number = sentence.note === null ? "" : `[${sentence.note}] `;
    const line = element("li", { "data-tone": sentence.tone }, mark, `${number}${sentence.text}`);
    (sentence.note === null ? list : folded).append(line);
  }
  const box = element("section", { class: "believe", "aria-label": "What to know" });
  box.append(element("h2", {}, "What to know"), list);
  if (folded.childElementCount > 0) {
    const count = folded.childElementCount;
    const label = `${count} ${count === 1 ? "finding" : "findings"} behind the verdicts`;
    box.append(element("details", {}, element("summary", {}, label), folded));
  }
  return box;
}
