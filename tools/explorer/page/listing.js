// Texts of one stage, by line, as a list that the arrow keys walk through.

import { button, element } from "./dom.js";
import { plural } from "./quantities.js";
import { colouredLine, partsOfText } from "./syntax.js";

const chunkLines = 100;

function lineElement(text, i, from) {
  return element("div", {
    class: "line", role: "option", "data-number": i + 1, "data-from": from || undefined,
  }, text);
}

/** The lines of a text; a chunk of them is coloured when it comes into view. */
function chunks(text, emit) {
  const lines = text.text.replace(/\n$/, "").split("\n");
  const made = [];
  const colour = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting)
        continue;
      colour.unobserve(target);
      for (const line of target.children) {
        const content = line.textContent;
        line.replaceChildren(colouredLine(content, partsOfText[emit](content)));
      }
    }
  }, { rootMargin: "400px" });
  for (let at = 0; at < lines.length; at += chunkLines) {
    const chunk = element("div", { class: "chunk", role: "presentation" },
      lines.slice(at, at + chunkLines)
        .map((line, i) => lineElement(line, at + i, text.lines?.[at + i])));
    colour.observe(chunk);
    made.push(chunk);
  }
  return { made, count: lines.length };
}

/** The arrow keys move a cursor from line to line, Enter goes to the spec. */
class Cursor {
  constructor(list, id, onChoose) {
    this.list = list;
    this.id = id;
    this.lines = [...list.querySelectorAll(".line")];
    this.at = -1;
    list.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -20, PageDown: 20 }[event.key];
      if (step)
        this.move(Math.min(Math.max(this.at + step, 0), this.lines.length - 1));
      else if (event.key === "Home" || event.key === "End")
        this.move(event.key === "Home" ? 0 : this.lines.length - 1);
      else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && this.at >= 0)
        onChoose(Number(this.lines[this.at].dataset.from ?? 0));
      else
        return;
      event.preventDefault();
    });
    list.addEventListener("click", (event) => {
      const line = event.target.closest(".line");
      if (line)
        this.move(this.lines.indexOf(line));
    });
  }

  move(to) {
    const before = this.lines[this.at], line = this.lines[to];
    before?.removeAttribute("id");
    before?.setAttribute("aria-selected", "false");
    line.id = this.id;
    line.setAttribute("aria-selected", "true");
    this.list.setAttribute("aria-activedescendant", this.id);
    line.scrollIntoView({ block: "nearest", inline: "nearest" });
    this.at = to;
  }
}

/** The texts of an answer of compile. */
export class Listing {
  /** onChoose(line): Enter was pressed at what comes from that line of the spec. */
  constructor(answer, emit, id, onChoose) {
    this.list = element("div", {
      class: `listing ${emit}`, role: "listbox", tabindex: 0,
      "aria-label": `${emit} of ${answer.spec}`,
    });
    let lines = 0;
    for (const text of answer.texts) {
      if (answer.texts.length > 1)
        this.list.append(element("div", { class: "name", role: "presentation" }, text.name));
      const { made, count } = chunks(text, emit);
      this.list.append(...made);
      lines += count;
    }
    this.cursor = new Cursor(this.list, `${id}-line`, onChoose);
    const { clipboard } = navigator; // absent where the page comes without TLS from elsewhere
    const copy = button("Copy", async () => {
      const said = clipboard.writeText(answer.texts.map((text) => text.text).join("\n"));
      copy.textContent = await said.then(() => "Copied", () => "Not allowed");
    });
    const kernels = answer.texts.length > 1 ? `, ${plural(answer.texts.length, "kernel")}` : "";
    this.element = element("div", { class: "stage" },
      element("div", { class: "said" }, element("span", {}, plural(lines, "line") + kernels),
        clipboard ? copy : undefined),
      this.list);
  }

  /** Puts the cursor on the first line that comes from a line of the spec. */
  goTo(from) {
    const at = this.cursor.lines.findIndex((line) => Number(line.dataset.from) === from);
    if (at < 0)
      return;
    this.list.focus({ preventScroll: true });
    this.cursor.move(at);
  }
}
