#include "compiler/driver/spec_hints.h"

namespace attnc::driver {

std::map<std::string, std::int64_t> referenceExtents(const Spec &spec) {
  std::map<std::string, std::int64_t> extents;
  auto shape = spec.reference.find("shape");
  if (shape != spec.reference.end())
    for (auto &[dim, extent] : shape->items())
      extents[dim] = extent.get<std::int64_t>();
  return extents;
}

nlohmann::json scheduleKeys(const Spec &spec, const nlohmann::json &said) {
  nlohmann::json keys = spec.schedule.is_object() ? spec.schedule : nlohmann::json::object();
  if (said.is_object())
    keys.update(said);
  return keys;
}

} // namespace attnc::driver
