// Filters of the index. Everything is in the page already: this only hides what does not match,
// and keeps the choice in the address, so that it can be linked to.
"use strict";
(function () {
  const form = document.getElementById("filters");
  const text = document.getElementById("text");
  const count = document.getElementById("count");
  const selects = Array.from(form.querySelectorAll("select"));
  const items = Array.from(document.querySelectorAll("[data-filtered]"), (element) => ({
    element,
    // A ranking stands below the name of its machine.
    text: [element.closest(".machine")?.firstElementChild.textContent, element.textContent]
      .join(" ")
      .toLowerCase(),
    lists: Object.fromEntries(
      selects.map((select) => [select.id, JSON.parse(element.dataset[select.id] || "[]")]),
    ),
  }));
  const records = items.filter((item) => item.element.matches(".records > li"));
  const rankings = items.filter((item) => item.element.matches("details"));
  const none = document.getElementById("none");
  const machines = Array.from(document.querySelectorAll(".machine"));

  function apply() {
    const terms = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of items) {
      const matches =
        terms.every((term) => item.text.includes(term)) &&
        selects.every((select) => !select.value || item.lists[select.id].includes(select.value));
      item.element.hidden = !matches;
    }
    for (const machine of machines) {
      machine.hidden = !machine.querySelector("details:not([hidden])");
    }
    none.hidden = rankings.length === 0 || rankings.some((item) => !item.element.hidden);
    const shown = records.filter((item) => !item.element.hidden).length;
    const all = records.length;
    const noun = all === 1 ? "record" : "records";
    count.textContent = shown === all ? `${all} ${noun}` : `${shown} of ${all} ${noun}`;
  }

  function keep() {
    const chosen = new URLSearchParams();
    for (const field of [text, ...selects]) if (field.value) chosen.set(field.id, field.value);
    const hash = chosen.toString();
    history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  }

  function take() {
    // Other marks, such as #rankings, are places in the page.
    if (location.hash && !location.hash.includes("=")) return;
    const chosen = new URLSearchParams(location.hash.slice(1));
    for (const field of [text, ...selects]) field.value = chosen.get(field.id) || "";
    for (const select of selects) if (select.selectedIndex < 0) select.value = "";
    apply();
  }

  function change() {
    apply();
    keep();
  }

  form.addEventListener("input", change);
  form.addEventListener("reset", () => setTimeout(change));
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", take);
  form.hidden = false;
  take();
})();
