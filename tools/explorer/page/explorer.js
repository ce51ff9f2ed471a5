// The page as a whole: its sides, its state in the URL, its keys.

import { comparedFigures, markDifferences } from "./comparison.js";
import { element } from "./dom.js";
import { decodePanes, encodePanes } from "./fragment.js";
import { Gallery } from "./gallery.js";
import { Pane } from "./pane.js";
import { Server } from "./server.js";

const stateKey = "attnc-explorer", themeKey = "attnc-theme";
const savePause = 300, noticeTime = 8000; // milliseconds
const byId = (id) => document.getElementById(id);

/** Says something for a while. */
let noticeTimer;
function notice(words) {
  byId("notice").textContent = words;
  byId("notice").hidden = false;
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => { byId("notice").hidden = true; }, noticeTime);
}

/** Asks for a token until one is given. */
function askToken(refused) {
  const dialog = byId("token");
  byId("token-refused").hidden = !refused;
  byId("token-text").value = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(byId("token-text").value), { once: true });
  });
}

/** The theme is the system's unless a person chooses. */
function setUpTheme() {
  const apply = (theme) => { document.documentElement.dataset.theme = theme; };
  byId("theme").value = localStorage.getItem(themeKey) ?? "system";
  apply(byId("theme").value);
  byId("theme").addEventListener("change", (event) => {
    localStorage.setItem(themeKey, event.target.value);
    apply(event.target.value);
  });
}

class Explorer {
  constructor(server, info) {
    this.server = server;
    this.info = info;
    this.panes = [];
    byId("version").textContent = info.version;
    this.gallery = new Gallery(info.specs, (spec) => this.active.editor.replace(spec.text));
  }

  async start() {
    await this.load(await this.firstState());
    this.setUpKeys();
    byId("open-gallery").addEventListener("click", () => this.gallery.open());
    byId("compare").addEventListener("click", () => this.compare());
    byId("share").addEventListener("click", () => this.share());
    byId("open-keys").addEventListener("click", () => byId("keys").showModal());
    addEventListener("hashchange", async () => {
      const panes = await this.decoded(location.hash.slice(1));
      if (panes)
        await this.load(panes);
    });
  }

  //===--- State ------------------------------------------------------------------------------===//

  async firstState() {
    return await this.decoded(location.hash.slice(1))
      ?? await this.decoded(localStorage.getItem(stateKey) ?? "") ?? [this.newState()];
  }

  newState() {
    const { specs, targets, gpu } = this.info;
    const spec = specs.find((one) => one.name === "causal") ?? specs[0];
    const target = gpu ?? (targets.includes("sm_90a") ? "sm_90a" : targets[0]);
    return {
      spec: spec?.text ?? "", target, tab: "explain",
      set: "", shape: "", param: "", grad: "", schedule: "",
    };
  }

  /** The panes of a fragment, or undefined where it is empty or cannot be read. */
  async decoded(fragment) {
    if (!fragment)
      return undefined;
    try {
      return await decodePanes(fragment);
    } catch (error) {
      notice(`${error.message}: what was here before stays`);
      return undefined;
    }
  }

  async load(states) {
    while (this.panes.length > states.length)
      this.panes.pop().element.remove();
    this.panes.forEach((pane, i) => pane.load(this.completed(states[i]), false));
    states.slice(this.panes.length).forEach((state) => this.addPane(state, false));
    this.arrange();
    await this.save();
  }

  addPane(state, typed) {
    const name = "ab"[this.panes.length];
    const pane = new Pane(byId("panes"), name, this.server, this.info.targets, {
      onChange: () => this.saveSoon(),
      onTab: (tab) => this.panes.forEach((one) => one.showTab(tab)),
      onAnswer: () => this.showComparison(),
    });
    pane.element.addEventListener("focusin", () => { this.active = pane; });
    this.panes.push(pane);
    this.arrange();
    pane.load(this.completed(state), typed);
  }

  completed(state) {
    return { ...state, target: state.target || this.newState().target };
  }

  saveSoon() {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.save(), savePause);
  }

  async save() {
    const fragment = await encodePanes(this.panes.map((pane) => pane.state));
    history.replaceState(null, "", `#${fragment}`);
    try {
      localStorage.setItem(stateKey, fragment);
    } catch {
      // Full, or not allowed here: the address has it.
    }
  }

  async share() {
    await this.save();
    try {
      await navigator.clipboard.writeText(location.href);
      notice("The link is copied. It holds specs and settings.");
    } catch {
      notice("Copy the address of this page: it holds specs and settings.");
    }
  }

  //===--- Two sides --------------------------------------------------------------------------===//

  arrange() {
    const two = this.panes.length > 1;
    if (!this.panes.includes(this.active))
      this.active = this.panes[0];
    byId("panes").classList.toggle("two", two);
    byId("compare").setAttribute("aria-pressed", two);
    byId("figures").hidden = !two;
    for (const pane of this.panes)
      pane.wantsFigures = two;
  }

  /** Opens the second side with the state of the first, or closes it. */
  async compare() {
    if (this.panes.length > 1) {
      this.panes.pop().element.remove();
      this.arrange();
    } else {
      this.addPane(this.panes[0].state, this.panes[0].typed);
    }
    this.panes[0].refreshShown();
    await this.save();
  }

  showComparison() {
    const [a, b] = this.panes;
    if (!b)
      return;
    if (a.rendered && a.rendered === b.rendered && a.rendered !== "explain")
      markDifferences(a.panel, b.panel);
    const figures = byId("figures");
    figures.replaceChildren(a.figures && b.figures
      ? comparedFigures(a.figures, b.figures)
      : element("p", { class: "soft" }, "Figures of both sides come when both compile."));
  }

  //===--- Keys -------------------------------------------------------------------------------===//

  setUpKeys() {
    const alt = (code) => (event) => event.altKey && !event.ctrlKey && event.code === code;
    const key = (name, shift) => (event) => event.key === name && event.shiftKey === shift;
    this.keys = [
      ["Ctrl Enter", "run on random inputs",
        (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey),
        () => this.active.run()],
      ["F8", "next finding", key("F8", false), () => this.active.goToFinding(1)],
      ["Shift F8", "previous finding", key("F8", true), () => this.active.goToFinding(-1)],
      ["F6", "next part of the page", key("F6", false), () => this.goToPart(1)],
      ["Shift F6", "previous part", key("F6", true), () => this.goToPart(-1)],
      ["Alt L", "from a line of the spec to what comes from it; Enter goes back", alt("KeyL"),
        () => this.active.followLine()],
      ["Alt G", "gallery", alt("KeyG"), () => this.gallery.open()],
      ["Alt C", "two sides or one", alt("KeyC"), () => this.compare()],
      ["Alt S", "share: copy the link", alt("KeyS"), () => this.share()],
      ["?", "this list, outside of text", (event) => event.key === "?" && !this.isTyping(event),
        () => byId("keys").showModal()],
    ];
    byId("keys-list").append(...this.keys.flatMap(([keys, words]) =>
      [element("dt", {}, keys.split(" ").map((one) => element("kbd", {}, one))),
        element("dd", {}, words)]),
      element("dt", {}, element("kbd", {}, "←"), element("kbd", {}, "→")),
      element("dd", {}, "other tabs, in the list of tabs"));
    document.addEventListener("keydown", (event) => {
      const found = this.keys.find(([, , matches]) => matches(event));
      if (!found || document.querySelector("dialog[open]"))
        return;
      event.preventDefault();
      found[3]();
    });
  }

  isTyping(event) {
    return event.target.matches("input, textarea, select");
  }

  goToPart(step) {
    const parts = this.panes.flatMap((pane) => pane.parts);
    const at = parts.findIndex((part) => part.contains(document.activeElement));
    const first = step > 0 ? 0 : parts.length - 1;
    parts[at < 0 ? first : (at + step + parts.length) % parts.length].focus();
  }
}

async function main() {
  setUpTheme();
  const server = new Server(askToken);
  const info = await server.info();
  if (!info.targets) {
    byId("panes").append(element("p", { class: "problem", role: "alert" },
      `${info.error.message}: ${info.error.remedy}`));
    return;
  }
  await new Explorer(server, info).start();
}

main();
