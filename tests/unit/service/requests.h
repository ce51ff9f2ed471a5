#pragma once

/// Requests for the tests of compilation by the service.

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>

namespace attnc::service {

/// A request for sm_90a; `more` are further members, or others.
inline std::string requestFor(const std::string &spec, const nlohmann::json &more = {}) {
  nlohmann::json request = {{"name", "test.json"}, {"text", spec}, {"target", "sm_90a"}};
  if (!more.is_null())
    request.update(more);
  return request.dump();
}

/// A spec over x[i, j] whose statements compute z.
inline std::string specOf(const std::string &name, const nlohmann::json &body) {
  return nlohmann::json{{"attnc", 1},
                        {"name", name},
                        {"inputs", {{"x", "f32[i, j]"}}},
                        {"body", body},
                        {"outputs", {{"z", "f32"}}}}
      .dump();
}

/// `times` the statements, which read and write `carry`.
inline nlohmann::json repeated(int times, const nlohmann::json &carry, const nlohmann::json &body) {
  return {{"repeat", times}, {"carry", carry}, {"body", body}};
}

/// One kernel, in a moment.
inline std::string smallSpec(const std::string &name = "small") {
  return specOf(name, {"z = x * 2"});
}

/// One kernel, for which NVRTC takes a minute.
inline std::string longKernelSpec() {
  return specOf("long", {"z = x", repeated(9999, {"z"}, {"z = tanh(z) + x"})});
}

/// An expression that doubles with each step, which the compiler's passes do not get to the end of.
inline std::string endlessSpec(const std::string &name = "endless") {
  return specOf(name,
                {"u = x", repeated(30, {"u"}, {"w = max(j, u)", "u = u / (1 + abs(w))"}), "z = u"});
}

/// Two kernels for each step, no two of which are equal.
inline std::string manyKernelsSpec(int steps) {
  nlohmann::json body = {"k = exp(x)", "v0 = sum(i, k)"};
  for (int i = 1; i <= steps; ++i) {
    body.push_back(fmt::format("u{} = {} / ({} + sum(j, k * v{}))", i, i, i + 1, i - 1));
    body.push_back(fmt::format("v{} = {} / ({} + sum(i, k * u{}))", i, i, i + 2, i));
  }
  body.push_back(fmt::format("z = k * v{}", steps));
  return specOf("many", body);
}

} // namespace attnc::service
