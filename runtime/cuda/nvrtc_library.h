#pragma once

/// NVRTC as a file: where it is, and which build.

#include <filesystem>
#include <string>
#include <vector>

namespace attnc {

/// What Nvrtc::open tries, in order: ATTNC_NVRTC and nothing else, if it is set; else the one that
/// the process has loaded already, those that are there in the loader's path, in the CUDA toolkit's
/// default places and in the Python wheel nvidia-cuda-nvrtc, and last two names for the loader
/// itself.
std::vector<std::filesystem::path> nvrtcCandidates();

/// Which build of a shared library a file is: the build id that its linker wrote (elf(5),
/// NT_GNU_BUILD_ID), else SHA-256 of all its bytes. The library is not loaded. Empty: the file
/// cannot be read.
std::string libraryIdentity(const std::filesystem::path &file);

} // namespace attnc
