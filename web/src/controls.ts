// Tabs for workload and load, the round, and the legend that shows and hides contenders.

import { named } from "./document.ts";
import { element } from "./dom.ts";
import type { Selection } from "./selection.ts";

/** Tabs for workload and load, and the choice of round; redrawn with every change. */
export function tabs(selection: Selection): HTMLElement {
  const box = element("div", { class: "tabs" });
  const draw = () => {
    box.replaceChildren(
      group(
        "Workload",
        selection.workloads(),
        selection.workload,
        (name) => [name, ""],
        (workload) => selection.choose({ workload }),
      ),
      group(
        "Load",
        selection.loads(),
        selection.load,
        (label) => [selection.short(label), selection.title(label)],
        (load) => selection.choose({ load }),
      ),
      roundChoice(selection),
    );
  };
  selection.watch(draw);
  draw();
  return box;
}

function group(
  label: string,
  values: string[],
  chosen: string,
  face: (value: string) => [string, string],
  choose: (value: string) => void,
): HTMLElement {
  const box = element("div", { class: "tab-group", role: "group", "aria-label": label });
  box.append(element("span", { class: "label" }, label));
  for (const value of values) {
    const pressed = String(value === chosen);
    const [words, title] = face(value);
    const button = element("button", { type: "button", "aria-pressed": pressed }, words);
    if (title !== "") button.title = title;
    button.addEventListener("click", () => {
      choose(value);
      // The tabs were drawn anew: focus goes back to where it was.
      const again = document.querySelector(
        `.tab-group[aria-label="${label}"] [aria-pressed="true"]`,
      );
      if (again instanceof HTMLElement) again.focus({ preventScroll: true });
    });
    box.append(button);
  }
  return box;
}

function roundChoice(selection: Selection): HTMLElement | string {
  const rounds = selection.rounds();
  if (rounds.length < 2) return "";
  const select = element("select", { "aria-label": "Round shown over time" });
  select.append(element("option", { value: "" }, "median round"));
  for (const round of rounds) {
    const option = element("option", { value: String(round) }, `round ${round}`);
    option.selected = selection.choice.round === round;
    select.append(option);
  }
  select.addEventListener("change", () => {
    selection.choose({ round: select.value === "" ? null : Number(select.value) });
  });
  return element(
    "label",
    { class: "round" },
    element("span", { class: "label" }, "Curves of"),
    select,
  );
}

/** Every contender as a button; a click hides it in all charts, another shows it again. */
export function legend(selection: Selection): HTMLElement {
  const box = element("div", { class: "legend", role: "group", "aria-label": "Contenders shown" });
  const draw = () => {
    for (const button of box.querySelectorAll("button")) {
      const name = button.dataset["series"] ?? "";
      button.setAttribute("aria-pressed", String(!selection.hidden.has(name)));
    }
  };
  for (const contender of selection.report.campaign.contenders) {
    const button = element("button", { type: "button", "data-series": contender.name });
    button.append(named(contender.name, contender.kind));
    button.addEventListener("click", () => selection.toggle(contender.name));
    box.append(button);
  }
  selection.watch(draw);
  draw();
  return box;
}
