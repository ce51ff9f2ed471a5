// A spec for the tests of programs that last.
#ifndef ATTNC_TESTS_UNIT_JIT_PARSED_SPEC_H
#define ATTNC_TESTS_UNIT_JIT_PARSED_SPEC_H

#include "compiler/driver/compile.h"

#include <gtest/gtest.h>

namespace attnc::test {

inline const std::string softmaxSpec = R"json({
  "attnc": 1, "name": "softmax", "types": {"T": "f32"}, "dims": {"d": 16},
  "params": {"scale": "f32 > 0 = 1"},
  "inputs": {"q": "T[i, d]", "k": "T[j, d]", "v": "T[j, d]"},
  "body": ["p = softmax(j, sum(d, q[i,d] * k[j,d]) * scale)", "o[i,d] = sum(j, p * v[j,d])"],
  "outputs": {"o": "T"},
  "reference": {"shape": {"i": 5, "j": 7}}
})json";

/// A spec with the context that it lives in.
struct ParsedSpec {
  explicit ParsedSpec(const std::string &text = softmaxSpec,
                      const std::string &file = "softmax.json", const Overrides &set = {})
      : context(mlir::MLIRContext::Threading::DISABLED) {
    driver::loadDialects(context);
    Diagnostics diagnostics;
    std::optional<Spec> parsed = parseSpec(context, file, text, set, diagnostics);
    if (!parsed)
      throw std::runtime_error("the spec of a test has errors");
    spec = std::make_unique<Spec>(std::move(*parsed));
  }

  mlir::MLIRContext context;
  std::unique_ptr<Spec> spec;
};

} // namespace attnc::test

#endif
