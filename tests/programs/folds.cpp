#include "tests/programs/grammar.h"

namespace attnc::programs {

void Grammar::weightedValues() {
  std::string p = oneOf(weights), v = spec.value();
  std::string sum =
      choices.chance(20) ? "sum(j, " + v + " * " + p + ")" : "sum(j, " + p + " * " + v + ")";
  switch (choices.below(9)) {
  case 0:
    sum += " / (1 + abs(" + rowExpression(1) + "))";
    break;
  case 1:
    sum = "sigmoid(" + spec.input("gate", "f32", "bhie") + ") * " + sum;
    break;
  case 2:
    sum += " * " + rowExpression(1);
    break;
  case 3:
    sum = "sum(j, " + p + " * " + v + " * " + columnInput() + ")";
    break;
  case 4:
    sum = "sum(j, " + p + " * (" + v + " + " + rowInput() + "))";
    break;
  default:
    break;
  }
  std::string o = spec.define("o", sum);
  if (choices.chance(15))
    o = spec.define("o", o + " * rsqrt(mean(e, " + o + " * " + o + ") + 1)");
  give(o, &vectors);
}

void Grammar::statistics() {
  std::string p = oneOf(weights), s = oneOf(scores);
  auto finite = [&] { return "maximum(" + s + ", -9)"; };
  switch (choices.below(11)) {
  case 0:
    return give(spec.define("r", "sum(j, " + p + ")"), &rows);
  case 1:
    return give(spec.define("r", "sum(j, " + p + " * " + finite() + ")"), &rows);
  case 2:
    return give(spec.define("r", "-sum(j, xlogy(" + p + ", " + p + "))"), &rows);
  case 3:
    return give(spec.define("r", "-sum(j, " + p + " * log(" + p + "))"), &rows);
  case 4: {
    std::string l = spec.define("l", "logsumexp(j, " + s + ")");
    return give(spec.define("r", "-sum(j, exp(" + s + " - " + l + ") * (" + s + " - " + l + "))"),
                &rows);
  }
  case 5:
    return give(spec.define("r", "logsumexp(j, " + s + ")"), &rows);
  case 6:
    return give(spec.define("r", "sum(j, " + p + " * j)"), &rows);
  case 7:
    return give(spec.define("r", "mean(j, " + finite() + ")"), &rows);
  case 8:
    return give(spec.define("r", "prod(j, 1 + where(" + condition(1) + ", 0.1 * " + p + ", 0))"),
                &rows);
  case 9:
    return give(spec.define("r", "sum(j, " + p + oneOf({" ** 3)", " ** 2.0)", " ** 4)"})), &rows);
  default:
    return give(spec.define("r", "where(any(j, " + p + " > 0.2), " + rowExpression(1) + ", -1)"),
                &rows);
  }
}

void Grammar::extrema() {
  std::string p = oneOf(weights), s = oneOf(scores);
  std::string kind = choices.among<const char *>({"max", "min"});
  std::string factor;
  switch (choices.below(8)) {
  case 0:
    factor = p + " * 2";
    break;
  case 1:
    factor = p + " * (-2)";
    break;
  case 2:
    factor = p + " * " + rowInput();
    break;
  case 3:
    factor = p + " * " + spec.param("w", "f32 > 0 = 0.5");
    break;
  case 4:
    factor = p + " * abs(" + rowInput() + ")";
    break;
  case 5:
    factor = s + " - " + rowExpression(1);
    break;
  case 6:
    factor = "where(" + condition(1) + ", " + p + ", 0)";
    break;
  default:
    factor = "-" + p + " / (1 + exp(" + rowInput() + "))";
  }
  give(spec.define("r", kind + "(j, " + factor + ")"), &rows);
}

void Grammar::moments() {
  std::string p = oneOf(weights), s = spec.define("t", "maximum(" + oneOf(scores) + ", -9)");
  switch (choices.below(6)) {
  case 0: {
    std::string v = spec.value();
    std::string u = spec.define("u", "sum(j, " + p + " * " + v + ")");
    return give(spec.define("o", "sum(j, " + p + " * (" + v + " - " + u + ") ** 2)"), &vectors);
  }
  case 1: {
    std::string u = spec.define("u", "mean(j, " + s + ")");
    return give(spec.define("r", "mean(j, (" + s + " - " + u + ") * (" + s + " - " + u + "))"),
                &rows);
  }
  case 2: {
    std::string u = spec.define("u", "sum(j, " + p + " * " + s + ")");
    return give(spec.define("r", "sum(j, " + p + " * (" + s + " - " + u + ") ** 2)"), &rows);
  }
  case 3: {
    std::string u = spec.define("u", "sum(j, " + p + " * j)");
    return give(spec.define("r", "sum(j, " + p + " * (j - " + u + ") ** 2)"), &rows);
  }
  case 4: {
    std::string u = spec.define("u", "mean(j, " + s + ")");
    return give(spec.define("r", "mean(j, (" + s + " - " + u + ") ** 3)"), &rows);
  }
  default: {
    std::string c = columnInput(), u = spec.define("u", "mean(j, " + s + ")");
    std::string n = spec.define("u", "mean(j, " + c + ")");
    return give(spec.define("r", "mean(j, (" + s + " - " + u + ") * (" + c + " - " + n + "))"),
                &rows);
  }
  }
}

void Grammar::columns() {
  std::string p = oneOf(weights);
  switch (choices.below(4)) {
  case 0:
    return give(spec.define("c", "sum(i, " + p + ")"));
  case 1:
    return give(spec.define("c", "max(i, " + p + ")"));
  case 2:
    return give(spec.define("c", "sum((i, j), " + p + ")"));
  default:
    return give(spec.define("c", "sum(i, " + p + " * " + rowExpression(1) + ")"));
  }
}

void Grammar::secondLayer() {
  std::string p = oneOf(weights), s = oneOf(scores);
  switch (choices.below(5)) {
  case 0: {
    std::string o = spec.define("o", "sum(j, " + p + " * " + spec.value() + ")");
    std::string t = spec.define("t", "sum(e, " + o + " * " + spec.value() + ")");
    return give(spec.define("o", "sum(j, softmax(j, " + t + ") * " + spec.value() + ")"), &vectors);
  }
  case 1:
    weights.push_back(spec.define("p", "softmax(j, " + p + ")"));
    return weightedValues();
  case 2: {
    std::string t = spec.define("t", "maximum(" + s + ", -9)");
    weights.push_back(spec.define("p", "where(" + t + " > mean(j, " + t + "), " + p + ", 0)"));
    return weightedValues();
  }
  case 3: {
    std::string t = spec.define("t", "maximum(" + s + ", -9)");
    std::string u = spec.define("u", "mean(j, " + t + ")");
    std::string g = spec.define("g", "rsqrt(1 + mean(j, (" + t + " - " + u + ") ** 2))");
    weights.push_back(spec.define("p", "softmax(j, (" + t + " - " + u + ") * " + g + ")"));
    return weightedValues();
  }
  default:
    return give(spec.define("r", "sum(j, " + p + " * (log(1 + abs(" + p + ")) - log(1 + abs(" +
                                     oneOf(weights) + "))))"),
                &rows);
  }
}

void Grammar::products() {
  std::string q = spec.query(), k = spec.key(), v = spec.value();
  switch (choices.below(7)) {
  case 0:
    return give(spec.define("o", "sum(j, sum(d, " + q + " * " + k + ") * " + v + ")"), &vectors);
  case 1: {
    std::string f = spec.define("f", "relu(" + q + ") + 1");
    std::string a = spec.define("a", "sum(d, " + f + " * (relu(" + k + ") + 1))");
    return give(spec.define("o", "sum(j, " + a + " * " + v + ") / sum(j, " + a + ")"), &vectors);
  }
  case 2: {
    std::string kv = spec.define("kv", "sum(j, " + k + " * " + v + ")");
    return give(spec.define("o", "sum(d, " + q + " * " + kv + ")"), &vectors);
  }
  case 3: {
    std::string dp =
        spec.define("dp", "sum(e, " + spec.input("do", "f32", "bhie") + " * " + v + ")");
    return give(spec.define("r", "sum(j, " + oneOf(weights) + " * " + dp + ")"), &rows);
  }
  case 4: {
    std::string p = oneOf(weights);
    std::string dp =
        spec.define("dp", "sum(e, " + spec.input("do", "f32", "bhie") + " * " + v + ")");
    std::string delta = spec.define("r", "sum(j, " + p + " * " + dp + ")");
    return give(spec.define("g", "sum(j, " + p + " * (" + dp + " - " + delta + ") * " + k + ")"));
  }
  case 5: {
    std::string a =
        spec.define("a", "where(" + condition(1) + ", sum(d, " + q + " * " + k + "), 0)");
    return give(spec.define("o", "sum(j, " + a + " * " + v + ")"), &vectors);
  }
  default: {
    std::string y = spec.define("y", "sum(j, " + oneOf(weights) + " * " + v + ")");
    return give(spec.define("r", "sum(e, " + y + " * " + spec.input("x", "f32", "e") + ")"), &rows);
  }
  }
}

void Grammar::randomFold() { give(spec.define("r", rowExpression(2)), &rows); }

void Grammar::fold() {
  switch (choices.below(16)) {
  case 0:
  case 1:
  case 2:
  case 3:
    return weightedValues();
  case 4:
  case 5:
    return statistics();
  case 6:
  case 7:
    return extrema();
  case 8:
  case 9:
    return moments();
  case 10:
    return columns();
  case 11:
    return secondLayer();
  case 12:
    return products();
  default:
    return randomFold();
  }
}

} // namespace attnc::programs
