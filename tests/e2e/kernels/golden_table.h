// The table of what the library's kernels consist of, tests/golden/kernels_TARGET.json. A person
// reads its changes: a kernel that takes more registers, or more instructions, is a decision.
#ifndef ATTNC_TESTS_E2E_GOLDEN_TABLE_H
#define ATTNC_TESTS_E2E_GOLDEN_TABLE_H

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace attnc::e2e {

/// One kernel, compiled with one version of NVRTC.
struct GoldenRow {
  std::string form;               ///< "warpgroups", "portable", ...
  int threads = 0;                ///< of a block
  int sharedBytes = 0;            ///< dynamic shared memory of a block
  int registers = 0;              ///< of a thread
  int spillBytes = 0;             ///< loads and stores
  std::map<std::string, int> ptx; ///< instructions by class, of countInstructions
};

class GoldenTable {
public:
  /// The table of a target as it is in the repository; empty if there is none.
  static GoldenTable ofRepository(const std::string &target);

  /// Where tables are to be written instead of compared with (ATTNC_WRITE_GOLDEN); empty: compare.
  static std::filesystem::path destination();

  /// What differs from the table, a line each: "registers: 96 -> 104". What ptxas and the optimiser
  /// of another version of NVRTC decide (registers, spills, the total) is compared only with the
  /// version of the table.
  std::vector<std::string> differences(const std::string &kernel, const GoldenRow &row,
                                       const std::string &nvrtc) const;

  /// Sets a row. With another version of NVRTC than the table's, the other rows go.
  void set(const std::string &kernel, const GoldenRow &row, const std::string &nvrtc);

  /// The names of the rows, in alphabetical order.
  std::vector<std::string> kernels() const;

  std::string text() const;

private:
  std::string nvrtc;
  std::map<std::string, GoldenRow> rows;
};

} // namespace attnc::e2e

#endif
