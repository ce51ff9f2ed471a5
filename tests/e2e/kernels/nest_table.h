// The table of what becomes of each spec of the library, tests/golden/nests.json: its nests, the
// form of their kernels on each GPU target, their states, and what is recomputed or goes through
// memory. A person reads its changes: one more nest or another form is a decision.
#ifndef ATTNC_TESTS_E2E_NEST_TABLE_H
#define ATTNC_TESTS_E2E_NEST_TABLE_H

#include "attnc/result.h"
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace attnc::e2e {

/// One nest of a spec. States, recomputed folds and stored values do not depend on the target, or
/// the target has a nest of its own.
struct NestRow {
  std::string name;                            ///< of its kernel
  std::map<std::string, std::string> forms;    ///< target -> "portable", "warpgroups", "generic"
  std::vector<std::string> states;             ///< in the words of explain
  std::vector<std::string> recomputed;         ///< folds that another nest computes, too
  std::map<std::string, int64_t> materialised; ///< bytes of what it stores for later nests

  /// Whether all but the forms is equal.
  bool sameAs(const NestRow &other) const;
};

/// One spec, with its own static extents, at its reference shape.
struct SpecRow {
  std::string shape; ///< "b=2, h=3, i=129, j=200"
  std::vector<NestRow> nests;
};

/// Compiles a spec of the library to the tile dialect for every target of the table; needs no
/// NVRTC.
Result<SpecRow> nestsOf(const std::string &spec);

class NestTable {
public:
  /// The table in the repository; empty if there is none.
  static NestTable ofRepository();

  /// What differs from the table, a line each, as diff prints it.
  std::vector<std::string> differences(const std::string &spec, const SpecRow &row) const;

  void set(const std::string &spec, const SpecRow &row) { rows[spec] = row; }

  /// The specs in the table, in alphabetical order.
  std::vector<std::string> specs() const;

  std::string text() const;

private:
  std::map<std::string, SpecRow> rows;
};

} // namespace attnc::e2e

#endif
