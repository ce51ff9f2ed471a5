// How much code a kernel will be.
#ifndef ATTNC_COMPILER_DRIVER_IMAGES_CODE_SIZE_H
#define ATTNC_COMPILER_DRIVER_IMAGES_CODE_SIZE_H

#include "dialects/Tile/Tile.h"

namespace attnc::driver {

/// An estimate of the instructions of the kernel's machine code, in no exact unit: the code of maps
/// counts for each element of a thread that it depends on, products for each instruction of the
/// tensor cores, loops once. NVRTC's time goes up with it.
int64_t estimateCode(tile::KernelOp kernel);

} // namespace attnc::driver

#endif
