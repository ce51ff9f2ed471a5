// A spec that is being written: its inputs appear as they are used.
#ifndef ATTNC_TESTS_PROGRAMS_SPEC_WRITER_H
#define ATTNC_TESTS_PROGRAMS_SPEC_WRITER_H

#include "tests/programs/choices.h"
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace attnc::programs {

/// Where the keys of a program lie.
enum class Keys {
  Plain,    ///< k[b, h, j, d]
  Grouped,  ///< k[b, h // g, j, d]
  Lengths,  ///< j has the extent len[b]
  Packed,   ///< sequences without padding
  Gathered, ///< k[b, h, table[j], d]
  Sliding,  ///< k[b, h, i + j - 2, d], or 0 outside
};

/// Dims b, h (perhaps), i (rows), j (the stream), d and e (inner, static); arrays over them; and
/// statements. The extents are small, so that a program is evaluated in milliseconds.
class SpecWriter {
public:
  explicit SpecWriter(Choices &choices);

  bool hasBatch() const { return batch; }
  bool hasHeads() const { return heads; }
  bool isPacked() const { return keys == Keys::Packed; }

  /// Expressions that read an input, which is declared if it is not yet: over rows and d, stream
  /// and d, stream and e.
  std::string query(const std::string &name = "q");
  std::string key(const std::string &name = "k");
  std::string value(const std::string &name = "v");
  /// An input over some of the dims "bhijde", those that there are.
  std::string input(const std::string &name, const std::string &type, const std::string &dims);
  /// A param; `declaration` as in a spec.
  std::string param(const std::string &name, const std::string &declaration);

  /// Adds `name = expression` under a name that begins with `stem`, which it returns.
  std::string define(const std::string &stem, const std::string &expression);
  /// As define, with the label that `dims` makes, of those that there are.
  std::string defineAt(const std::string &stem, const std::string &dims,
                       const std::string &expression);
  void output(const std::string &name, const std::string &type = "f32");

  /// The spec as JSON, with a reference shape for its dynamic dims. Statements and params that no
  /// output needs are left out.
  std::string text() const;

private:
  std::vector<std::string> existing(const std::string &dims) const;
  std::string streamed(const std::string &name, const std::string &inner);
  std::string fresh(const std::string &stem);
  void declare(const std::string &name, const std::string &type,
               const std::vector<std::string> &dims);
  void chooseExtents(Choices &choices);
  nlohmann::ordered_json neededStatements() const;

  Keys keys = Keys::Plain;
  bool batch = false, heads = false;
  std::string type = "f32";
  std::map<std::string, int64_t> shape;
  nlohmann::ordered_json dims, let, require, params, inputs, body, outputs;
  unsigned names = 0;
};

} // namespace attnc::programs

#endif
