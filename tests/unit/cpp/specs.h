// Specs and memory that the tests of the C++ interface share.
#ifndef ATTNC_TESTS_UNIT_CPP_SPECS_H
#define ATTNC_TESTS_UNIT_CPP_SPECS_H

#include "attnc/attnc.hpp"

#include <gtest/gtest.h>

namespace attnc::test {

/// y[n, d] = x[n, d] * by.
inline SpecBuilder scaled() {
  return SpecBuilder("scaled")
      .type("T", "f32")
      .dim("d", 4)
      .param("by", "f32 > 0 = 2")
      .input("x", "T[n, d]")
      .statement("y[n,d] = x[n,d] * by")
      .output("y", "T");
}

/// p goes through memory, because y reads it at a table of positions.
inline SpecBuilder table() {
  return SpecBuilder("table")
      .input("s", "f32[i, j]")
      .input("top", "i32[i]")
      .statement("p[i,j] = softmax(j, s)")
      .statement("y[i] = p[i,top[i]]")
      .output("y", "f32");
}

inline Program compiled(const SpecBuilder &builder, const Options &options = {"cpu"}) {
  Result<Program> program = compile(builder.spec(), options);
  EXPECT_TRUE(program) << program.error().text();
  return *program;
}

inline Loaded loaded(const SpecBuilder &builder) {
  Result<Loaded> onCpu = compiled(builder).loadOn();
  EXPECT_TRUE(onCpu) << onCpu.error().text();
  return *onCpu;
}

/// "kind: message", empty for success.
template <typename T> std::string said(const Result<T> &result) {
  return result ? ""
                : std::to_string(static_cast<int>(result.error().kind)) + ": " +
                      result.error().message;
}
inline std::string saying(ErrorKind kind, const std::string &message) {
  return std::to_string(static_cast<int>(kind)) + ": " + message;
}

/// Three rows of scaled(), x = 0, 1, 2, ...
struct Rows {
  Rows() : x(12), y(12, -1) {
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i);
  }
  Arguments arguments() {
    return {{{"x", static_cast<const float *>(x.data()), {3, 4}}, {"y", y.data(), {3, 4}}}};
  }
  std::vector<float> x, y;
};

} // namespace attnc::test

#endif
