// One side: a spec, its settings, and what the compiler makes of it.

import { button, element } from "./dom.js";
import { Editor } from "./editor.js";
import { explanation } from "./explanation.js";
import { Links } from "./links.js";
import { Listing } from "./listing.js";
import { plural } from "./quantities.js";
import { problem, RunView } from "./run.js";
import { chosenWords, questionOf } from "./settings.js";
import { Tabs } from "./tabs.js";
import { showVerdict, verdictLine } from "./verdict.js";

const typingPause = 200; // milliseconds without a key before the server is asked
const titles = {
  explain: "Explain", attn: "attn", red: "red", tile: "tile", cuda: "CUDA", ptx: "PTX",
  llvm: "LLVM", run: "Run",
};

/** The tabs of a target, and the one in place of a tab that it does not have. */
function tabsOf(target) {
  return target === "cpu" ? ["explain", "attn", "red", "llvm", "run"]
    : ["explain", "attn", "red", "tile", "cuda", "ptx", "run"];
}

function tabFor(tab, target) {
  const tabs = tabsOf(target);
  if (tabs.includes(tab))
    return tab;
  const last = target === "cpu" ? "llvm" : "cuda";
  return tab in titles ? last : "explain";
}

/** A check that could not compare has its findings with the spec. */
function diagnosticsOf(answer) {
  return [...(answer.diagnostics ?? []),
    ...(answer.checks ?? []).flatMap((check) => check.diagnostics ?? [])];
}

/** Whether a finding is in the text that was sent, and not in a spec that it extends. */
function isHere({ file }) {
  return file === undefined || file === "<stdin>";
}

/** A question with those of the settings that the command knows. */
function about(command, { spec, target, set, grad, schedule, shape, param }) {
  const question = { spec, target, set, grad, schedule };
  return { explain: { ...question, shape }, run: { ...question, shape, param } }[command]
    ?? question;
}

export class Pane {
  /**
   * Appends itself to `host`. Calls onChange() when its state has changed, onTab(key) when a
   * person chooses a tab, and onAnswer() when what it shows has changed.
   */
  constructor(host, name, server, targets, { onChange, onTab, onAnswer }) {
    this.name = name;
    this.server = server;
    this.onChange = onChange;
    this.onTab = onTab;
    this.onAnswer = onAnswer;
    this.typed = false; // what a link brings is compiled, but runs only if a person asks
    this.wantsFigures = false;
    const template = document.getElementById("pane-template");
    this.element = template.content.cloneNode(true).firstElementChild;
    this.element.setAttribute("aria-label", `Side ${name.toUpperCase()}`);
    this.find = (selector) => this.element.querySelector(selector);
    this.panel = this.find(".panel");
    this.verdict = this.find(".verdict");
    this.findingsBox = this.find(".findings");
    host.append(this.element);
    this.buildEditor();
    this.buildSettings(targets);
    this.tabs = new Tabs(this.find(".tabs"), this.panel, name, "Stages", (tab) => this.choose(tab));
    this.runView = new RunView(() => this.run(), () => this.running?.abort());
  }

  buildEditor() {
    this.editor = new Editor(this.find(".editor"), `Spec ${this.name.toUpperCase()}`, {
      onInput: () => this.changed(typingPause),
      onCaret: (line) => this.link(line),
      onClick: (line) => this.links.reveal(line),
      onHover: (line) => this.links.mark("hovered", line),
    });
    this.findingsBox.id = `${this.name}-findings`;
    this.editor.area.setAttribute("aria-describedby", this.findingsBox.id);
    this.links = new Links(this.panel, {
      onHover: (line) => {
        this.editor.link(line);
        this.links.mark("hovered", line);
      },
      onChoose: (line) => {
        this.editor.reveal(line);
        this.link(line);
      },
    });
  }

  buildSettings(targets) {
    this.form = this.find(".settings");
    this.form.target.append(...targets.map((target) => element("option", {}, target)));
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    this.form.addEventListener("input", () => this.changed(typingPause));
  }

  get state() {
    const { target, set, shape, param, grad, schedule } = this.form;
    return {
      spec: this.editor.text, target: target.value, tab: this.tab, set: set.value,
      shape: shape.value, param: param.value, grad: grad.value, schedule: schedule.value,
    };
  }

  /** Shows a state; whether a person typed it says whether it is checked, or compiled alone. */
  load(state, typed) {
    this.editor.text = state.spec;
    for (const field of ["set", "shape", "param", "grad", "schedule"])
      this.form[field].value = state[field];
    if (![...this.form.target.options].some((option) => option.value === state.target))
      this.form.target.append(element("option", {}, state.target));
    this.form.target.value = state.target;
    this.form.querySelector("details").open = chosenWords(state) !== "";
    this.tab = state.tab;
    this.typed = typed;
    this.refresh();
  }

  /** A person has changed something. */
  changed(delay) {
    this.typed = true;
    this.compiling?.abort();
    this.checking?.abort();
    this.running?.abort();
    this.runView.outdate();
    showVerdict(this.verdict, "pending", "checking on cpu");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(), delay);
    this.onChange();
  }

  /** Shows a tab; the state is another one, but nothing needs to be checked again. */
  choose(tab) {
    this.showTab(tab);
    this.onTab(tab);
    this.onChange();
  }

  showTab(tab) {
    if (this.tab === tab || !tabsOf(this.state.target).includes(tab))
      return;
    this.tab = tab;
    this.refreshShown();
  }

  //===--- Questions and answers --------------------------------------------------------------===//

  refresh() {
    this.tab = tabFor(this.tab, this.state.target);
    this.tabs.show(tabsOf(this.state.target).map((key) => [key, titles[key]]));
    this.found = new Map();
    this.refreshVerdict(); // first: it is soon done, and waited for
    this.refreshShown();
  }

  /** The question that the state asks, or undefined where a field makes no sense. */
  question() {
    const wrong = this.find(".settings .wrong");
    this.find(".chosen").textContent = chosenWords(this.state);
    try {
      const question = { spec: this.editor.text, ...questionOf(this.state) };
      wrong.hidden = true;
      return question;
    } catch (error) {
      wrong.textContent = error.message;
      wrong.hidden = false;
      return undefined;
    }
  }

  async refreshShown() {
    this.tabs.select(this.tab);
    this.runView.show(this.state.target);
    this.compiling?.abort();
    this.compiling = new AbortController();
    const question = this.question();
    this.panel.removeAttribute("aria-busy");
    if (!question)
      return;
    this.panel.setAttribute("aria-busy", "true");
    await this.dropStale(this.askShown(question, this.compiling.signal));
  }

  /** What was asked before the state changed has no answer. */
  async dropStale(answering) {
    try {
      await answering;
    } catch (error) {
      if (error.name !== "AbortError")
        throw error;
    }
  }

  async askShown(question, signal) {
    const tab = this.tab;
    const answer = tab === "explain"
      ? await this.server.ask("explain", about("explain", question), signal)
      : await this.server.ask("compile",
        { ...about("compile", question), emit: tab === "run" ? "attn" : tab }, signal);
    this.panel.removeAttribute("aria-busy");
    this.take(answer);
    this.render(tab, answer);
    this.figures = undefined;
    this.onAnswer();
    if (!this.wantsFigures || !answer.ok)
      return;
    const figures = await this.server.ask("explain", about("explain", question), signal);
    this.figures = figures.ok ? figures : undefined;
    this.onAnswer();
  }

  render(tab, answer) {
    const shown = { run: () => this.runView.element, explain: () => explanation(answer) }[tab]
      ?? (() => this.stage(answer, tab).element);
    const isSame = this.rendered === tab;
    this.panel.tabIndex = tab === "explain" ? 0 : -1;
    if (tab === "run" || answer.ok) {
      const scrolled = isSame ? this.scroller().scrollTop : 0;
      this.panel.replaceChildren(shown());
      this.scroller().scrollTop = scrolled;
      this.rendered = tab;
    } else {
      this.renderFailure(answer, isSame);
    }
    this.link(this.editor.caretLine);
  }

  stage(answer, tab) {
    this.listing = new Listing(answer, tab, this.name, (line) => {
      if (line)
        this.editor.select(line, 1);
    });
    return this.listing;
  }

  scroller() {
    return this.panel.querySelector(".listing") ?? this.panel;
  }

  /** Says what is wrong, above what the spec became before. */
  renderFailure(answer, keepsOld) {
    const errors = [...this.found.values()].filter((one) => one.severity === "error").length;
    const said = answer.error ? problem(answer.error) : element("div", { class: "problem" },
      element("p", {}, `The spec has ${plural(errors, "error")}.`
        + (keepsOld ? " Below is what came of it before." : "")));
    const old = this.panel.querySelector(".stage, .explanation");
    if (!keepsOld || !old || answer.error) {
      this.panel.replaceChildren(said);
      this.rendered = undefined;
      return;
    }
    old.classList.add("stale");
    this.panel.querySelector(".problem")?.remove();
    this.panel.prepend(said);
  }

  async refreshVerdict() {
    this.checking?.abort();
    if (!this.typed) {
      const check = button("Check", () => {
        this.typed = true;
        this.refreshVerdict();
      });
      showVerdict(this.verdict, "none", "not checked: nothing runs until you ask. ");
      this.verdict.firstElementChild.append(check);
      return;
    }
    this.checking = new AbortController();
    const question = this.question();
    if (!question) {
      showVerdict(this.verdict, "none", "not checked: a setting makes no sense");
      return;
    }
    showVerdict(this.verdict, "pending", "checking on cpu");
    await this.dropStale(this.askVerdict(question, this.checking.signal));
  }

  /** On the processor, whatever the target: that is there everywhere, and soon done. */
  async askVerdict(question, signal) {
    const asked = { ...about("check", question), target: "cpu", schedule: undefined };
    const answer = await this.server.ask("check", asked, signal);
    this.take(answer);
    const check = answer.checks?.[0];
    if (check?.comparisons)
      showVerdict(this.verdict, check.verdict, verdictLine(check), check);
    else if (diagnosticsOf(answer).length)
      showVerdict(this.verdict, "none", "not checked: the spec has errors");
    else
      showVerdict(this.verdict, "none", this.sentence(answer.error ?? check?.error));
  }

  sentence({ message, remedy }) {
    return `not checked: ${message}${remedy ? ` (${remedy})` : ""}`;
  }

  async run() {
    this.choose("run");
    this.running?.abort();
    const question = this.question();
    if (!question)
      return;
    const running = this.running = new AbortController();
    this.runView.busy(true);
    try {
      const asked = { ...about("run", question), ...this.runView.question };
      const answer = await this.server.ask("run", asked, running.signal);
      this.take(answer);
      this.runView.take(answer, diagnosticsOf(answer).length > 0);
    } catch (error) {
      if (error.name !== "AbortError")
        throw error;
      this.runView.result.replaceChildren();
    } finally {
      if (this.running === running)
        this.runView.busy(false);
    }
  }

  //===--- Findings and links -----------------------------------------------------------------===//

  /** Adds what an answer finds in the spec to what others found in the same one. */
  take(answer) {
    for (const one of diagnosticsOf(answer))
      this.found.set(JSON.stringify([one.file, one.line, one.column, one.message]), one);
    const findings = [...this.found.values()]
      .sort((a, b) => a.line - b.line || a.column - b.column);
    this.editor.show(findings.filter(isHere));
    this.findingsBox.hidden = !findings.length;
    this.findingsBox.replaceChildren(element("ul", {}, findings.map((one) =>
      element("li", { class: one.severity },
        this.findingPlace(one),
        element("span", { class: "message" }, `${one.severity}: ${one.message}`),
        one.remedy ? element("span", { class: "remedy" }, one.remedy) : undefined))));
  }

  findingPlace({ file, line, column }) {
    if (!isHere({ file }))
      return element("span", { class: "place" }, `${file}:${line}:${column}`);
    return button(`${line}:${column}`, () => this.editor.select(line, column),
      { "aria-label": `Go to line ${line}, column ${column}` });
  }

  /** Moves the caret to the next (1) or previous (-1) finding. */
  goToFinding(step) {
    const findings = step > 0 ? this.editor.findings : [...this.editor.findings].reverse();
    const { line, column } = this.editor.caret;
    const isBeyond = (one) => step * (one.line - line || one.column - column) > 0;
    const next = findings.find(isBeyond) ?? findings[0];
    if (next)
      this.editor.select(next.line, next.column);
  }

  link(line) {
    const hasLinks = this.links.mark("linked", line);
    this.editor.showCaretLinks(hasLinks && line === this.editor.caretLine);
  }

  /** Goes from the caret's line of the spec to what comes from it. */
  followLine() {
    const line = this.editor.caretLine;
    this.links.reveal(line);
    if (this.panel.contains(this.listing?.list))
      this.listing.goTo(line);
  }

  /** The parts that F6 goes through. */
  get parts() {
    return [this.editor.area, this.form.target,
      this.element.querySelector("[role=tab][aria-selected=true]"),
      this.panel.querySelector(".listing") ?? this.panel];
  }
}
