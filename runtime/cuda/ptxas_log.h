#pragma once

/// Reading what ptxas says with -v.

#include "runtime/program/manifest.h"

#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// The resources of one entry function. Stack and spills of device functions that were not inlined
/// into it are added to it.
struct KernelReport {
  std::string symbol;
  KernelResources resources;
};

struct PtxasReport {
  std::vector<KernelReport> kernels;
  /// Lines with a numbered remark such as C7510 ("wgmma serialized"), each once.
  std::vector<std::string> notes;
};

/// Lines that it does not know are passed over.
PtxasReport parsePtxasLog(std::string_view log);

} // namespace attnc
