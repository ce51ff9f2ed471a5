// Elements, built from text and attributes alone: nothing that data holds becomes markup.

const svgSpace = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false)
      node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return node;
}

/** <tag attributes>children</tag>; strings become text. Attributes without a value are left out. */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function drawn(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(svgSpace, tag), attributes, children);
}

export function button(text, action, attributes = {}) {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", action);
  return made;
}

/** What may be wider than the page, in a box of its own that the keyboard can scroll. */
export function scrolling(label, content) {
  return element("div", { class: "scrolls", tabindex: 0, role: "group", "aria-label": label },
    content);
}

/** Table cells from texts, the first of each row as its head. */
export function table(heads, rows, attributes = {}) {
  const cell = (content, i) => element(i ? "td" : "th", i ? {} : { scope: "row" }, content);
  return element("table", attributes,
    element("thead", {}, element("tr", {},
      heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, rows.map((row) => element("tr", {}, row.map(cell)))));
}
