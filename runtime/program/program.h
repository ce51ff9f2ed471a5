#pragma once

/// A compiled Program: the manifest, the binary images of its kernels, and the sources that they
/// came from. One file, deterministic bytes: the same Program always gives the same bytes.

#include "attnc/result.h"
#include "runtime/program/manifest.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

enum class ImageKind { Cubin = 0, Ptx = 1, Object = 2 };

/// A binary image. Kernels name it; a cubin and a PTX may share a name, then the cubin is used
/// where it fits the GPU and the PTX elsewhere. An Object is a native relocatable object for the
/// CPU.
struct Image {
  ImageKind kind = ImageKind::Cubin;
  std::string name;
  std::string bytes;
};

/// A text kept for people: the spec, the IR, the generated CUDA C++.
struct Source {
  std::string name;
  std::string text;
};

struct Program {
  Manifest manifest;
  std::vector<Image> images;
  std::vector<Source> sources;

  const Image *findImage(std::string_view name, ImageKind kind) const;
};

/// The Program as bytes. Errors: a manifest that checkManifest refuses, a kernel without an image.
Result<std::string> serializeProgram(const Program &program);

/// Reads bytes of serializeProgram. Any bytes are safe to pass: what is foreign, truncated or
/// damaged is an error. The checksum (CRC-32C) detects damage; it does not authenticate the author.
Result<Program> deserializeProgram(std::string_view bytes);

/// Writes beside `path` and renames, so that a reader never sees half a file.
Status saveProgram(const Program &program, const std::filesystem::path &path);
Result<Program> loadProgram(const std::filesystem::path &path);

} // namespace attnc
