// The variant library that the binaries carry: the files of this folder.
#ifndef ATTNC_KERNELS_SPEC_LIBRARY_H
#define ATTNC_KERNELS_SPEC_LIBRARY_H

#include "compiler/frontend/frontend.h"

#include <string>
#include <string_view>
#include <vector>

namespace attnc {

struct LibrarySpec {
  std::string name; ///< the file's name without .json
  std::string_view text;
};

/// All specs, by name.
const std::vector<LibrarySpec> &library();

/// Their names, in this order.
std::vector<std::string> libraryNames();

/// The spec of this name, with or without ".json".
const LibrarySpec *findInLibrary(std::string_view name);

/// What `extends` may name in a text that comes from anywhere: a spec of the library.
SpecBases libraryBases();

/// The same for the file of a spec: also a .json file, by its path from that file's folder.
SpecBases fileBases();

} // namespace attnc

#endif
