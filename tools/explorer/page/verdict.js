// Whether a program computes what its spec says: comparisons with the float64 evaluator.

import { element, scrolling, table } from "./dom.js";
import { milliseconds, real } from "./quantities.js";

const words = { ok: "agrees", failed: "DISAGREES", undecided: "undecided" };
const signs = { ok: "✓", failed: "✗", undecided: "?", pending: "…", none: "–" };

function worst(check) {
  return Math.max(...check.comparisons.map((one) => one.max_ratio ?? Infinity));
}

/** Each output on each kind of inputs: its error beside the tolerance that is derived for it. */
export function comparisonTable(check) {
  return table(["output", "inputs", "error", "tolerance", "ratio", "verdict"],
    check.comparisons.map((one) => [one.output, one.inputs, real(one.max_error),
      real(one.tolerance), real(one.max_ratio),
      one.undecided ? `${one.verdict}, ${one.undecided} of ${one.elements} undecided`
        : one.verdict]));
}

/** One line about a check. */
export function verdictLine(check) {
  const ratio = worst(check);
  const beside = Number.isFinite(ratio) ? `, at ${ratio.toPrecision(2)} of the tolerance` : "";
  return `${check.target || "cpu"} ${words[check.verdict] ?? check.verdict} with the float64 `
    + `evaluator${beside}`;
}

/** Shows a verdict in `box`: kind is ok, failed, undecided, pending or none. */
export function showVerdict(box, kind, line, check) {
  box.dataset.verdict = kind;
  const said = [element("span", { class: "sign", "aria-hidden": "true" }, signs[kind]), " ", line];
  box.replaceChildren(check
    ? element("details", {}, element("summary", {}, said),
      scrolling("Comparisons", comparisonTable(check)))
    : element("p", {}, said));
}

function outputsTable(outputs) {
  return table(["output", "type", "min", "max", "mean", "finite"], outputs.map((one) => [one.name,
    `${one.dtype}[${one.shape.join(", ")}]`, real(one.min), real(one.max), real(one.mean),
    `${one.finite} of ${one.elements}`]));
}

/** The answer of run. */
export function ranWords(answer) {
  const shape = Object.entries(answer.shape).map(([dim, extent]) => `${dim}=${extent}`).join(", ");
  const { check } = answer;
  const line = check && verdictLine({ ...check, target: answer.target });
  return element("div", { class: "ran" },
    check ? element("p", { class: "verdict", "data-verdict": check.verdict },
      element("span", { class: "sign", "aria-hidden": "true" }, signs[check.verdict]), " ", line)
      : undefined,
    element("p", {}, `${answer.spec} on ${answer.target} at ${shape}, random inputs: `
      + milliseconds(answer.milliseconds)),
    scrolling("Outputs", outputsTable(answer.outputs)),
    check ? scrolling("Comparisons", comparisonTable(check)) : undefined);
}
