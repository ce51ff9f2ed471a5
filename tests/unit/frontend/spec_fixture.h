// What the tests of the frontend share: parsing a text, looking at what came out.
#ifndef ATTNC_TESTS_UNIT_FRONTEND_SPEC_FIXTURE_H
#define ATTNC_TESTS_UNIT_FRONTEND_SPEC_FIXTURE_H

#include "compiler/frontend/frontend.h"
#include "dialects/Attn/Attn.h"
#include "kernels_spec/library.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

namespace attnc {

class SpecFixture : public ::testing::Test {
protected:
  /// Parses `text` as `t.json`; the findings of the last call are in `diagnostics`.
  std::optional<Spec> parse(const std::string &text, const Overrides &overrides = {}) {
    diagnostics = Diagnostics();
    return parseSpec(context, "t.json", text, overrides, diagnostics, libraryBases());
  }

  /// A spec of these inputs (JSON members), body (JSON strings) and outputs (JSON members).
  static std::string specOf(const std::string &inputs, const std::string &body,
                            const std::string &outputs, const std::string &more = "") {
    return "{\"attnc\": 1, " + more + (more.empty() ? "" : ", ") + "\"inputs\": {" + inputs +
           "}, \"body\": [" + body + "], \"outputs\": {" + outputs + "}}";
  }

  /// One statement `o = expression` over x[b, i], y[b, j], flags m[i] and integers n[i].
  static std::string specOfExpression(const std::string &expression,
                                      const std::string &type = "f32",
                                      const std::string &more = "") {
    return specOf("\"x\": \"f32[b, i]\", \"y\": \"f32[b, j]\", \"m\": \"bool[i]\", "
                  "\"n\": \"i32[i]\"",
                  "\"o = " + expression + "\"", "\"o\": \"" + type + "\"", more);
  }

  /// The findings as text.
  std::string rendered() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    diagnostics.render(os, /*colour=*/false);
    return text;
  }

  /// The program as text.
  static std::string printed(Spec &spec) {
    std::string text;
    llvm::raw_string_ostream os(text);
    spec.module->print(os, mlir::OpPrintingFlags().printNameLocAsPrefix());
    return text;
  }

  static attn::ProgramOp programOf(Spec &spec) {
    return *spec.module->getOps<attn::ProgramOp>().begin();
  }

  template <typename Op> static std::vector<Op> opsOf(Spec &spec) {
    auto range = programOf(spec).getBody().getOps<Op>();
    return {range.begin(), range.end()};
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  Diagnostics diagnostics;
};

} // namespace attnc

#endif
