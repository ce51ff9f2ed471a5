// What a spec says beside its mathematics.
#ifndef ATTNC_COMPILER_DRIVER_SPEC_HINTS_H
#define ATTNC_COMPILER_DRIVER_SPEC_HINTS_H

#include "compiler/frontend/frontend.h"
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace attnc::driver {

/// The extents of dynamic dims in the spec's reference shape.
std::map<std::string, std::int64_t> referenceExtents(const Spec &spec);

/// The keys of the schedule: what the caller says (null for nothing) comes before what the spec
/// hints at.
nlohmann::json scheduleKeys(const Spec &spec, const nlohmann::json &said);

} // namespace attnc::driver

#endif
