// The C interface with owners, for its tests.
#ifndef ATTNC_TESTS_UNIT_API_HANDLES_H
#define ATTNC_TESTS_UNIT_API_HANDLES_H

#include "attnc_c.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace attnc::test {

struct Destroy {
  void operator()(attnc_error *error) const { attnc_error_destroy(error); }
  void operator()(attnc_program *program) const { attnc_program_destroy(program); }
  void operator()(attnc_loaded *loaded) const { attnc_loaded_destroy(loaded); }
  void operator()(attnc_plan *plan) const { attnc_plan_destroy(plan); }
};
template <typename T> using Own = std::unique_ptr<T, Destroy>;

/// What a call returned, as "kind: message"; empty for success.
inline std::string said(attnc_error *returned) {
  Own<attnc_error> error(returned);
  return error ? std::to_string(attnc_error_kind(error.get())) + ": " +
                     attnc_error_message(error.get())
               : "";
}

/// y[n] = x[n] * by; the sum over n is a second output that runs as another kernel.
inline constexpr const char *scaleSpec = R"json({
  "attnc": 1, "name": "scaled", "types": {"T": "f32"}, "dims": {"d": 4},
  "params": {"by": "f32 > 0 = 2"},
  "inputs": {"x": "T[n, d]"},
  "body": ["y[n,d] = x[n,d] * by", "z[n] = sum(d, x[n,d])"],
  "outputs": {"y": "T", "z": "T"}
})json";

/// p goes through memory, because y reads it at a table of positions.
inline constexpr const char *tableSpec = R"json({
  "attnc": 1, "name": "table", "types": {"T": "f32"},
  "inputs": {"s": "T[i, j]", "top": "i32[i]"},
  "body": ["p[i,j] = softmax(j, s)", "y[i] = p[i,top[i]]"],
  "outputs": {"y": "T"}
})json";

inline attnc_compile_options optionsFor(const char *target) {
  attnc_compile_options options = {};
  options.struct_size = sizeof options;
  options.target = target;
  return options;
}

inline Own<attnc_program> compile(const std::string &text, const attnc_compile_options &options) {
  attnc_program *program = nullptr;
  EXPECT_EQ(said(attnc_compile_text("spec", text.data(), text.size(), &options, &program)), "");
  return Own<attnc_program>(program);
}

inline Own<attnc_loaded> load(const attnc_program *program) {
  attnc_loaded *loaded = nullptr;
  EXPECT_EQ(said(attnc_load(program, ATTNC_CURRENT_DEVICE, &loaded)), "");
  return Own<attnc_loaded>(loaded);
}

/// The tensors of scaleSpec, on the host.
struct ScaleTensors {
  explicit ScaleTensors(int64_t n) : shape{n, 4}, x(n * 4), y(n * 4), z(n) {
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i);
    list = {{"x", x.data(), ATTNC_F32, 2, shape.data(), nullptr},
            {"y", y.data(), ATTNC_F32, 2, shape.data(), nullptr},
            {"z", z.data(), ATTNC_F32, 1, shape.data(), nullptr}};
  }
  attnc_arguments arguments() const {
    return {sizeof(attnc_arguments), list.data(), list.size(), nullptr, 0, nullptr};
  }

  std::vector<int64_t> shape;
  std::vector<float> x, y, z;
  std::vector<attnc_tensor> list;
};

} // namespace attnc::test

#endif
