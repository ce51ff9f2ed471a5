// The same mathematics in other words gives the same nests.
#include "compiler/driver/checks/verify_pass.h"
#include "tests/unit/transforms/fused_program.h"
#include "tests/unit/transforms/nest_structure.h"
#include <gtest/gtest.h>

namespace attnc {
namespace {

/// How much of the nests is the same.
enum class Same {
  Everything, ///< states and outputs
  States,     ///< the states; what follows the stream is computed in other words
  Form,       ///< the number of nests, and the kinds of their states
};

struct Respelling {
  const char *name;
  const char *as; ///< the spelling that it is compared with, of kSpellings
  Same same;
  const char *why; ///< it is not all the same
  const char *body;
};

// What others are compared with.
struct Spelling {
  const char *name, *body;
};

#define WEIGHTED "o[b,h,i,e] = sum(j, p * v[b,h,j,e])"
#define SCORES "s = sum(d, q[b,h,i,d] * k[b,h,j,d])"

const Spelling kSpellings[] = {
    {"by_hand", SCORES ";m = max(j, s);x = exp(s - m);z = sum(j, x);p = x / z;" WEIGHTED},
    {"softmax", SCORES ";p = softmax(j, s);" WEIGHTED},
    {"scaled", SCORES " * w;p = softmax(j, s);" WEIGHTED},
    {"masked", SCORES ";p = softmax(j, where(j <= i, s, -inf));" WEIGHTED},
    {"sink", SCORES ";m = maximum(max(j, s), r[i]);x = exp(s - m);"
                    "p = x / (sum(j, x) + exp(r[i] - m));" WEIGHTED},
    {"entropy", SCORES ";p = softmax(j, s);o[b,h,i] = -sum(j, xlogy(p, p))"},
    {"cube", SCORES ";p = softmax(j, s);o[b,h,i] = sum(j, p * p * p)"},
    {"root", SCORES ";p = softmax(j, s);o[b,h,i] = sum(j, sqrt(p))"},
    {"cubes_of_values", SCORES ";p = softmax(j, s);o[b,h,i,e] = sum(j, p * p * p * v[b,h,j,e])"},
    {"weighted_scores",
     SCORES ";x = where(j <= i, s * exp((j - i) * 0.1), 0);"
            "y[b,h,i,e] = sum(j, x * v[b,h,j,e]);o[b,h,i,e] = y / (abs(sum(j, x)) + 1)"},
    {"largest_of_outputs", SCORES ";p = softmax(j, s);y[b,h,i,e] = sum(j, p * v[b,h,j,e]);"
                                  "o[b,h,i,e] = y / max(e, abs(y))"},
    {"softmax_of_outputs", SCORES ";p = softmax(j, s);y[b,h,i,e] = sum(j, p * v[b,h,j,e]);"
                                  "o[b,h,i,e] = softmax(e, y)"},
    {"unnormalised", SCORES ";m = max(j, s);p = exp(s - m);" WEIGHTED},
};

// A softmax over an empty row is 0, and says so in the epilogue.
#define EMPTY_ROWS "by hand an empty row is 0 / 0"

const Respelling kRespellings[] = {
    {"sugar", "by_hand", Same::States, EMPTY_ROWS, SCORES ";p = softmax(j, s);" WEIGHTED},
    {"renamed", "by_hand", Same::Everything, "",
     "t = sum(d, q[b,h,i,d] * k[b,h,j,d]);alpha = max(j, t);beta = exp(t - alpha);"
     "gamma = sum(j, beta);delta = beta / gamma;o[b,h,i,e] = sum(j, delta * v[b,h,j,e])"},
    {"commuted", "by_hand", Same::Everything, "",
     "s = sum(d, k[b,h,j,d] * q[b,h,i,d]);m = max(j, s);x = exp(s - m);p = x / sum(j, x);"
     "o[b,h,i,e] = sum(j, v[b,h,j,e] * p)"},
    {"sugar_commuted", "softmax", Same::Everything, "",
     "s = sum(d, k[b,h,j,d] * q[b,h,i,d]);p = softmax(j, s);"
     "o[b,h,i,e] = sum(j, v[b,h,j,e] * p)"},
    {"divided_after", "by_hand", Same::States,
     "inside of a sum over no keys a quotient is no 0 / 0",
     SCORES ";m = max(j, s);p = exp(s - m);o[b,h,i,e] = sum(j, p * v[b,h,j,e]) / sum(j, p)"},
    {"divided_inside", "by_hand", Same::Everything, "",
     SCORES ";m = max(j, s);x = exp(s - m);z = sum(j, x);"
            "o[b,h,i,e] = sum(j, v[b,h,j,e] * (x / z))"},
    {"times_the_inverse", "by_hand", Same::States, "the sum is multiplied by 1 / z",
     SCORES ";m = max(j, s);x = exp(s - m);p = x * (1 / sum(j, x));" WEIGHTED},
    {"through_logsumexp", "by_hand", Same::States, "exp(m - (m + log z)) is 1 / z in other words",
     SCORES ";l = logsumexp(j, s);p = exp(s - l);" WEIGHTED},
    {"through_logsumexp_by_hand", "by_hand", Same::States, "as through_logsumexp",
     SCORES ";m = max(j, s);l = m + log(sum(j, exp(s - m)));p = exp(s - l);" WEIGHTED},
    {"without_maximum", "by_hand", Same::Everything, "",
     SCORES ";x = exp(s);p = x / sum(j, x);" WEIGHTED},
    {"logarithm_without_maximum", "by_hand", Same::States, "as through_logsumexp",
     SCORES ";p = exp(s - log(sum(j, exp(s))));" WEIGHTED},
    {"quotient_of_exponentials", "by_hand", Same::Everything, "",
     SCORES ";x = exp(s) / exp(max(j, s));p = x / sum(j, x);" WEIGHTED},
    {"negated_minimum", "by_hand", Same::Everything, "",
     SCORES ";m = -min(j, -s);x = exp(s - m);p = x / sum(j, x);" WEIGHTED},
    {"base_two", "by_hand", Same::Form, "the exponent has the factors of log 2",
     SCORES ";t = s * 1.4426950408889634;m = max(j, t);x = exp2(t - m);"
            "p = x / sum(j, x);" WEIGHTED},
    {"scaled_queries", "scaled", Same::Everything, "",
     "s = sum(d, q[b,h,i,d] * w * k[b,h,j,d]);p = softmax(j, s);" WEIGHTED},
    {"scaled_in_softmax", "scaled", Same::Everything, "",
     SCORES ";p = softmax(j, s * w);" WEIGHTED},
    {"scale_commuted", "scaled", Same::Everything, "", SCORES ";p = softmax(j, w * s);" WEIGHTED},
    {"scaled_after_the_shift", "scaled", Same::States, EMPTY_ROWS,
     SCORES ";m = max(j, s);x = exp((s - m) * w);p = x / sum(j, x);" WEIGHTED},
    {"mask_added", "masked", Same::Form, "the mask is a summand of the exponent",
     SCORES ";p = softmax(j, s + where(j <= i, 0, -inf));" WEIGHTED},
    {"mask_negated", "masked", Same::Form, "the mask has its sides swapped",
     SCORES ";p = softmax(j, where(j > i, -inf, s));" WEIGHTED},
    {"mask_on_the_weights", "masked", Same::States, EMPTY_ROWS,
     SCORES ";m = max(j, s);x = where(j <= i, exp(s - m), 0);p = x / sum(j, x);" WEIGHTED},
    {"mask_multiplied", "masked", Same::Form, "the maximum is over all keys, the mask is a factor",
     SCORES ";m = max(j, s);x = exp(s - m) * where(j <= i, 1, 0);p = x / sum(j, x);" WEIGHTED},
    {"masked_twice", "masked", Same::Everything, "",
     SCORES ";p = softmax(j, where(j <= i, s, -inf));p = where(j <= i, p, 0);" WEIGHTED},
    {"masked_by_hand", "masked", Same::States, EMPTY_ROWS,
     SCORES ";t = where(j <= i, s, -inf);m = max(j, t);x = exp(t - m);p = x / sum(j, x);" WEIGHTED},
    {"sink_commuted", "sink", Same::Everything, "",
     SCORES ";m = maximum(r[i], max(j, s));x = exp(s - m);"
            "p = x / (exp(r[i] - m) + sum(j, x));" WEIGHTED},
    {"sink_after_the_softmax", "sink", Same::States, "the sink is in a factor of the weights",
     SCORES ";l = logsumexp(j, s);p = exp(s - l) * sigmoid(l - r[i]);" WEIGHTED},
    {"sink_beside_the_maximum", "sink", Same::States, "the sink is relative to the scores alone",
     SCORES ";m = max(j, s);x = exp(s - m);p = x / (sum(j, x) + exp(r[i] - m));" WEIGHTED},
    {"entropy_by_logarithm", "entropy", Same::Form, "no guard against weights of 0",
     SCORES ";p = softmax(j, s);o[b,h,i] = -sum(j, p * log(p))"},
    {"entropy_by_logsumexp", "entropy", Same::Form, "as entropy_by_logarithm",
     SCORES ";l = logsumexp(j, s);p = exp(s - l);o[b,h,i] = -sum(j, p * (s - l))"},
    {"cube_as_power", "cube", Same::Everything, "",
     SCORES ";p = softmax(j, s);o[b,h,i] = sum(j, p ** 3)"},
    {"cube_as_real_power", "cube", Same::Everything, "",
     SCORES ";p = softmax(j, s);o[b,h,i] = sum(j, p ** 3.0)"},
    {"cube_of_square", "cube", Same::Everything, "",
     SCORES ";p = softmax(j, s);o[b,h,i] = sum(j, p * p ** 2)"},
    {"cube_in_exponent", "cube", Same::States, "exp((s - l) * 3) has 1 / z in its exponent",
     SCORES ";l = logsumexp(j, s);o[b,h,i] = sum(j, exp((s - l) * 3))"},
    {"cube_of_weights", "cube", Same::States, "z is outside of the sum",
     SCORES ";m = max(j, s);x = exp(s - m);o[b,h,i] = sum(j, x ** 3) / sum(j, x) ** 3"},
    {"root_as_power", "root", Same::States, "the root of 1 / z is a power",
     SCORES ";p = softmax(j, s);o[b,h,i] = sum(j, p ** 0.5)"},
    {"root_in_exponent", "root", Same::States, "1 / z is in the exponent",
     SCORES ";l = logsumexp(j, s);o[b,h,i] = sum(j, exp((s - l) * 0.5))"},
    {"cubes_of_values_as_power", "cubes_of_values", Same::Everything, "",
     SCORES ";p = softmax(j, s);o[b,h,i,e] = sum(j, p ** 3 * v[b,h,j,e])"},
    {"weights_first", "weighted_scores", Same::States, "the epilogue divides before it combines",
     SCORES ";x = where(j <= i, s * exp((j - i) * 0.1), 0);z = abs(sum(j, x)) + 1;"
            "y[b,h,i,e] = sum(j, x * v[b,h,j,e]);o[b,h,i,e] = y / z"},
    {"smallest_of_outputs", "largest_of_outputs", Same::States, "the epilogue negates twice",
     SCORES ";p = softmax(j, s);y[b,h,i,e] = sum(j, p * v[b,h,j,e]);"
            "o[b,h,i,e] = y / -min(e, -abs(y))"},
    {"softmax_of_outputs_by_hand", "softmax_of_outputs", Same::States, EMPTY_ROWS,
     SCORES ";p = softmax(j, s);y[b,h,i,e] = sum(j, p * v[b,h,j,e]);m = max(e, y);"
            "x = exp(y - m);o[b,h,i,e] = x / sum(e, x)"},
    {"softmax_of_outputs_without_maximum", "softmax_of_outputs", Same::States, EMPTY_ROWS,
     SCORES ";p = softmax(j, s);y[b,h,i,e] = sum(j, p * v[b,h,j,e]);x = exp(y);"
            "o[b,h,i,e] = x / sum(e, x)"},
    {"shift_added", "unnormalised", Same::Everything, "",
     SCORES ";m = max(j, s);p = exp(-m + s);" WEIGHTED},
    {"shift_as_a_factor", "unnormalised", Same::Everything, "",
     SCORES ";m = max(j, s);p = exp(s) * exp(-m);" WEIGHTED},
};

// Statements as a JSON list.
std::string statements(const char *body) {
  std::string text = "[";
  for (llvm::StringRef part : llvm::split(body, ';'))
    text += (text.size() > 1 ? ", \"" : "\"") + part.str() + "\"";
  return text + "]";
}

void PrintTo(const Respelling &c, std::ostream *os) { *os << c.body; }

const char *nameOf(Same same) {
  return same == Same::Everything ? "everything" : same == Same::States ? "the states" : "the form";
}

std::string textOf(const NestStructure &x) {
  std::string text;
  for (const std::string &state : x.states)
    text += "  " + state + "\n";
  for (const auto &[name, value] : x.outputs)
    text += "  " + name + " = " + value + "\n";
  return text;
}

class Respellings : public testing::TestWithParam<Respelling> {};

TEST_P(Respellings, GiveTheSameNests) {
  const Respelling &c = GetParam();
  const auto *as =
      llvm::find_if(kSpellings, [&](const Spelling &s) { return s.name == std::string(c.as); });
  ASSERT_NE(as, std::end(kSpellings));
  FusedProgram known(statements(as->body), R"j({"o": "f32"})j");
  FusedProgram other(statements(c.body), R"j({"o": "f32"})j");
  NestStructure x = NestStructure::of(known.fused()), y = NestStructure::of(other.fused());
  std::string both = "as " + std::string(c.as) + ":\n" + textOf(x) + "here:\n" + textOf(y);
  ASSERT_EQ(x.nests, y.nests) << both;
  ASSERT_EQ(x.kinds, y.kinds) << both;
  Same same = x.states != y.states     ? Same::Form
              : x.outputs != y.outputs ? Same::States
                                       : Same::Everything;
  EXPECT_STREQ(nameOf(same), nameOf(c.same)) << both;
  EXPECT_EQ(c.same == Same::Everything, std::string(c.why).empty());
}

TEST_P(Respellings, KeepTheirMeaning) {
  FusedProgram program(statements(GetParam().body), R"j({"o": "f32"})j");
  auto verifier =
      driver::PassVerifier::create(program.original(), {{"b", 1}, {"h", 1}, {"i", 9}, {"j", 11}});
  ASSERT_TRUE(verifier) << verifier.error().text();
  Status status = verifier->check(program.fused(), "the passes");
  EXPECT_TRUE(status) << status.error().text();
}

INSTANTIATE_TEST_SUITE_P(Table, Respellings, testing::ValuesIn(kRespellings),
                         [](const auto &info) { return info.param.name; });

// What is not the same is seen.
TEST(NestStructure, TellsOtherMathematicsApart) {
  auto of = [](const char *body) {
    return NestStructure::of(FusedProgram(statements(body), R"j({"o": "f32"})j").fused());
  };
  NestStructure softmax = of(kSpellings[0].body);
  for (const char *other :
       {SCORES ";p = softmax(j, 2 * s);" WEIGHTED, SCORES ";p = softmax(j, s) * 2;" WEIGHTED,
        SCORES ";p = softmax(j, s + c[j]);" WEIGHTED, SCORES ";p = softmax(j, -s);" WEIGHTED}) {
    NestStructure y = of(other);
    EXPECT_TRUE(softmax.states != y.states || softmax.outputs != y.outputs) << other;
  }
}

} // namespace
} // namespace attnc
