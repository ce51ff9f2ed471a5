#include "compiler/frontend/text/suggest.h"
#include "compiler/frontend/text/characters.h"
#include "llvm/ADT/STLExtras.h"

using llvm::StringRef;

namespace attnc {

std::string nearestName(StringRef name, llvm::ArrayRef<std::string> candidates) {
  unsigned allowed = name.size() <= 3 ? 1 : name.size() <= 6 ? 2 : 3;
  std::string best;
  for (const std::string &candidate : candidates) {
    if (candidate == name)
      continue;
    unsigned distance = name.edit_distance_insensitive(candidate, true, allowed);
    // One letter for another one letter says nothing: `x` is not near `y`.
    if (distance > allowed || distance >= std::max(name.size(), candidate.size()))
      continue;
    if (distance == 0)
      return candidate;
    best = candidate;
    allowed = distance - 1;
  }
  return best;
}

std::string didYouMean(StringRef name, llvm::ArrayRef<std::string> candidates,
                       StringRef otherwise) {
  std::string near = nearestName(name, candidates);
  return near.empty() ? otherwise.str() : "did you mean '" + near + "'?";
}

namespace {

/// A word of Python, NumPy or PyTorch, and how it is said here.
struct Foreign {
  StringRef word, remedy;
};

constexpr StringRef contraction = "write sum(d, a[i, d] * b[j, d])";
constexpr StringRef condition =
    "a condition is a comparison, j <= i, or a value that holds one: write `m` or `not m`";
constexpr StringRef logarithm = "the natural logarithm is log(x), that to base 2 log2(x)";
constexpr StringRef mask = "write a mask as where(j <= i, s, -inf)";
constexpr StringRef infinity = "write `inf`";
constexpr StringRef noAngles =
    "there are no functions of angles: pass their values as an input, a table over positions";
constexpr StringRef noOrder = "nothing is sorted here: compare with max(j, s), or with a rank from "
                              "sum(t, where(s[t] > s[j], 1, 0))";
constexpr StringRef noLayout = "arrays have no layout here: subscripts name the dims";

constexpr Foreign foreign[] = {
    {"einsum", contraction},
    {"matmul", contraction},
    {"dot", contraction},
    {"bmm", contraction},
    {"len", "the extent of a dim is size(j)"},
    {"shape", "the extent of a dim is size(j)"},
    {"dim", "the extent of a dim is size(j)"},
    {"arange", "the name of a dim is the index along it: j"},
    {"range", "the name of a dim is the index along it: j"},
    {"True", condition},
    {"False", condition},
    {"true", condition},
    {"false", condition},
    {"None", "there is no empty value"},
    {"nan", "there is no word for NaN"},
    {"NaN", "there is no word for NaN"},
    {"infinity", infinity},
    {"Infinity", infinity},
    {"Inf", infinity},
    {"INF", infinity},
    {"PI", "write `pi`"},
    {"Pi", "write `pi`"},
    {"sin", noAngles},
    {"cos", noAngles},
    {"tan", noAngles},
    {"topk", noOrder},
    {"sort", noOrder},
    {"argsort", noOrder},
    {"argmax", "write min(j, where(s == max(j, s), j, size(j)))"},
    {"argmin", "write min(j, where(s == min(j, s), j, size(j)))"},
    {"var", "write mean(j, (x - mean(j, x)) ** 2)"},
    {"std", "write sqrt(mean(j, (x - mean(j, x)) ** 2))"},
    {"norm", "write sqrt(sum(d, x ** 2))"},
    {"isnan", "write x != x"},
    {"isinf", "write abs(x) == inf"},
    {"isfinite", "write abs(x) < inf"},
    {"elu", "write where(x > 0, x, exp(x) - 1)"},
    {"softplus", "write maximum(x, 0) + log(1 + exp(-abs(x)))"},
    {"logaddexp", "write m + log(exp(x - m) + exp(y - m)) with m = maximum(x, y)"},
    {"np", "functions have no prefix: exp(x)"},
    {"torch", "functions have no prefix: exp(x)"},
    {"math", "functions have no prefix: exp(x)"},
    {"jnp", "functions have no prefix: exp(x)"},
    {"pow", "write a power with `**`"},
    {"power", "write a power with `**`"},
    {"square", "write `x ** 2`"},
    {"ln", logarithm},
    {"log10", logarithm},
    {"log1p", "write log(1 + x)"},
    {"expm1", "write exp(x) - 1"},
    {"int", "write cast(x, i64), or `a // b`"},
    {"float", "write cast(x, f32)"},
    {"round", "write floor(x + 0.5)"},
    {"ceil", "write -floor(-x); of integers, (a + b - 1) // b"},
    {"sign", "write where(x > 0, 1, where(x < 0, -1, 0))"},
    {"tril", mask},
    {"triu", mask},
    {"masked_fill", mask},
    {"if", "write where(condition, a, b)"},
    {"cond", "write where(condition, a, b)"},
    {"select", "write where(condition, a, b)"},
    {"transpose", noLayout},
    {"reshape", noLayout},
    {"concat", noLayout},
    {"cat", noLayout},
    {"cumsum", "write sum(t, where(t <= j, x[t], 0)) with a dim t of its own"},
    {"dropout", "write p * where(rand(seed, b, h, i, j) < keep, 1/keep, 0)"},
    {"\xCF\x80", "write `pi`"},
};

constexpr Foreign foreignTypes[] = {
    {"half", "write f16"},     {"float16", "write f16"}, {"bfloat16", "write bf16"},
    {"float", "write f32"},    {"float32", "write f32"}, {"single", "write f32"},
    {"double", "write f64"},   {"float64", "write f64"}, {"int8", "write i8"},
    {"int", "write i32"},      {"int32", "write i32"},   {"long", "write i64"},
    {"int64", "write i64"},    {"uint8", "write u8"},    {"byte", "write u8"},
    {"boolean", "write bool"}, {"i1", "write bool"},
};

} // namespace

std::string adviceOnName(StringRef name, llvm::ArrayRef<std::string> candidates,
                         StringRef otherwise, llvm::ArrayRef<std::string> factors) {
  std::string looks = lookAlike(name);
  for (const std::string &candidate : candidates)
    if (candidate != name && lookAlike(candidate) == looks)
      return "'" + candidate +
             "' looks the same, with other characters: " + unusualCharacters(name) + " here, " +
             unusualCharacters(candidate) + " there";
  const auto *word = llvm::find_if(foreign, [=](const Foreign &f) { return f.word == name; });
  if (word != std::end(foreign))
    return word->remedy.str();
  // Two names in one word are more often a product than a slip of a longer name.
  for (size_t length = 1; length < name.size(); ++length) {
    StringRef left = name.take_front(length), right = name.drop_front(length);
    if (left != right && llvm::is_contained(factors, left) && llvm::is_contained(factors, right))
      return ("a product is written with `*`: " + left + " * " + right).str();
  }
  return didYouMean(name, candidates, otherwise);
}

std::string adviceOnType(StringRef name, llvm::ArrayRef<std::string> candidates,
                         StringRef otherwise) {
  const auto *word = llvm::find_if(foreignTypes, [=](const Foreign &f) { return f.word == name; });
  return word != std::end(foreignTypes) ? word->remedy.str()
                                        : didYouMean(name, candidates, otherwise);
}

} // namespace attnc
