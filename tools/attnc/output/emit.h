// What `attnc compile` can write: --emit, and --print-ir-after.
#ifndef ATTNC_TOOLS_ATTNC_OUTPUT_EMIT_H
#define ATTNC_TOOLS_ATTNC_OUTPUT_EMIT_H

#include "compiler/driver/compile.h"
#include <string>
#include <string_view>
#include <vector>

namespace attnc::cli {

/// Whether the lines of what is written under this name come from the spec's: IR of ours, and the
/// code that is printed from it.
bool knowsLines(std::string_view emit);

/// One of the things that can be written.
struct Emit {
  const char *name;
  driver::Stage stage; ///< that a GPU's compilation has to reach
  enum Where { Anywhere, Gpu, Cpu } where;
  bool binary;

  bool is(const char *other) const { return name == std::string_view(other); }
  bool hasLines() const { return knowsLines(name); }
  /// Machine code, or what the driver makes it of: a file for each image.
  bool isImage() const { return is("ptx") || is("cubin"); }
};

/// Failure (Usage): there is none of this name, with the nearest.
const Emit &findEmit(const std::string &name);

/// All names, in the order of the stages.
std::vector<std::string> emitNames();

/// The passes after which IR can be printed, in their order.
std::vector<std::string> passNames();

} // namespace attnc::cli

#endif
