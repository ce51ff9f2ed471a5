// Two answers beside each other: which lines differ, and the figures of both.

import { element, scrolling, table } from "./dom.js";
import { bytes, count, plural, share } from "./quantities.js";

const mostSteps = 4_000_000; // of the longest common subsequence

/** Lines are the same but for indentation and the numbers that the printer gives to values. */
function keyOf(line) {
  return line.trim().replace(/(%[\w$.]*?)_?\d+\b/g, "$1");
}

/** The lengths of common subsequences of what follows each pair of lines. */
function lengthsOf(a, b) {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length; i-- > 0;) {
    for (let j = b.length; j-- > 0;) {
      const at = i * width + j;
      lengths[at] = a[i] === b[j] ? lengths[at + width + 1] + 1
        : Math.max(lengths[at + width], lengths[at + 1]);
    }
  }
  return (i, j) => lengths[i * width + j];
}

/** The indices of the lines of `a` and of `b` that the other does not have. */
export function differences(a, b) {
  const before = a.map(keyOf), after = b.map(keyOf);
  const shorter = Math.min(a.length, b.length);
  let first = 0, last = 0;
  while (first < shorter && before[first] === after[first])
    ++first;
  while (last < shorter - first && before.at(-1 - last) === after.at(-1 - last))
    ++last;
  const x = before.slice(first, a.length - last), y = after.slice(first, b.length - last);
  const length = x.length * y.length <= mostSteps ? lengthsOf(x, y) : undefined;
  const onlyA = [], onlyB = [];
  for (let i = 0, j = 0; i < x.length || j < y.length;) {
    const both = i < x.length && j < y.length;
    if (both && length && x[i] === y[j]) {
      ++i;
      ++j;
    } else if (i < x.length && (!both || !length || length(i + 1, j) >= length(i, j + 1))) {
      onlyA.push(first + i++);
    } else {
      onlyB.push(first + j++);
    }
  }
  return [onlyA, onlyB];
}

/** Marks the lines of two listings that the other does not have. */
export function markDifferences(a, b) {
  const linesOf = (panel) => [...panel.querySelectorAll(".listing .line")];
  const [left, right] = [linesOf(a), linesOf(b)];
  const sides = differences(left.map((line) => line.textContent),
    right.map((line) => line.textContent));
  for (const [lines, only] of [[left, sides[0]], [right, sides[1]]]) {
    const differing = new Set(only);
    lines.forEach((line, i) => line.classList.toggle("differs", differing.has(i)));
  }
}

/** The keys of a printed schedule: #tile.form<key = value, ...>. */
export function scheduleKeys(schedule) {
  const [, inside] = schedule.match(/<(.*)>$/) ?? [];
  return inside ? inside.split(", ").map((pair) => pair.split(" = ")) : [];
}

function kernelFigures(kernel) {
  const { schedule_report: report, resources } = kernel;
  const figures = [["form", kernel.form]];
  const add = (name, value, said) => {
    if (value !== undefined && value !== null)
      figures.push([name, said(value)]);
  };
  const plain = (value) => String(value);
  add("predicted clocks a step", report?.predicted?.clocks, (clocks) => String(Math.round(clocks)));
  add("limited by", report?.predicted?.limit, plain);
  add("of the tensor cores' peak", report?.predicted?.kernel_share, share);
  add("registers a thread", resources?.registers, plain);
  add("spilled bytes", resources && resources.spill_stores + resources.spill_loads, plain);
  add("shared memory", report?.shared_bytes, bytes);
  figures.push(...scheduleKeys(kernel.schedule).map(([key, value]) => [key, value]));
  return figures;
}

function figuresOf(answer) {
  const work = answer.total_work;
  const figures = [["kernels", String(answer.kernels.length)],
    ["FLOP in products", count(work.product_flops ?? 0)],
    ["read", bytes(work.bytes_read ?? 0)], ["written", bytes(work.bytes_written ?? 0)],
    ["between kernels", bytes(answer.materialised_bytes ?? 0)]];
  const isOnly = answer.kernels.length === 1;
  const ofKernels = answer.kernels.flatMap((kernel) => kernelFigures(kernel)
    .map(([name, value]) => [isOnly ? name : `${kernel.kernel}: ${name}`, value]));
  return new Map([...figures, ...ofKernels]);
}

/** The figures in which two answers of explain differ, a column each. */
export function comparedFigures(a, b) {
  const sides = [figuresOf(a), figuresOf(b)];
  const names = [...new Set(sides.flatMap((side) => [...side.keys()]))];
  const differing = names.filter((name) => sides[0].get(name) !== sides[1].get(name));
  const same = names.length - differing.length;
  const rows = sides.map((side, i) =>
    ["AB"[i], ...differing.map((name) => side.get(name) ?? "none")]);
  return element("div", {},
    element("p", { class: "soft" }, differing.length ? `${plural(differing.length, "figure")} `
      + `differ${differing.length === 1 ? "s" : ""}, ${same} are the same`
      : "All figures are the same"),
    differing.length
      ? scrolling("Figures that differ", table(["", ...differing], rows)) : undefined);
}
