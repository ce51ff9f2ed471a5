// Damaged specs: whatever the bytes, the result is a verified program or a located error.
#include "kernels_spec/library.h"
#include "mlir/IR/Verifier.h"
#include "spec_fixture.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <filesystem>
#include <random>

namespace attnc {
namespace {

std::vector<std::string> libraryTexts() {
  std::vector<std::filesystem::path> paths;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(ATTNC_SPEC_DIR))
    if (entry.path().extension() == ".json")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto &path : paths)
    texts.push_back((*llvm::MemoryBuffer::getFile(path.string()))->getBuffer().str());
  return texts;
}

/// Damages texts; the same seed gives the same damage.
class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}

  size_t below(size_t n) { return n ? random() % n : 0; }

  std::string flipByte(std::string text) {
    text[below(text.size())] = static_cast<char>(random());
    return text;
  }
  std::string truncate(const std::string &text) { return text.substr(0, below(text.size())); }
  std::string deleteToken(const std::string &text) {
    auto [begin, end] = token(text);
    return text.substr(0, begin) + text.substr(end);
  }
  std::string duplicateToken(const std::string &text) {
    auto [begin, end] = token(text);
    return text.substr(0, end) + " " + text.substr(begin);
  }
  /// Puts one token in the place of another: most often this stays valid JSON.
  std::string moveToken(const std::string &text) {
    auto [from, fromEnd] = token(text);
    auto [to, toEnd] = token(text);
    return text.substr(0, to) + text.substr(from, fromEnd - from) + text.substr(toEnd);
  }
  std::string insertSign(const std::string &text) {
    static const std::vector<std::string> signs = {"(",         ")",
                                                   "[",         "]",
                                                   "-",         "**",
                                                   "//",        "%",
                                                   "<",         "==",
                                                   " and ",     " not ",
                                                   ",",         "1e999",
                                                   "inf",       "99999999999999999999",
                                                   "0",         "\\u0041",
                                                   "\\n",       "\xE2\x88\x92",
                                                   " else 0",   "size(j)",
                                                   "=",         "(j, d)",
                                                   "max(j, s)", "cast(s, i8)",
                                                   "/*",        "\"",
                                                   "{",         "}"};
    size_t at = below(text.size());
    return text.substr(0, at) + signs[below(signs.size())] + text.substr(at);
  }

  std::string mutate(std::string text) {
    for (size_t times = 1 + below(3); times > 0 && !text.empty(); --times)
      text = once(text);
    return text;
  }

private:
  std::string once(const std::string &text) {
    switch (below(6)) {
    case 0:
      return flipByte(text);
    case 1:
      return truncate(text);
    case 2:
      return deleteToken(text);
    case 3:
      return duplicateToken(text);
    case 4:
      return moveToken(text);
    default:
      return insertSign(text);
    }
  }

  /// The extent of a word or of a single sign.
  std::pair<size_t, size_t> token(const std::string &text) {
    size_t begin = below(text.size()), end = begin + 1;
    auto inWord = [&](size_t i) { return llvm::isAlnum(text[i]) || text[i] == '_'; };
    if (inWord(begin)) {
      while (begin > 0 && inWord(begin - 1))
        --begin;
      while (end < text.size() && inWord(end))
        ++end;
    }
    return {begin, end};
  }

  std::mt19937 random;
};

class Mutation : public SpecFixture {
protected:
  void check(const std::string &text) {
    mlir::MLIRContext fresh(mlir::MLIRContext::Threading::DISABLED);
    Diagnostics findings;
    std::optional<Spec> spec = parseSpec(fresh, "t.json", text, {}, findings, libraryBases());
    ASSERT_EQ(spec.has_value(), !findings.hasErrors()) << text;
    if (spec) {
      ++accepted;
      ASSERT_TRUE(succeeded(mlir::verify(*spec->module))) << text;
    }
    size_t lines = 1 + std::count(text.begin(), text.end(), '\n');
    for (const Diagnostic &d : findings.all()) {
      ASSERT_GE(d.line, 1u) << text;
      ASSERT_TRUE(d.file != "t.json" || d.line <= lines) << text; // else of what it extends
      ASSERT_GE(d.column, 1u) << text;
      ASSERT_LE(d.column, text.size() + 1) << text;
      ASSERT_LE(d.caretOffset, d.expression.size()) << text;
      ASSERT_FALSE(d.message.empty()) << text;
      ASSERT_FALSE(d.remedy.empty()) << d.message << text;
      ASSERT_FALSE(llvm::StringRef(d.message).contains("internal error")) << d.message << text;
    }
    std::string shown;
    llvm::raw_string_ostream os(shown);
    findings.render(os, true);
    ASSERT_TRUE(llvm::json::isUTF8(shown)) << text;
    ASSERT_EQ(findings.toJson().size(), findings.all().size());
  }

  unsigned accepted = 0;
};

TEST_F(Mutation, GivesAProgramOrALocatedError) {
  Mutator mutator(20240607);
  std::vector<std::string> texts = libraryTexts();
  ASSERT_FALSE(texts.empty());
  constexpr unsigned cases = 6000;
  for (unsigned i = 0; i < cases; ++i) {
    check(mutator.mutate(texts[mutator.below(texts.size())]));
    if (HasFatalFailure())
      return;
  }
  // The damage is not so great that only the JSON parser is tested.
  EXPECT_GT(accepted, cases / 50);
  EXPECT_LT(accepted, cases / 2);
}

TEST_F(Mutation, SurvivesRandomBytes) {
  std::mt19937 random(7);
  for (unsigned i = 0; i < 500; ++i) {
    std::string text(random() % 200, '\0');
    for (char &c : text)
      c = static_cast<char>(random());
    check(text);
    if (HasFatalFailure())
      return;
  }
}

TEST_F(Mutation, EveryPrefixOfASpecIsRefused) {
  std::string text = libraryTexts().front();
  while (!text.empty() && text.back() != '}')
    text.pop_back();
  for (size_t length = 0; length < text.size(); ++length) {
    check(text.substr(0, length));
    if (HasFatalFailure())
      return;
  }
  EXPECT_EQ(accepted, 0u);
}

} // namespace
} // namespace attnc
