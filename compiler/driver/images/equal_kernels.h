// Kernels that differ in their names only: one image serves them all.
#ifndef ATTNC_COMPILER_DRIVER_IMAGES_EQUAL_KERNELS_H
#define ATTNC_COMPILER_DRIVER_IMAGES_EQUAL_KERNELS_H

#include "dialects/Tile/Tile.h"
#include <string>
#include <vector>

namespace attnc::driver {

/// What the kernel does, with no name of its own, its arguments' or its variables', and not how
/// many blocks do it: kernels of one context with equal keys are compiled to equal machine code.
/// The bytes mean nothing elsewhere.
std::string namelessKey(tile::KernelOp kernel);

/// For each key the number of the first that is equal to it.
std::vector<size_t> firstEqual(const std::vector<std::string> &keys);

} // namespace attnc::driver

#endif
