// Elements that a mask hides.
#ifndef ATTNC_DIALECTS_RED_MASKEDREAD_H
#define ATTNC_DIALECTS_RED_MASKEDREAD_H

#include "dialects/Attn/Attn.h"

namespace attnc::red {

/// What an array has elements of, or 0 where a mask hides them, as that of a part of a stream does;
/// null for other arrays.
attn::ReadOp maskedRead(mlir::Value array);

} // namespace attnc::red

#endif
