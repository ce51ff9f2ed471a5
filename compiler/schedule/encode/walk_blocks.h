// Kernels of few blocks that do the work of many.
#ifndef ATTNC_COMPILER_SCHEDULE_ENCODE_WALK_BLOCKS_H
#define ATTNC_COMPILER_SCHEDULE_ENCODE_WALK_BLOCKS_H

#include "compiler/schedule/nest/kernel_memory.h"

namespace attnc::schedule {

/// Launches at most `most` blocks of the nest's kernel, each of which takes blocks of before in
/// turn: to start a block costs more than to see that it has nothing to do. Does nothing to a kernel
/// whose threads do not ask for the number of their block.
void walkBlocks(tile::KernelOp kernel, red::NestOp nest, const KernelSignature &signature,
                int64_t most);

} // namespace attnc::schedule

#endif
