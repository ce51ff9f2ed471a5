#pragma once

/// A compiled Program: the manifests of its entry points, the binary images of their kernels, and
/// the texts that they came from. One file, deterministic bytes: the same Program always gives the
/// same bytes. docs/program-files.md describes the format and what it promises.

#include "attnc/result.h"
#include "runtime/program/manifest.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

enum class ImageKind { Cubin = 0, Ptx = 1, Object = 2, Cuda = 3 };

/// What kernels are made of. Kernels name it; a cubin and a PTX may share a name, then the cubin is
/// used where it fits the GPU and the PTX elsewhere. An Object is a native relocatable object for
/// the CPU. Cuda is a source that waits: who needs its kernels compiles it.
struct Image {
  ImageKind kind = ImageKind::Cubin;
  std::string name;
  std::string bytes;
};

/// A text kept for people: the IR, the generated CUDA C++, what explain says.
struct Source {
  std::string name;
  std::string text;
};

/// A further entry point, such as "backward": a program of its own that shares the images.
struct Entry {
  std::string name;
  Manifest manifest;
};

struct Program {
  Manifest manifest; ///< of the entry point "forward"
  std::vector<Image> images;
  std::vector<Source> sources;
  std::vector<Entry> entries = {}; ///< those beside "forward", by unique names
  std::string build = {};          ///< the build of attnc that made it; for people
  /// What Objects need: an architecture, then features of the processor; empty without Objects.
  std::string processor = {};

  const Image *findImage(std::string_view name, ImageKind kind) const;
  const Source *findSource(std::string_view name) const;
};

/// The Program as bytes. Errors: a manifest that checkManifest refuses, a kernel without an image,
/// an entry point named twice.
Result<std::string> serializeProgram(const Program &program);

/// Reads bytes of serializeProgram. Any bytes are safe to pass: what is foreign, truncated or
/// damaged is an error, and so is what a newer attnc has written that this one must know and does
/// not. The checksum (CRC-32C) detects damage; it does not authenticate the author.
Result<Program> deserializeProgram(std::string_view bytes);

/// Whether a file begins as programs do.
bool isProgram(std::string_view bytes);

/// Writes beside `path` and renames, so that a reader never sees half a file.
Status saveProgram(const Program &program, const std::filesystem::path &path);
Result<Program> loadProgram(const std::filesystem::path &path);

} // namespace attnc
