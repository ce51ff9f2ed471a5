// Which parts of the results come from which line of the spec. Such a part has the attribute
// data-from; hovering, the caret and clicks on one side show on the other.

export class Links {
  /** Calls onHover(line) and onChoose(line) for the parts of `panel`; 0 for none. */
  constructor(panel, { onHover, onChoose }) {
    this.panel = panel;
    const lineOf = (event) => Number(event.target.closest?.("[data-from]")?.dataset.from ?? 0);
    panel.addEventListener("mouseover", (event) => onHover(lineOf(event)));
    panel.addEventListener("mouseleave", () => onHover(0));
    panel.addEventListener("click", (event) => {
      const line = lineOf(event);
      if (line)
        onChoose(line);
    });
  }

  /** Marks what comes from `line`, if anything; kind: "hovered" or "linked". */
  mark(kind, line) {
    for (const part of this.panel.querySelectorAll(`.${kind}`))
      part.classList.remove(kind);
    const parts = this.partsOf(line);
    for (const part of parts)
      part.classList.add(kind);
    return parts.length > 0;
  }

  /** Scrolls to the first part that comes from `line`, unless one is in view. */
  reveal(line) {
    const parts = this.partsOf(line);
    const frame = this.panel.getBoundingClientRect();
    const isSeen = (part) => {
      const box = part.getBoundingClientRect();
      return box.height && box.top >= frame.top && box.bottom <= frame.bottom;
    };
    if (!parts.some(isSeen))
      parts[0]?.scrollIntoView({ block: "center", inline: "nearest" });
  }

  partsOf(line) {
    return line ? [...this.panel.querySelectorAll(`[data-from="${line}"]`)] : [];
  }
}
