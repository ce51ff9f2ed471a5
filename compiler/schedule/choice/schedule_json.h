// Schedules as JSON: the keys of a schedule file.
#ifndef ATTNC_COMPILER_SCHEDULE_CHOICE_SCHEDULE_JSON_H
#define ATTNC_COMPILER_SCHEDULE_CHOICE_SCHEDULE_JSON_H

#include "attnc/result.h"
#include "dialects/Tile/Tile.h"
#include <nlohmann/json.hpp>

namespace attnc::schedule {

/// The error (InvalidArgument) about a schedule, which begins as all of them do.
Error refusal(const std::string &text);
/// That a key's value is no `kind`.
Error refusal(const std::string &key, const nlohmann::json &value, const std::string &kind);
/// That there is no such key: its name since, if it is one of an earlier version, else `known`,
/// which says what keys there are.
Error unknownKey(llvm::StringRef key, const std::string &known);
/// The value as it is written; of a long one the beginning.
std::string written(const nlohmann::json &value);

/// Sets a key. The error says of which kind its value is.
Status setKey(const tile::ScheduleKey &key, const nlohmann::json &value);

/// Sets the keys that an object names, apart from "form". The error names one that is not known, or
/// whose value is of another kind.
Status setKeys(const tile::ScheduleKeys &keys, llvm::StringRef form, const nlohmann::json &values);

/// The keys of a schedule, with "form".
nlohmann::json toJson(red::Schedule schedule);

} // namespace attnc::schedule

#endif
