// Elements built from text. Strings from servers and files reach the page only through here, as
// text nodes and attribute values, never as markup.

export type Child = Node | string | null | undefined | false;

/** An element with attributes and children; a string becomes a text node. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) made.append(child);
  }
  return made;
}

/** A section with a heading that names it. */
export function section(title: string, ...children: Child[]): HTMLElement {
  return element("section", {}, element("h2", {}, title), ...children);
}

/** A definition list of the pairs that have a value. */
export function facts(pairs: [string, Child][]): HTMLDListElement {
  const list = element("dl", { class: "facts" });
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === false || value === "") continue;
    list.append(element("dt", {}, name), element("dd", {}, value));
  }
  return list;
}
