// The library of the server as a dialog to choose from.

import { button, element } from "./dom.js";

export class Gallery {
  /** specs: {name, doc, text} each. Calls onChoose(spec). */
  constructor(specs, onChoose) {
    this.dialog = document.getElementById("gallery");
    this.search = document.getElementById("gallery-find");
    this.entries = specs.map((spec) => {
      const entry = element("li", {}, button("", () => {
        this.dialog.close();
        onChoose(spec);
      }));
      entry.firstElementChild.append(element("b", {}, spec.name),
        element("span", {}, spec.doc));
      return { entry, words: `${spec.name} ${spec.doc}`.toLowerCase() };
    });
    document.getElementById("gallery-list").append(...this.entries.map(({ entry }) => entry));
    this.search.addEventListener("input", () => this.filter());
    this.search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter")
        return;
      event.preventDefault();
      this.entries.find(({ entry }) => !entry.hidden)?.entry.firstElementChild.click();
    });
  }

  open() {
    this.search.value = "";
    this.filter();
    this.dialog.showModal();
    this.search.focus();
  }

  /** Every word has to occur. */
  filter() {
    const words = this.search.value.toLowerCase().split(/\s+/);
    for (const { entry, words: has } of this.entries)
      entry.hidden = !words.every((word) => has.includes(word));
  }
}
