// Parts of a drawing that can be opened by keyboard: buttons over it that a mouse does not see.
// One of them is in the order of Tab, and arrows go from one to the next, so that a drawing of
// many rows takes one press to pass.

import { element } from "../dom.ts";

/** A part of a drawing. */
export interface Stop {
  /** What it is, so that the focus stays on it when the drawing changes. */
  key: string;
  label: string;
  /** Where it is in the drawing, points. */
  top: number;
  height: number;
  open: () => void;
}

/** How far an arrow goes. */
const STEPS: Record<string, (at: number, count: number) => number> = {
  ArrowDown: (at, count) => Math.min(at + 1, count - 1),
  ArrowUp: (at) => Math.max(at - 1, 0),
  Home: () => 0,
  End: (_, count) => count - 1,
};

export class Stops {
  readonly box: HTMLElement;
  private current = "";

  constructor(label: string) {
    const attributes = { class: "stops", role: "toolbar", "aria-orientation": "vertical" };
    this.box = element("div", { ...attributes, "aria-label": label });
    this.box.addEventListener("keydown", (event) => {
      const buttons = this.buttons();
      const at = buttons.findIndex((one) => one === event.target);
      const to = at < 0 ? undefined : STEPS[event.key]?.(at, buttons.length);
      const next = to === undefined ? undefined : buttons[to];
      if (!next) return;
      event.preventDefault();
      this.choose(next);
      next.focus();
    });
  }

  /** Shows these stops in the place of those before, and keeps the focus where it was. */
  show(stops: Stop[]): void {
    const had = this.box.contains(document.activeElement);
    this.box.hidden = stops.length === 0;
    this.box.replaceChildren(...stops.map((stop) => this.button(stop)));
    const buttons = this.buttons();
    const chosen = buttons.find((one) => one.dataset["stop"] === this.current) ?? buttons[0];
    if (!chosen) return;
    this.choose(chosen);
    if (had) chosen.focus({ preventScroll: true });
  }

  private buttons(): HTMLButtonElement[] {
    return [...this.box.querySelectorAll("button")];
  }

  private button(stop: Stop): HTMLElement {
    const { key, label, top, height, open } = stop;
    const made = element("button", { type: "button", "data-stop": key, "aria-label": label });
    made.style.top = `${top}px`;
    made.style.height = `${height}px`;
    made.addEventListener("focus", () => this.choose(made));
    made.addEventListener("click", open);
    return made;
  }

  private choose(chosen: HTMLElement): void {
    this.current = chosen.dataset["stop"] ?? "";
    for (const one of this.buttons()) one.tabIndex = one === chosen ? 0 : -1;
  }
}
