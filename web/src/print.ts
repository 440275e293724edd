// A print shows what the page holds: what is folded is unfolded for it, and folded again after. It
// is light, whatever the theme on the screen is.

import { printing } from "./theme.ts";

/** Unfolds the page while it is printed; single trials stay as the reader left them. */
export function printWhole(): void {
  let opened: HTMLDetailsElement[] = [];
  window.addEventListener("beforeprint", () => {
    const all = document.querySelectorAll<HTMLDetailsElement>("details:not([open])");
    opened = [...all].filter((one) => !one.matches(".save, [data-trial], [data-trial] *"));
    for (const one of opened) one.open = true;
    printing(true);
  });
  window.addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    opened = [];
    printing(false);
  });
}
