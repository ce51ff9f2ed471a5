// A checked spec as bytes that say all that a program is made from.
#ifndef ATTNC_COMPILER_JIT_SPEC_DIGEST_H
#define ATTNC_COMPILER_JIT_SPEC_DIGEST_H

#include "compiler/frontend/frontend.h"
#include <string>

namespace attnc {

/// The spec's IR, with names and places in the spec, its schedule and its reference shape. Equal
/// texts give equal programs. The folder of the spec's file is not in it, nor are comments; where
/// a statement stands is, because errors and explain say it.
std::string specDigest(const Spec &spec);

} // namespace attnc

#endif
