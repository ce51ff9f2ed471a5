// The tab that runs a program on random inputs.

import { button, element } from "./dom.js";
import { ranWords } from "./verdict.js";

function choice(label, title) {
  const box = element("input", { type: "checkbox" });
  return { box, label: element("label", { title }, box, " ", label) };
}

/** What went wrong, with the remedy. */
export function problem({ message, remedy }) {
  return element("div", { class: "problem", role: "alert" },
    element("p", {}, message), remedy ? element("p", { class: "remedy" }, remedy) : undefined);
}

export class RunView {
  /** onRun(): the person asks to run; onCancel(): does not want to wait. */
  constructor(onRun, onCancel) {
    this.onRun = onRun;
    this.time = choice("Time it", "Run it several times and take the median");
    this.interpret = choice("Interpret the kernels",
      "On the processor, in adversarial orders of warps and asynchronous operations");
    this.seed = element("input", { type: "number", min: 0, step: 1, placeholder: "1" });
    this.start = button("Run", onRun, { class: "run" });
    this.cancel = button("Cancel", onCancel);
    this.result = element("div", { "aria-live": "polite" });
    this.element = element("div", { class: "run-view" },
      element("div", { class: "row" }, this.start, this.cancel,
        element("label", {}, "Seed of the inputs ", this.seed), this.interpret.label,
        this.time.label),
      this.result);
    this.busy(false);
  }

  /** The parts of the question that stand here. */
  get question() {
    return {
      check: true,
      ...(this.interpret.box.checked && !this.interpret.label.hidden && { interpret: true }),
      ...(this.seed.value !== "" && this.seed.validity.valid && { seed: Number(this.seed.value) }),
      ...(this.time.box.checked && { time: true }),
    };
  }

  show(target) {
    this.interpret.label.hidden = target === "cpu";
  }

  busy(isBusy) {
    this.cancel.hidden = !isBusy;
    this.start.disabled = isBusy;
    if (isBusy)
      this.result.replaceChildren(element("p", { class: "soft" }, "Running …"));
    else if (!this.result.hasChildNodes())
      this.result.append(element("p", { class: "soft" },
        "Runs on random inputs, at the shape of the options or the reference shape, and compares "
        + "every output with the float64 evaluator."));
  }

  /** The spec or a setting has changed since. */
  outdate() {
    this.result.classList.add("stale");
  }

  /** The answer of run, with what may help where there is no GPU. */
  take(answer, hasErrors) {
    this.result.classList.remove("stale");
    if (answer.outputs) {
      this.result.replaceChildren(ranWords(answer));
      return;
    }
    const said = hasErrors ? { message: "The spec has errors: see the findings." } : answer.error;
    const offer = answer.exit === 4 && !this.interpret.label.hidden && !this.interpret.box.checked
      ? button("Interpret the kernels on the processor", () => {
        this.interpret.box.checked = true;
        this.onRun();
      }) : undefined;
    this.result.replaceChildren(problem(said), ...(offer ? [offer] : []));
  }
}
