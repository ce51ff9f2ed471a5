#ifndef ATTNC_COMPILER_TRANSFORMS_GRADIENT_UNREAD_INPUTS_H
#define ATTNC_COMPILER_TRANSFORMS_GRADIENT_UNREAD_INPUTS_H

#include "dialects/Attn/Attn.h"
#include <set>
#include <string>

namespace attnc {

/// Erases the inputs that nothing reads, but for those of `kept`, and for those without which
/// nothing would say what an extent is.
void eraseUnreadInputs(attn::ProgramOp program, const std::set<std::string> &kept);

} // namespace attnc

#endif
