// The kernels of a PTX module as its own text declares them.
#ifndef ATTNC_TESTS_E2E_PTX_ENTRIES_H
#define ATTNC_TESTS_E2E_PTX_ENTRIES_H

#include <string>
#include <string_view>
#include <vector>

namespace attnc::e2e {

struct PtxParameter {
  int bytes, align;
};

struct PtxEntry {
  std::string name;
  std::vector<PtxParameter> parameters;
  int threads = 0; ///< .maxntid or .reqntid: x times y times z; 0 if it says neither
};

std::vector<PtxEntry> ptxEntries(std::string_view ptx);

} // namespace attnc::e2e

#endif
