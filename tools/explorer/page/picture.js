// Who does what when: the steps of a kernel as a picture. It draws what explain's steps say: who
// copies and who computes, in which order, and which tile of the stream. Widths are those of the
// words; times are not known.

import { drawn } from "./dom.js";

const step = /^(copies|computes)\s*(\*?)\s*([^:]*)(?::\s*(.*))?$/;
const unit = 6.7, headingUnit = 5.6; // widths of characters, about
const height = 26, gap = 6, laneGap = 14, labels = 80, top = 34;

/** The steps in order: who, its name, what is said of it, and the tile of the stream it is of. */
function stepsOf(lines) {
  return lines.map((line) => line.match(step)).filter(Boolean)
    .map(([, who, star, name, said = ""]) => {
      const ahead = said.match(/(\d+) (tile|part)s? ahead/);
      return {
        who, name: name.trim(), said, isBefore: star === "*",
        isRow: said.includes("for each tile of rows"),
        tile: star ? "t−1" : ahead?.[2] === "tile" ? `t+${ahead[1]}` : "t",
      };
    });
}

function kindOf(one) {
  if (one.who === "stores")
    return "stored";
  if (one.who === "computes")
    return one.isBefore ? "compute before" : "compute";
  return one.isRow ? "resident" : one.isBefore ? "streamed before" : "streamed";
}

function box(one, x, y, label) {
  const width = Math.max(label.length * unit + 14, 30);
  const title = `${one.who} ${one.name}${one.said && `: ${one.said}`}`
    + (one.isBefore ? " (of the tile before)" : "");
  return {
    width,
    node: drawn("g", { class: kindOf(one) }, drawn("title", {}, title),
      drawn("rect", { x, y, width, height, rx: 4 }),
      drawn("text", { x: x + width / 2, y: y + height / 2 + 4, "text-anchor": "middle" }, label)),
  };
}

/** Boxes beside each other from x on; where they end. */
function row(steps, x, y, labelOf, into) {
  for (const one of steps) {
    const { width, node } = box(one, x, y, labelOf(one));
    into.push(node);
    x += width + gap;
  }
  return x - (steps.length ? gap : 0);
}

function heading(text, x) {
  return drawn("text", { x, y: 16, class: "heading" }, text);
}

/** What a lane is, in at most two lines. */
function laneLabel(words, y) {
  return words.map((word, i) => drawn("text",
    { x: 0, y: y + height / 2 + 4 + (i - (words.length - 1) / 2) * 13, class: "lane" }, word));
}

function whoCopies(kernel) {
  return kernel.schedule_report?.groups ? ["producer", "copies"] : ["every warp", "copies"];
}

function whoComputes(kernel) {
  const groups = kernel.schedule_report?.groups;
  if (groups)
    return [groups === 1 ? "1 group" : `${groups} groups`, groups === 1 ? "computes" : "compute"];
  return ["every warp", "computes"];
}

/** The picture of a kernel that streams, or undefined for one that has no steps. */
export function picture(kernel) {
  const steps = stepsOf(kernel.steps);
  if (!steps.length)
    return undefined;
  const copies = steps.filter((one) => one.who === "copies");
  const lanes = copies.length ? [top, top + height + laneGap] : [top, top];
  const nodes = copies.length ? laneLabel(whoCopies(kernel), lanes[0]) : [];
  nodes.push(...laneLabel(whoComputes(kernel), lanes[1]));

  const once = copies.filter((one) => one.isRow);
  let x = labels;
  if (once.length) {
    const words = "once for a tile of rows";
    nodes.push(heading(words, x));
    const end = row(once, x, lanes[0], (one) => one.name, nodes);
    x = Math.max(end, x + words.length * headingUnit) + 26;
  }
  const words = `for each tile t of ${kernel.stream.join(", ")}`;
  const loop = x - 8;
  const label = (one) => `${one.name} ${one.tile}`;
  const ends = [row(copies.filter((one) => !one.isRow), x, lanes[0], label, nodes),
    row(steps.filter((one) => one.who === "computes"), x, lanes[1], label, nodes)];
  nodes.push(heading(words, x));
  x = Math.max(...ends, x + words.length * headingUnit) + 8;
  const bottom = lanes[1] + height + 8;
  nodes.unshift(drawn("rect",
    { x: loop, y: top - 10, width: x - loop, height: bottom - top + 10, rx: 6, class: "loop" }));

  x += 18;
  nodes.push(heading("at the end", x));
  x = row(kernel.stores.map((name) => ({ who: "stores", name, said: "" })), x, lanes[1],
    (one) => one.name, nodes);
  const width = x + 40;
  return drawn("svg", {
    class: "picture", role: "img", width, height: bottom + 6,
    viewBox: `0 0 ${width} ${bottom + 6}`,
    "aria-label": `The steps of ${kernel.kernel}, in order: ${kernel.steps.join("; ")}`,
  }, nodes);
}

/** Bars of what bounds a step, in clocks, and the prediction; undefined without a prediction. */
export function bounds(report) {
  if (!report?.predicted)
    return undefined;
  const bars = [...Object.entries(report.bounds), ["predicted", report.predicted.clocks]];
  const most = Math.max(...bars.map(([, clocks]) => clocks));
  const [left, length, line] = [200, 260, 20];
  const nodes = bars.flatMap(([name, clocks], i) => {
    const kind = name === report.predicted.limit ? "bar limit"
      : name === "predicted" ? "bar predicted" : "bar";
    const width = Math.max(clocks / most * length, 1);
    return [
      drawn("text", { x: left - 8, y: i * line + 13, "text-anchor": "end" }, name),
      drawn("rect", { x: left, y: i * line + 3, width, height: 12, rx: 2, class: kind }),
      drawn("text", { x: left + width + 6, y: i * line + 13 }, String(Math.round(clocks))),
    ];
  });
  const width = left + length + 60, tall = bars.length * line + 4;
  const words = bars.map(([name, clocks]) => `${name} ${Math.round(clocks)}`).join(", ");
  return drawn("svg", {
    class: "bounds", role: "img", width, height: tall, viewBox: `0 0 ${width} ${tall}`,
    "aria-label": `Clocks of a step: ${words}`,
  }, nodes);
}
