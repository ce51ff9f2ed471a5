#pragma once

/// Requests for the tests of compilation by the service.

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
                {"u = x", repeated(30, {"u"}, {"w = sum(j, u)", "u = u / (1 + abs(w))"}), "z = u"});
}

/// As many kernels as steps, twice.
inline std::string manyKernelsSpec(int steps) {
  return specOf("many", {"k = exp(x)", "v = sum(i, k)",
                         repeated(steps, {"v"}, {"u = 1 / sum(j, k * v)", "v = 1 / sum(i, k * u)"}),
                         "z = k * v"});
}

} // namespace attnc::service
