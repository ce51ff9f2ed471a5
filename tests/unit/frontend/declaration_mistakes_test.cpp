// Mistakes in the declarations of dims whose extents come from tensors: every key of several specs
// gets every value of a list, and goes missing. Each time there is a program or a located error.
#include "mlir/IR/Verifier.h"
#include "spec_fixture.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <nlohmann/json.hpp>
#include <random>

namespace attnc {
namespace {

using nlohmann::json;

/// Specs that use dims in all their ways: in reads, reductions over one and several of them, other
/// dims' lengths, labels, outputs that are packed, and sizes.
const char *const specs[] = {
    R"json({"attnc": 1,
        "dims": {"b": "size(n) - 1", "i": {"ragged": "cu", "over": "b"},
                 "j": {"ragged": "at", "over": "b", "max": "2 * size(w)"}},
        "inputs": {"x": "f32[i, d]", "y": "f32[j, d]", "cu": "i32[n]", "at": "i32[n]",
                   "t": "i64[w]"},
        "body": ["s = sum(d, x * y)", "p = softmax(j, where(j <= i, s, -inf))",
                 "o[b, i, d] = sum(j, p * y[j, d]) + size(i)", "m = max((b, i), x)",
                 "c = mean((b, i), d)", "r = x * 2"],
        "outputs": {"o": "f32", "m": "f32", "c": "f32", "r": "f32", "p": "f32"}})json",
    R"json({"attnc": 1, "let": {"most": "size(w) * size(t)"},
        "dims": {"t": 4, "j": {"extent": "minimum(len[b], most)", "max": "most"},
                 "u": {"extent": "at[b, j]", "max": 8}, "m": null},
        "require": ["size(m) <= size(w)"], "params": {"k": "i64 >= 0 <= 3 = 1"},
        "inputs": {"z": "f32[b, h]", "kp": "f32[p, t, d]", "tab": "i32[b, w]", "len": "i32[b]",
                   "at": "i32[b, j]", "v": "f32[u]"},
        "body": ["o[b, h, d] = sum(j, z * kp[tab[b, j // size(t)], j % size(t), d])",
                 "q = sum((b, j, u), v) + k", "l = any(j, tab[b, m] > size(j))",
                 "e[b, j] = kp[tab[b, j // size(t)], j % size(t), 0]"],
        "outputs": {"o": "f32", "q": "f32", "l": "bool", "e": "f32"}})json",
    R"json({"attnc": 1, "dims": {"i": {"extent": "lq[b]"}, "j": {"extent": "lk[b]"}},
        "inputs": {"q": "f32[b, i, d]", "k": "f32[b, j, d]", "lq": "i32[b]", "lk": "i32[b]"},
        "body": ["p = softmax(j, where(j <= i + size(j) - size(i), sum(d, q * k), -inf))",
                 "o[b, i, d] = sum(j, p * k)", "c = sum((b, i, j), 1)"],
        "outputs": {"o": "f32", "c": "i64"},
        "reference": {"shape": {"b": 2, "i": 5, "j": 7, "d": 3}}})json"};

/// What a user may write, in the right place or in the wrong one.
const json values = json::parse(R"json([
    null, true, 0, 1, 3, -2, 4000000000, 0.5, "", " ", "b", "i", "j", "n", "x", "cu", "o", "nope",
    "sum", "inf", "1", "size(i)", "size(b)", "size(n) - 1", "size(j) // size(b)", "len[b]",
    "cu[b]", "cu[b + 1] - cu[b]", "lq[b] * size(j)", "at[b, j]", "x[i, d]", "1.5 * size(b)",
    "i32[b]", "i32[n]", "i32[i]", "f32[n]", "f32[b, i]", "i32[j, i]", "bool[]", "size(", [], {},
    ["b"], {"b": 1}, {"extent": "len[b]"}, {"extent": "lk[b]", "max": "size(j)"},
    {"extent": "cu[b]", "max": 4}, {"extent": "size(i)"}, {"extent": 3}, {"max": 4},
    {"ragged": "cu", "over": "b"}, {"ragged": "at", "over": "b"}, {"ragged": "cu", "over": "n"},
    {"ragged": "x", "over": "i"}, {"ragged": "cu", "over": "b", "max": "size(i)"}])json");

/// The places in the declarations of a spec that can be wrong.
std::vector<json::json_pointer> placesOf(const json &spec) {
  std::vector<json::json_pointer> places;
  for (const char *section : {"dims", "inputs", "let", "require", "outputs"}) {
    if (!spec.contains(section))
      continue;
    json::json_pointer at = json::json_pointer("/" + std::string(section));
    json leaves = spec.at(at).flatten();
    for (const auto &[path, value] : leaves.items())
      for (json::json_pointer place = at / json::json_pointer(path); place != at;
           place = place.parent_pointer())
        if (!llvm::is_contained(places, place))
          places.push_back(place);
  }
  return places;
}

class DeclarationMistakes : public SpecFixture {
protected:
  void check(const json &mistaken) {
    std::string text = mistaken.dump(1);
    mlir::MLIRContext fresh(mlir::MLIRContext::Threading::DISABLED);
    Diagnostics findings;
    std::optional<Spec> spec = parseSpec(fresh, "t.json", text, {}, findings);
    ++(spec ? accepted : refused);
    ASSERT_EQ(spec.has_value(), !findings.hasErrors()) << text;
    if (spec)
      ASSERT_TRUE(succeeded(mlir::verify(*spec->module))) << text;
    for (const Diagnostic &d : findings.all()) {
      ASSERT_GE(d.line, 1u) << text;
      ASSERT_FALSE(d.remedy.empty()) << d.message << text;
      ASSERT_EQ(d.message.find("internal error"), std::string::npos) << d.message << text;
    }
  }

  static void replace(json &spec, const json::json_pointer &place, const json *value) {
    if (!spec.contains(place))
      return;
    if (value)
      spec[place] = *value;
    else if (spec[place.parent_pointer()].is_object())
      spec[place.parent_pointer()].erase(place.back());
  }

  unsigned accepted = 0, refused = 0;
};

TEST_F(DeclarationMistakes, OneAtATimeIsAProgramOrALocatedError) {
  for (const char *text : specs) {
    const json spec = json::parse(text);
    check(spec);
    ASSERT_EQ(refused, 0u) << rendered();
    for (const json::json_pointer &place : placesOf(spec))
      for (size_t i = 0; i <= values.size(); ++i) {
        json mistaken = spec;
        replace(mistaken, place, i < values.size() ? &values[i] : nullptr);
        check(mistaken);
        ASSERT_FALSE(HasFatalFailure());
      }
    refused = 0;
  }
  EXPECT_GT(accepted, 100u); // not everything is refused before the body is reached
}

TEST_F(DeclarationMistakes, TwoAtATimeAreAProgramOrALocatedError) {
  std::mt19937 random(4);
  for (const char *text : specs) {
    const json spec = json::parse(text);
    std::vector<json::json_pointer> places = placesOf(spec);
    for (unsigned times = 0; times < 700; ++times) {
      json mistaken = spec;
      for (unsigned mistakes = 0; mistakes < 2; ++mistakes)
        replace(mistaken, places[random() % places.size()], &values[random() % values.size()]);
      check(mistaken);
      ASSERT_FALSE(HasFatalFailure());
    }
  }
  EXPECT_GT(accepted, 5u);
}

} // namespace
} // namespace attnc
