#pragma once

/// Reading the objects of a manifest's JSON.

#include "attnc/result.h"
#include "runtime/program/dtype.h"
#include "runtime/program/expr.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// What is known of the whole document while it is read.
struct Document {
  std::optional<Error> error; ///< the first
  bool isNewer = false;       ///< of a newer minor version: keys may be unknown
};

/// One JSON object that is read strictly. The first error of the whole document is kept; after it
/// every read gives an empty value, so that readers need no checks of their own.
class Fields {
public:
  Fields(const Json &json, std::string where, Document &document)
      : json(json), where(std::move(where)), document(document) {
    if (!json.is_object())
      fail("expected an object");
  }

  void fail(const std::string &message, const std::string &remedy = {}) {
    if (!document.error)
      document.error = invalidArgument(fmt::format("manifest: {}: {}", where, message), remedy);
  }

  /// What is read from here on may have keys that nobody knows.
  void passOverUnknown() { document.isNewer = true; }

  /// The value of `key`, or null where there is none (an error if it is required).
  const Json *find(std::string_view key, bool required) {
    known.emplace_back(key);
    if (document.error)
      return nullptr;
    auto found = json.find(std::string(key));
    if (found != json.end())
      return &*found;
    if (required)
      fail(fmt::format("'{}' is missing", key));
    return nullptr;
  }

  std::string text(std::string_view key) {
    const Json *value = find(key, true);
    if (value && !value->is_string())
      fail(fmt::format("'{}' is not a string", key));
    return value && value->is_string() ? value->get<std::string>() : std::string();
  }

  std::string optionalText(std::string_view key) {
    return find(key, false) ? text(key) : std::string();
  }

  std::int64_t integer(std::string_view key, std::optional<std::int64_t> otherwise = {}) {
    const Json *value = find(key, !otherwise);
    if (!value)
      return otherwise.value_or(0);
    if (!value->is_number_integer() ||
        (value->is_number_unsigned() && value->get<std::uint64_t>() > std::uint64_t(INT64_MAX))) {
      fail(fmt::format("'{}' is not an integer of 64 bits", key));
      return 0;
    }
    return value->get<std::int64_t>();
  }

  int smallInteger(std::string_view key, std::optional<std::int64_t> otherwise = {}) {
    std::int64_t value = integer(key, otherwise);
    if (value < 0 || value > INT32_MAX)
      fail(fmt::format("'{}' is {}, which is out of range", key, value));
    return static_cast<int>(std::clamp<std::int64_t>(value, 0, INT32_MAX));
  }

  bool flag(std::string_view key) {
    const Json *value = find(key, false);
    if (value && !value->is_boolean())
      fail(fmt::format("'{}' is neither true nor false", key));
    return value && value->is_boolean() && value->get<bool>();
  }

  DType dtype(std::string_view key) {
    std::string name = text(key);
    std::optional<DType> type = dtypeFromName(name);
    if (!type)
      fail(fmt::format("'{}' is no dtype", name));
    return type.value_or(DType::F32);
  }

  std::optional<Expr> optionalExpr(std::string_view key) {
    const Json *value = find(key, false);
    return value ? parse(*value, key) : std::nullopt;
  }

  Expr expr(std::string_view key) {
    const Json *value = find(key, true);
    return value ? parse(*value, key).value_or(Expr()) : Expr();
  }

  const Json::array_t &list(std::string_view key) {
    static const Json::array_t none;
    const Json *value = find(key, true);
    if (value && !value->is_array())
      fail(fmt::format("'{}' is not a list", key));
    return value && value->is_array() ? value->get_ref<const Json::array_t &>() : none;
  }

  std::vector<std::string> names(std::string_view key) {
    std::vector<std::string> result;
    for (const Json &item : list(key)) {
      if (!item.is_string())
        fail(fmt::format("'{}' holds something that is not a name", key));
      else
        result.push_back(item.get<std::string>());
    }
    return result;
  }

  std::vector<std::int64_t> integers(std::string_view key) {
    std::vector<std::int64_t> result;
    for (const Json &item : list(key)) {
      if (!item.is_number_integer() ||
          (item.is_number_unsigned() && item.get<std::uint64_t>() > std::uint64_t(INT64_MAX)))
        fail(fmt::format("'{}' holds something that is not an integer of 64 bits", key));
      else
        result.push_back(item.get<std::int64_t>());
    }
    return result;
  }

  /// Reads each object of a list with `read(Fields&)`.
  template <typename Read> auto objects(std::string_view key, Read read) {
    std::vector<decltype(read(*this))> result;
    for (const Json &item : list(key)) {
      std::string label = fmt::format("{}[{}]", key, result.size());
      if (item.is_object() && item.contains("name") && item["name"].is_string())
        label += " (" + item["name"].get<std::string>() + ")";
      result.push_back(nested(item, label, read));
      if (document.error)
        break;
    }
    return result;
  }

  bool has(std::string_view key) const { return json.is_object() && json.contains(key); }

  template <typename Read> auto nested(const Json &item, const std::string &label, Read read) {
    Fields fields(item, where + "." + label, document);
    auto result = read(fields);
    fields.refuseUnknown();
    return result;
  }

  void refuseUnknown() {
    if (document.error || document.isNewer)
      return;
    for (const auto &[key, value] : json.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        fail(fmt::format("unknown key '{}'", key));
  }

  std::optional<Expr> parse(const Json &value, std::string_view key) {
    Result<Expr> expr = parseExpr(value);
    if (expr)
      return *std::move(expr);
    fail(fmt::format("'{}': {}", key, expr.error().message));
    return std::nullopt;
  }

private:
  const Json &json;
  std::string where;
  Document &document;
  std::vector<std::string> known;
};

} // namespace attnc
