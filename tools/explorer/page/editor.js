// The editor of a spec: a textarea, so that undo, input methods and pasting are the browser's own,
// above the same text in colours. Both have the size of the text, and the box around them scrolls.

import { element } from "./dom.js";
import { colouredLine, specParts } from "./syntax.js";

const margin = 24; // pixels that are kept in sight around a place

/** The offset in a line of a column that is counted in characters, from 1. */
function offsetOf(line, column) {
  return [...line].slice(0, column - 1).join("").length;
}

/** What is underlined from `start` on: a word, or one character; at the end of a line the last. */
function markOf(line, start, severity) {
  const from = Math.min(start, Math.max(line.trimEnd().length - 1, 0));
  const [word] = line.slice(from).match(/^[\p{L}\p{N}_]+|^./u) ?? [""];
  return [from, from + word.length, `finding ${severity}`];
}

export class Editor {
  /**
   * box: the element of the template. Calls onInput() when the text has changed, onCaret(line) and
   * onClick(line) when the caret is in another line or set by the mouse, and onHover(line), 0 for
   * none. Lines count from 1.
   */
  constructor(box, label, { onInput, onCaret, onClick, onHover }) {
    this.box = box;
    this.gutter = box.querySelector(".gutter");
    this.overlay = box.querySelector(".overlay");
    this.area = box.querySelector("textarea");
    this.area.setAttribute("aria-label", label);
    this.findings = [];
    this.hovered = this.caretLine = this.linked = 0;
    this.onHover = onHover;
    this.onCaret = onCaret;
    this.area.addEventListener("input", () => {
      const lines = this.text.split("\n");
      this.findings = this.findings.filter((one) => one.text === lines[one.line - 1]);
      this.draw();
      onInput();
    });
    for (const moved of ["input", "keyup", "mouseup", "focus"])
      this.area.addEventListener(moved, () => this.followCaret());
    this.area.addEventListener("click", () => onClick(this.caret.line));
    this.area.addEventListener("mousemove", (event) => this.hover(this.lineAt(event.clientY)));
    this.area.addEventListener("mouseleave", () => this.hover(0));
  }

  get text() {
    return this.area.value;
  }

  /** Shows another text; what was typed before cannot be had back by undo. */
  set text(text) {
    this.area.value = text;
    this.findings = [];
    this.draw();
  }

  /** Replaces the text as a person would, so that undo brings the old one back. */
  replace(text) {
    this.area.focus();
    this.area.select();
    // The only way to write into a textarea that keeps the history of undo.
    if (!document.execCommand("insertText", false, text)) {
      this.area.value = text;
      this.area.dispatchEvent(new Event("input"));
    }
    this.area.setSelectionRange(0, 0);
    this.followCaret();
    this.box.scrollTo(0, 0);
  }

  /** Underlines diagnostics of this text, each as long as its line stays as it is. */
  show(findings) {
    const lines = this.text.split("\n");
    this.findings = findings.map((one) => ({ ...one, text: lines[one.line - 1] }));
    this.area.setAttribute("aria-invalid", findings.some((one) => one.severity === "error"));
    this.draw();
  }

  draw() {
    const lines = this.text.split("\n");
    const parts = specParts(lines);
    this.overlay.replaceChildren(...lines.map((line, i) => {
      const marks = this.findings.filter((one) => one.line === i + 1)
        .map((one) => markOf(line, offsetOf(line, one.column), one.severity));
      const drawn = element("div", { class: "line" });
      drawn.append(colouredLine(line, parts[i], marks));
      return drawn;
    }));
    this.gutter.replaceChildren(...lines.map((_, i) => {
      const worst = this.findings.find((one) => one.line === i + 1)?.severity;
      return element("div", { class: worst }, String(i + 1));
    }));
    this.drawLines();
  }

  /** The lines that are hovered here, that have the caret, and that the results point at. */
  drawLines() {
    const kinds = { hovered: this.hovered, current: this.caretLine, linked: this.linked };
    for (const [kind, line] of Object.entries(kinds)) {
      for (const drawn of this.overlay.querySelectorAll(`.${kind}`))
        drawn.classList.remove(kind);
      this.overlay.children[line - 1]?.classList.add(kind);
    }
  }

  hover(line) {
    if (line === this.hovered)
      return;
    this.hovered = line;
    this.area.title = this.findings.filter((one) => one.line === line)
      .map((one) => `${one.message}\n${one.remedy}`).join("\n\n");
    this.drawLines();
    this.onHover(line);
  }

  /** Shows whether something of the results comes from the line of the caret. */
  showCaretLinks(hasLinks) {
    this.overlay.classList.toggle("has-links", hasLinks);
  }

  /** Marks a line that the results come from; 0 for none. */
  link(line) {
    this.linked = line;
    this.drawLines();
  }

  /** Scrolls to a character of a line, no further than needed. */
  reveal(line, offset = 0) {
    const drawn = this.overlay.children[line - 1];
    if (!drawn)
      return;
    const text = document.createRange();
    text.selectNodeContents(drawn);
    const { left, width } = text.getBoundingClientRect();
    const x = left + width * Math.min(offset / (drawn.textContent.length || 1), 1);
    const row = drawn.getBoundingClientRect(), frame = this.box.getBoundingClientRect();
    const start = frame.left + this.gutter.offsetWidth;
    this.box.scrollBy(Math.min(x - start, 0) || Math.max(x - frame.right + margin, 0),
      Math.min(row.top - frame.top, 0) || Math.max(row.bottom - frame.bottom + margin, 0));
  }

  /** Puts the caret at a place of the text. */
  select(line, column) {
    const lines = this.text.split("\n");
    const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    const offset = offsetOf(lines[line - 1] ?? "", column);
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(before + offset, before + offset);
    this.followCaret();
    this.reveal(line, offset);
  }

  /** The place of the caret, both from 1. */
  get caret() {
    const lines = this.text.slice(0, this.area.selectionStart).split("\n");
    return { line: lines.length, column: [...lines.at(-1)].length + 1 };
  }

  followCaret() {
    const { line } = this.caret;
    if (line === this.caretLine)
      return;
    this.caretLine = line;
    this.drawLines();
    this.onCaret(line);
  }

  lineAt(y) {
    const first = this.overlay.firstElementChild?.getBoundingClientRect();
    const line = first ? Math.floor((y - first.top) / first.height) + 1 : 0;
    return line >= 1 && line <= this.overlay.childElementCount ? line : 0;
  }
}
