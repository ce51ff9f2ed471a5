// Kernels that differ in their names only: one image serves them all.
#ifndef ATTNC_COMPILER_DRIVER_EQUAL_KERNELS_H
#define ATTNC_COMPILER_DRIVER_EQUAL_KERNELS_H

#include "dialects/Tile/Tile.h"
#include <string>
#include <vector>

namespace attnc::driver {

/// What the kernel does, with no name of its own, its arguments' or its variables': equal texts are
/// compiled to equal machine code.
std::string namelessText(tile::KernelOp kernel);

/// For each text the number of the first that is equal to it.
std::vector<size_t> firstEqual(const std::vector<std::string> &texts);

} // namespace attnc::driver

#endif
