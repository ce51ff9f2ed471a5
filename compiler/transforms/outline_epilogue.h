#ifndef ATTNC_COMPILER_TRANSFORMS_OUTLINE_EPILOGUE_H
#define ATTNC_COMPILER_TRANSFORMS_OUTLINE_EPILOGUE_H

#include "dialects/Red/Red.h"

namespace attnc {

/// True if a nest folds over inner dims what its states leave after the stream: a norm, say.
bool foldsInEpilogue(red::NestOp nest);

/// Has such folds computed by nests of their own, and what is computed from them by further ones:
/// for targets whose kernels cannot fold there. The nest stores what they need of it, which is as
/// little as recomputing maps allows.
void outlineEpilogue(red::NestOp nest);

} // namespace attnc

#endif
