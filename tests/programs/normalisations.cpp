#include "tests/programs/grammar.h"

namespace attnc::programs {

// A softmax or something near it, relative to a maximum in many spellings.
std::string Grammar::byMaximum(const std::string &s) {
  auto quotient = [&](const std::string &x) {
    std::string z = spec.define("z", "sum(j, " + x + ")");
    return choices.chance(30) ? x + " * (1 / " + z + ")" : x + " / " + z;
  };
  switch (choices.below(10)) {
  case 0:
    return "softmax(j, " + s + ")";
  case 1: {
    std::string m = spec.define("m", "max(j, " + s + ")");
    return quotient(spec.define("x", "exp(" + s + " - " + m + ")"));
  }
  case 2:
    return "exp(" + s + " - logsumexp(j, " + s + "))";
  case 3: {
    std::string m = spec.define("m", "max(j, " + s + ")");
    std::string l = spec.define("l", m + " + log(sum(j, exp(" + s + " - " + m + ")))");
    return "exp(" + s + " - " + l + ")";
  }
  case 4: {
    std::string t = spec.define("t", s + " * 1.4426950408889634");
    std::string m = spec.define("m", "max(j, " + t + ")");
    return quotient(spec.define("x", "exp2(" + t + " - " + m + ")"));
  }
  case 5: {
    std::string m = spec.define("m", "-min(j, -" + s + ")");
    return quotient(spec.define("x", "exp(" + s + " - " + m + ")"));
  }
  case 6: {
    std::string m = spec.define("m", "max(j, " + s + ")");
    std::string w = choices.chance(50) ? spec.param("w", "f32 > 0 = 0.5") : "0.25";
    return quotient(spec.define("x", "exp((" + s + " - " + m + ") * " + w + ")"));
  }
  case 7: {
    std::string m = spec.define("m", "max(j, " + s + ")");
    return quotient(spec.define("x", "where(" + condition(1) + ", exp(" + s + " - " + m + "), 0)"));
  }
  case 8: {
    std::string m = spec.define("m", "max(j, " + s + ")");
    return "exp(" + s + " - " + m + ")";
  }
  default: // a temperature for each row, that comes from another fold
    return "softmax(j, " + s + " * sigmoid(" + rowExpression(1) + "))";
  }
}

std::string Grammar::withoutMaximum(const std::string &s) {
  switch (choices.below(4)) {
  case 0: {
    std::string x = spec.define("x", "exp(" + s + ")");
    return x + " / sum(j, " + x + ")";
  }
  case 1:
    return "exp(" + s + " - log(sum(j, exp(" + s + "))))";
  case 2: {
    std::string x = spec.define("x", "exp(" + s + ") / exp(max(j, " + s + "))");
    return x + " / sum(j, " + x + ")";
  }
  default: {
    std::string x = spec.define("x", "exp(" + s + ")");
    return x + " / (1 + sum(j, " + x + "))";
  }
  }
}

std::string Grammar::withSink(const std::string &s) {
  std::string sink = spec.input("sink", "f32", "h");
  switch (choices.below(3)) {
  case 0: {
    std::string m = spec.define("m", "maximum(max(j, " + s + "), " + sink + ")");
    std::string x = spec.define("x", "exp(" + s + " - " + m + ")");
    return x + " / (sum(j, " + x + ") + exp(" + sink + " - " + m + "))";
  }
  case 1: {
    std::string l = spec.define("l", "logsumexp(j, " + s + ")");
    return "exp(" + s + " - " + l + ") * sigmoid(" + l + " - " + sink + ")";
  }
  default: {
    std::string m = spec.define("m", "max(j, " + s + ")");
    std::string x = spec.define("x", "exp(" + s + " - " + m + ")");
    return x + " / (sum(j, " + x + ") + exp(" + sink + "))";
  }
  }
}

std::string Grammar::withoutExponential(const std::string &s) {
  // A masked score is -inf, which only some functions take to 0.
  switch (choices.below(6)) {
  case 0:
    return "sigmoid(" + s + ")";
  case 1: {
    std::string x = spec.define("x", "relu(" + s + ")");
    return x + " / (1 + sum(j, " + x + "))";
  }
  case 2: {
    std::string x = spec.define("x", "maximum(" + s + ", -2)");
    return x + " / (1 + sum(j, abs(" + x + ")))";
  }
  case 3: {
    std::string x = spec.define("x", "maximum(" + s + ", -2)");
    return x + " * rsqrt(1 + sum(j, " + x + " * " + x + "))";
  }
  case 4:
    return "relu(" + s + ") ** 2";
  default:
    return "exp(-abs(maximum(" + s + ", -9)))";
  }
}

std::string Grammar::normalised(const std::string &score) {
  uint32_t form = choices.below(20);
  std::string weight = form < 11   ? byMaximum(score)
                       : form < 14 ? withoutMaximum(score)
                       : form < 17 ? withSink(score)
                                   : withoutExponential(score);
  return spec.define("p", weight);
}

std::string Grammar::combined(const std::string &p) {
  switch (choices.below(14)) {
  case 0:
    return weights.empty() ? p : spec.define("p", oneOf(weights) + " - 0.3 * " + p);
  case 1:
    return weights.empty() ? p : spec.define("p", oneOf(weights) + " * " + p);
  case 2:
    return spec.define("p", p + " * " + columnInput());
  case 3:
    return spec.define("p", p + " * " + rowInput());
  case 4:
    return spec.define("p", "where(" + condition(1) + ", " + p + ", 0)");
  case 5:
    spec.param("seed", "i64 = 0");
    return spec.define("p", "where(rand(seed, i, j) < 0.75, " + p + ", 0) / 0.75");
  case 6:
    return spec.define("p", p + " * " + oneOf({"2", "(-1)", "0.5"}));
  case 7:
    return spec.define("p", p + " + " + oneOf({"1", "(-1)", "0.5"}));
  case 8:
    return spec.define("p", p + " * where(" + condition(1) + ", 1, 0)");
  default:
    return p;
  }
}

} // namespace attnc::programs
