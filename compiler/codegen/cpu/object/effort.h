// How much of LLVM a program can afford.
#ifndef ATTNC_COMPILER_CODEGEN_CPU_OBJECT_EFFORT_H
#define ATTNC_COMPILER_CODEGEN_CPU_OBJECT_EFFORT_H

#include <string>

namespace attnc::cpu {

enum class Effort {
  Quick,   ///< little code, no vectors, the quickest code generator
  Vectors, ///< vectors and what they need: about half of the time, most of the speed
  Full,    ///< LLVM's pipeline of level 2
};

/// The effort for a program of `ops` ops of scalars and loops, so that LLVM takes seconds at most.
Effort affordableEffort(unsigned ops);

/// What is left out of the code of such a program, and why; empty for Full.
std::string leftOut(Effort effort, unsigned ops);

} // namespace attnc::cpu

#endif
