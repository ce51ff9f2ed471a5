// What explain says, in words, with pictures. Parts that come from a line of the spec say so in
// data-from.

import { element, scrolling } from "./dom.js";
import { bounds, picture } from "./picture.js";
import { bytes, count, plural, share } from "./quantities.js";

/** Rows of words under a label; rows without words are left out. */
function facts(rows) {
  return element("dl", { class: "facts" }, rows
    .map(([label, lines]) => [label, [lines].flat().filter(Boolean)])
    .filter(([, lines]) => lines.length)
    .flatMap(([label, lines]) => [element("dt", {}, label),
      ...lines.map((line) => element("dd", {}, line))]));
}

/** The line of a place such as causal:10:5, if it is in this spec and not in one it extends. */
function lineOfPlace(place, spec) {
  const [line, file] = [place?.split(":").at(-2), place?.split(":")[0]];
  return file === spec ? line : undefined;
}

/** A tensor as it is declared, linked with the line that does. */
function declaration(tensor, spec) {
  return element("code", { "data-from": lineOfPlace(tensor.place, spec) },
    `${tensor.name}: ${tensor.dtype}[${tensor.dims.join(", ")}]`);
}

function code(text) {
  return element("code", {}, text);
}

function walk(kernel) {
  const grid = kernel.grid.length ? `, every (${kernel.grid.join(", ")}) in parallel` : "";
  const rows = kernel.row.length ? ` for each tile of rows of ${kernel.row.join(", ")}` : "";
  const stream = kernel.stream.length ? `One pass over ${kernel.stream.join(", ")}`
    : "Every element on its own";
  return `${stream}${rows}${grid}.`;
}

function derivation(kernel, rules) {
  const place = (one) => ` line ${one.line}${one.file ? ` of ${one.file}` : ""}`;
  return kernel.derivation.map((one) => element("div",
    { "data-from": one.file ? undefined : one.line, class: "rule" },
    element("b", { title: rules[one.rule] }, one.rule), " ",
    one.fold ? [code(one.fold), ": "] : undefined, one.text,
    one.line ? element("span", { class: "place" }, place(one)) : undefined));
}

function workWords(work) {
  const words = [];
  if (work.product_flops) {
    const formula = work.products_formula ? `: ${work.products_formula}` : "";
    words.push(`${count(work.product_flops)} FLOP in products${formula}`);
  }
  if (work.special || work.other) {
    words.push(`${count(work.special ?? 0)} exponentials and the like, `
      + `${count(work.other ?? 0)} other operations`);
  }
  if (work.visited_share !== undefined && work.visited_share < 0.995)
    words.push(`without the ${share(1 - work.visited_share)} that the mask leaves out`);
  return words;
}

function movesWords(work) {
  if (work.bytes_read === undefined)
    return [];
  const moved = work.bytes_read + work.bytes_written;
  const done = (work.product_flops ?? 0) + (work.special ?? 0) + (work.other ?? 0);
  const ratio = done && moved ? `: ${(done / moved).toFixed(1)} FLOP a byte` : "";
  return [`${bytes(work.bytes_read)} read, ${bytes(work.bytes_written)} written${ratio}`];
}

function needsWords(kernel) {
  const { resources, schedule_report: report } = kernel;
  const words = [];
  if (resources) {
    const spilled = resources.spill_stores + resources.spill_loads;
    words.push(`${resources.registers} registers a thread, `
      + (spilled ? `spills ${bytes(spilled)}` : "no spills"));
  }
  if (report?.registers_needed) {
    words.push(`planned: ${report.producer_registers} registers a thread for the producer, `
      + `${report.consumer_registers} for the ${plural(report.groups, "group")}, `
      + `about ${report.registers_needed} needed`);
  }
  if (report?.shared_bytes !== undefined) {
    const shared = report.shared_bytes + (resources?.static_shared_bytes ?? 0);
    words.push(`${bytes(shared)} of shared memory`);
  }
  return words;
}

function stepWords(report) {
  if (!report?.step)
    return [];
  return [`a step of ${report.row_tile} x ${report.stream_tile} scores: `
    + `${count(report.step.flops)} FLOP in products, ${count(report.step.special)} exponentials `
    + `and the like, ${bytes(report.step.bytes)} read`];
}

/** The clocks that bound a step: the roofline of one multiprocessor. */
function roofline(report) {
  const drawing = bounds(report);
  if (!drawing)
    return undefined;
  const { predicted } = report;
  return element("figure", {},
    element("figcaption", {}, `Clocks of a step: limited by ${predicted.limit}, `
      + `${share(predicted.tensor_share)} of the tensor cores' peak in the stream, `
      + `${share(predicted.kernel_share)} over the whole kernel, predicted`),
    scrolling("Clocks of a step", drawing));
}

function who(kernel) {
  const drawing = picture(kernel);
  if (!drawing)
    return undefined;
  return element("figure", {},
    element("figcaption", {}, "Who does what when: the steps in order, not to scale"
      + (kernel.steps.some((step) => step.includes("*")) ? "; t−1 is the tile before" : "")),
    scrolling("Steps", drawing));
}

function kernelSection(kernel, { rules, spec }) {
  const declared = (tensor) => declaration(tensor, spec);
  const steps = kernel.steps.length
    ? element("pre", { class: "steps" }, kernel.steps.join("\n")) : undefined;
  const chain = kernel.launched !== kernel.kernel
    ? `${kernel.launched} computes it with others, one after the other` : undefined;
  return element("section", { class: "kernel" },
    element("h3", {}, kernel.kernel, " ", element("small", {}, kernel.form)),
    element("p", {}, walk(kernel)),
    who(kernel),
    facts([
      ["needs", needsWords(kernel)],
      ["work", workWords(kernel.work)],
      ["moves", movesWords(kernel.work)],
      ["a step", stepWords(kernel.schedule_report)],
    ]),
    roofline(kernel.schedule_report),
    facts([
      ["writes", kernel.stores.map(code)],
      ["streamed", kernel.streamed.map(declared)],
      [kernel.stream.length ? "resident" : "reads", kernel.resident.map(declared)],
      ["gathers", kernel.gathers],
      ["packs", kernel.packs],
      ["keeps", kernel.states.map(code)],
      ["derived", derivation(kernel, rules)],
      ["visits", kernel.domain && [code(kernel.domain),
        kernel.skips_tiles && "tiles outside these bounds change no result: skipped"]],
      ["chain", [chain, kernel.kept.length && `in shared memory: ${kernel.kept.join(", ")}`]],
      ["passed over", kernel.passed_over],
      ["schedule", kernel.schedule && [code(kernel.schedule), `from: ${kernel.schedule_from}`]],
      ["steps", steps],
      ["ptxas says", kernel.ptxas_notes ?? []],
    ]));
}

function tensorList(title, tensors, spec) {
  if (!tensors?.length)
    return undefined;
  return [element("h3", {}, title), element("ul", {}, tensors.map((tensor) =>
    element("li", { "data-from": lineOfPlace(tensor.place, spec) }, declaration(tensor, spec),
      tensor.bytes === undefined ? "" : `, ${bytes(tensor.bytes)}`,
      tensor.count > 1 ? `, ${tensor.count} times` : "",
      tensor.why ? `: ${tensor.why}` : "")))];
}

function copiesWords(copies) {
  if (!copies.length)
    return undefined;
  const all = copies.reduce((sum, copy) => sum + (copy.bytes ?? 0), 0);
  const kernels = copies.map((copy) => copy.kernel).join(", ");
  return element("p", { class: "soft" }, "Unless all addresses and strides are multiples of "
    + `${copies[0].align} bytes, ${kernels} copy first or last: ${bytes(all)} read and written `
    + "once more.");
}

/** The answer of explain, with the backward program where there is one. */
export function explanation(answer) {
  const between = answer.materialised.length ? undefined
    : element("p", {}, "Nothing goes through memory between kernels.");
  return element("article", { class: "explanation" },
    element("h2", {}, answer.spec, " for ", answer.target),
    element("p", {}, answer.kernels.length === 1 ? "Everything is computed by one kernel."
      : `${plural(answer.kernels.length, "kernel")} compute it.`),
    answer.kernels.map((kernel) => kernelSection(kernel, answer)),
    between,
    tensorList("Through memory between kernels", answer.materialised, answer.spec),
    copiesWords(answer.copied_unless_aligned),
    tensorList("Saved for the backward program", answer.saved, answer.spec),
    tensorList("Computed again by the backward program", answer.recomputed, answer.spec),
    element("details", {}, element("summary", {}, "The rules"),
      facts(Object.entries(answer.rules).map(([rule, words]) => [rule, [words]]))),
    answer.backward ? explanation(answer.backward) : undefined);
}
