#include "compiler/codegen/cpu/object/effort.h"
#include "llvm/Support/FormatVariadic.h"

namespace attnc::cpu {

// Of a loop that it vectorises LLVM compiles ten ops in a millisecond, and twenty with the passes
// of Vectors alone: both limits are 2 to 7 s of one processor. The largest specs that people write
// have a few thousand ops.
static constexpr unsigned kMostOfFull = 20000, kMostOfVectors = 100000;

Effort affordableEffort(unsigned ops) {
  return ops <= kMostOfFull      ? Effort::Full
         : ops <= kMostOfVectors ? Effort::Vectors
                                 : Effort::Quick;
}

std::string leftOut(Effort effort, unsigned ops) {
  switch (effort) {
  case Effort::Full:
    return "";
  case Effort::Vectors:
    return llvm::formatv(
        "with vectors, without LLVM's other optimisations: {0} operations are more "
        "than {1}",
        ops, kMostOfFull);
  case Effort::Quick:
    return llvm::formatv("without vectors, many times slower: {0} operations are more than {1}; "
                         "fewer iterations of a repeat are fewer operations",
                         ops, kMostOfVectors);
  }
  return "";
}

} // namespace attnc::cpu
