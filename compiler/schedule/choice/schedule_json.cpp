#include "compiler/schedule/choice/schedule_json.h"

namespace attnc::schedule {

using Json = nlohmann::json;

Error refusal(const std::string &text) { return invalidArgument("schedule: " + text); }

std::string written(const Json &value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr size_t most = 60;
  if (text.size() <= most)
    return text;
  size_t end = most;
  while ((text[end] & 0xC0) == 0x80) // not in the middle of a character
    --end;
  return text.substr(0, end) + "...";
}

Error refusal(const std::string &key, const Json &value, const std::string &kind) {
  return refusal(key + " is " + kind + ", not " + written(value));
}

// Integers that int64_t cannot hold: some JSON parsers give them as unsigned, others as floats.
static bool isBeyond64Bits(const Json &value) {
  if (value.is_number_unsigned())
    return value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  return value.is_number_float() && std::abs(value.get<double>()) >= 0x1p63;
}

// `"f32", "halves" or "tf32"`
static std::string namesOf(llvm::ArrayRef<llvm::StringLiteral> names) {
  std::string text;
  for (auto [i, name] : llvm::enumerate(names))
    text += (i == 0 ? "\"" : i + 1 == names.size() ? " or \"" : ", \"") + name.str() + "\"";
  return text;
}

Status setKey(const tile::ScheduleKey &key, const Json &value) {
  std::string name = key.name.str();
  if (auto *const *integer = std::get_if<int64_t *>(&key.value)) {
    if (isBeyond64Bits(value))
      return refusal(name + " is an integer of 64 bits, and the number is larger");
    if (!value.is_number_integer())
      return refusal(name, value, "an integer");
    **integer = value.get<int64_t>();
  } else if (auto *const *flag = std::get_if<bool *>(&key.value)) {
    if (!value.is_boolean())
      return refusal(name, value, "true or false");
    **flag = value.get<bool>();
  } else if (auto *const *accuracy = std::get_if<tile::Accuracy *>(&key.value)) {
    std::optional<tile::Accuracy> named =
        value.is_string() ? tile::accuracyOf(value.get<std::string>()) : std::nullopt;
    if (!named)
      return refusal(name, value, namesOf(tile::kAccuracyNames));
    **accuracy = *named;
  } else {
    if (!value.is_number())
      return refusal(name, value, "a number");
    *std::get<double *>(key.value) = value.get<double>();
  }
  return {};
}

// Names that keys had in earlier versions.
static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kRenamedKeys[] = {
    {"alternate", "ping_pong"},
    {"columns", "head_dim_tile"},
    {"draws", "dynamic_scheduler"},
    {"group_registers", "consumer_registers"},
    {"load_registers", "producer_registers"},
    {"slack", "rescale_threshold"},
};

Error unknownKey(llvm::StringRef key, const std::string &known) {
  for (const auto &[before, now] : kRenamedKeys)
    if (key == before)
      return refusal("key '" + key.str() + "' is called " + now.str());
  return refusal("unknown key '" + key.str() + "'; the " + known);
}

Status setKeys(const tile::ScheduleKeys &keys, llvm::StringRef form, const Json &values) {
  for (const auto &[name, value] : values.items()) {
    if (name == "form")
      continue;
    const auto *key =
        llvm::find_if(keys, [&, &name = name](const auto &key) { return key.name == name; });
    if (key == keys.end()) {
      std::string names;
      for (const tile::ScheduleKey &known : keys)
        names += (names.empty() ? "" : ", ") + known.name.str();
      return unknownKey(name, form.str() + " form has " + names);
    }
    if (Status status = setKey(*key, value); !status)
      return status;
  }
  return {};
}

Json toJson(red::Schedule schedule) {
  Json keys = {{"form", schedule.getForm().str()}};
  for (const red::ScheduleValue &key : schedule.getKeys())
    std::visit(
        [&](auto value) {
          if constexpr (std::is_same_v<decltype(value), llvm::StringRef>)
            keys[key.key.str()] = value.str();
          else
            keys[key.key.str()] = value;
        },
        key.value);
  return keys;
}

} // namespace attnc::schedule
