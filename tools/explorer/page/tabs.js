// Tabs as the ARIA practices have them: the arrow keys, Home and End choose.

import { element } from "./dom.js";

const keyOf = (tab) => tab.dataset.key;

export class Tabs {
  /** Calls onChoose(key) when a person chooses a tab. */
  constructor(list, panel, id, label, onChoose) {
    this.list = list;
    this.panel = panel;
    this.id = id;
    this.onChoose = onChoose;
    list.setAttribute("aria-label", label);
    panel.id = `${id}-panel`;
    list.addEventListener("click", (event) => this.choose(event.target.closest("[role=tab]")));
    list.addEventListener("keydown", (event) => this.onKey(event));
  }

  /** Shows these tabs, [key, title] each; the same ones stay, and with them the focus. */
  show(tabs) {
    if (tabs.map(([key]) => key).join() === [...this.list.children].map(keyOf).join())
      return;
    this.list.replaceChildren(...tabs.map(([key, title]) => element("button", {
      type: "button", role: "tab", id: `${this.id}-${key}`, "data-key": key,
      "aria-controls": this.panel.id,
    }, title)));
  }

  /** Marks the tab of `key` as the chosen one. */
  select(key) {
    for (const tab of this.list.children) {
      const isChosen = keyOf(tab) === key;
      tab.setAttribute("aria-selected", isChosen);
      tab.tabIndex = isChosen ? 0 : -1;
      if (isChosen)
        this.panel.setAttribute("aria-labelledby", tab.id);
    }
  }

  focus() {
    this.list.querySelector("[aria-selected=true]").focus();
  }

  onKey(event) {
    const tabs = [...this.list.children], at = tabs.indexOf(document.activeElement);
    const to = {
      ArrowLeft: (at - 1 + tabs.length) % tabs.length, ArrowRight: (at + 1) % tabs.length,
      Home: 0, End: tabs.length - 1,
    }[event.key];
    if (at < 0 || to === undefined || event.altKey)
      return;
    event.preventDefault();
    tabs[to].focus();
    this.choose(tabs[to]);
  }

  choose(tab) {
    if (!tab)
      return;
    this.select(keyOf(tab));
    this.onChoose(keyOf(tab));
  }
}
