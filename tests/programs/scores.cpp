#include "tests/programs/grammar.h"

namespace attnc::programs {

std::string Grammar::contraction() {
  std::string q = spec.query(), k = spec.key();
  switch (choices.below(10)) {
  case 0:
  case 1:
    return "sum(d, " + q + " * " + k + ")";
  case 2:
    return "sum(d, " + q + " * " + k + ") * " + spec.param("w", "f32 > 0 = 0.5");
  case 3:
    return "sum(d, " + q + " * " + spec.param("w", "f32 > 0 = 0.5") + " * " + k + ")";
  case 4:
    return "-sum(d, (" + q + " - " + k + ") ** 2)";
  case 5:
    return "sum(d, " + spec.query("q2") + " * " + spec.key("k2") + ")";
  case 6:
    return "sum(d, " + q + " * " + k + " * " + spec.input("u", "f32", "d") + ")";
  case 7:
    return "sum(d, relu(" + q + ") * relu(" + k + "))";
  case 8:
    return "sum(d, " + q + " * (" + k + " * " + columnInput() + "))";
  default:
    return "(" + rowInput() + " * " + columnInput() + ")";
  }
}

std::string Grammar::changed(std::string score) {
  switch (choices.below(12)) {
  case 0:
    return score + " + " + spec.input("bias", "f32", "hij");
  case 1:
    return score + " + " + spec.input("slope", "f32", "h") + " * (j - i) * 0.1";
  case 2:
    return "3 * tanh((" + score + ") / 3)";
  case 3:
    return "(" + score + ") * " + columnInput();
  case 4:
    return score + " + " + rowInput();
  case 5:
    return score + " + " + columnInput();
  case 6:
    return "(" + score + ") * " + spec.param("a", "f32 = 0.7");
  case 7:
    return "abs(" + score + ")";
  case 8:
    return "(" + score + ") * " + rowInput();
  case 9:
    return "(" + score + ") / (1 + abs(" + rowInput() + "))";
  case 10:
    return "maximum(" + score + ", " + columnInput() + ")";
  default:
    return score + " - " + rowInput() + " * " + columnInput();
  }
}

std::string Grammar::condition(unsigned depth) {
  uint32_t form = choices.below(depth ? 19 : 15);
  std::string width = std::to_string(choices.among<int>({2, 1, 5, 16}));
  switch (form) {
  case 0:
    return "j <= i";
  case 1:
    return "j <= i + " + width;
  case 2:
    return "j + " + width + " > i";
  case 3:
    return "abs(i - j) <= " + width;
  case 4:
    return "j % 3 == 0";
  case 5:
    return "j // 4 == i // 4";
  case 6:
    return "j // 4 <= i // 4";
  case 7:
    return "j < " + width;
  case 8:
    return "(i - j) % 3 == 0";
  case 9:
    return "j < size(j) - i";
  case 10:
    return spec.input("doc", "i32", "bi") + " == " + spec.input("dok", "i32", "bj");
  case 11:
    return spec.input("keep", "bool", "bj");
  case 12:
    return "j >= " + spec.input("first", "i32", "bi");
  case 13:
    return "i >= " + width;
  case 14:
    return spec.param("most", "i64 >= 0 <= 9 = 3") + " <= j";
  case 15:
    return "(" + condition(depth - 1) + " or " + condition(depth - 1) + ")";
  case 16:
    return "(" + condition(depth - 1) + " and " + condition(depth - 1) + ")";
  case 17:
    return "not (" + condition(depth - 1) + ")";
  default:
    return "(" + condition(depth - 1) + " or i % 2 == 1)";
  }
}

std::string Grammar::masked(const std::string &score) {
  std::string mask = condition(2);
  if (choices.chance(15))
    return score + " + where(" + mask + ", 0, -inf)";
  return "where(" + mask + ", " + score + ", -inf)";
}

std::string Grammar::score() {
  std::string score = contraction();
  for (uint32_t i = 0, count = choices.among<uint32_t>({0, 0, 1, 1, 2}); i < count; ++i)
    score = changed(score);
  if (choices.chance(45))
    score = masked(score);
  return spec.define("s", score);
}

} // namespace attnc::programs
