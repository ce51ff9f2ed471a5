#include "tests/programs/grammar.h"

namespace attnc::programs {

std::string Grammar::rowInput() { return spec.input("x", "f32", choices.chance(30) ? "bhi" : "i"); }

std::string Grammar::columnInput() { return spec.input("y", "f32", "j"); }

std::string Grammar::pairExpression(unsigned depth) {
  if (depth == 0)
    return weights.empty() || choices.chance(40) ? "maximum(" + oneOf(scores) + ", -9)"
                                                 : oneOf(weights);
  auto pair = [&] { return pairExpression(depth - 1); };
  switch (choices.below(13)) {
  case 0:
    return pair();
  case 1:
    return "(" + pair() + oneOf({" + ", " - ", " * "}) + pair() + ")";
  case 2:
    return "(" + pair() + oneOf({" * ", " + ", " - "}) + rowExpression(depth - 1) + ")";
  case 3:
    return "(" + pair() + oneOf({" * ", " + ", " - "}) + columnInput() + ")";
  case 4:
    return oneOf({"abs(", "tanh(", "sigmoid(", "relu("}) + pair() + ")";
  case 5:
    return "exp(-abs(" + pair() + "))";
  case 6:
    return "where(" + condition(1) + ", " + pair() + ", " + oneOf({"0", "1"}) + ")";
  case 7:
    return oneOf({"maximum(", "minimum("}) + pair() + ", " + rowExpression(depth - 1) + ")";
  case 8: {
    std::string p = spec.define("a", pair());
    return "where(" + p + " > " + rowExpression(depth - 1) + ", " + p + ", 0)";
  }
  case 9:
    return "(" + pair() + ") ** 2";
  case 10:
    return "(" + pair() + " / (1 + abs(" + rowExpression(depth - 1) + ")))";
  case 11:
    return "exp(" + pair() + " - " + rowExpression(depth - 1) + ")";
  default:
    return "log(1 + abs(" + pair() + "))";
  }
}

std::string Grammar::foldOf(const std::string &pair) {
  switch (choices.below(9)) {
  case 0:
  case 1:
  case 2:
    return "sum(j, " + pair + ")";
  case 3:
    return "max(j, " + pair + ")";
  case 4:
    return "min(j, " + pair + ")";
  case 5:
    return "mean(j, " + pair + ")";
  case 6:
    return "logsumexp(j, " + pair + ")";
  case 7:
    return "sum(j, " + pair + " * " + columnInput() + ")";
  default:
    return "sum(j, softmax(j, " + pair + ") * " + columnInput() + ")";
  }
}

std::string Grammar::rowExpression(unsigned depth) {
  if (depth == 0)
    return rows.empty() || choices.chance(30) ? rowInput() : oneOf(rows);
  auto row = [&] { return rowExpression(depth - 1); };
  switch (choices.below(10)) {
  case 0:
    return row();
  case 1:
  case 2:
  case 3: {
    std::string r = spec.define("r", foldOf(pairExpression(depth)));
    rows.push_back(r);
    return r;
  }
  case 4:
    return "(" + row() + oneOf({" + ", " - ", " * "}) + row() + ")";
  case 5:
    return oneOf({"abs(", "tanh(", "sigmoid(", "relu("}) + row() + ")";
  case 6:
    return "exp(-abs(" + row() + "))";
  case 7:
    return "log(1 + abs(" + row() + "))";
  case 8:
    return "maximum(" + row() + ", " + row() + ")";
  default:
    return "sqrt(abs(" + row() + "))";
  }
}

} // namespace attnc::programs
