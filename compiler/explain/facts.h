// What there is to say of a compilation, gathered once: the text, the JSON and the page print this.
#ifndef ATTNC_COMPILER_EXPLAIN_FACTS_H
#define ATTNC_COMPILER_EXPLAIN_FACTS_H

#include "compiler/driver/compile.h"
#include "runtime/program/byte_count.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attnc {

/// A tensor in memory.
struct TensorFacts {
  const TensorDecl *tensor;
  std::string type;             ///< "bf16[b, h, j, d]"
  std::optional<int64_t> bytes; ///< nothing where an extent is not known
  bool intermediate = false;    ///< lies in the workspace, between kernels
  bool kept = false;            ///< lies in the shared memory of the blocks of a chain
};

/// Operations and bytes of a kernel at the extents; nothing where one of them is not known.
struct WorkFacts {
  std::string formula; ///< of the products: "2·b·h·i·j·d + 2·b·h·i·j·e"; empty if there are none
  std::optional<double> products, special, other; ///< without what the mask leaves out
  std::optional<double> visited;                  ///< as of driver::NestWork
  std::optional<int64_t> read, written;           ///< each tensor once

  std::optional<double> flops() const;        ///< products, special and other
  std::optional<double> flopsPerByte() const; ///< nothing where no byte moves
};

/// A label and what is said under it, line by line.
struct Fact {
  const char *label;
  std::vector<std::string> lines;
};

struct KernelFacts {
  const driver::NestReport *nest = nullptr;
  std::string walk; ///< how the nest goes through its dims, as a sentence
  /// Tensors that it reads: those that pass by tile by tile, and those read once for each tile of
  /// rows (or at every element, where there is no stream).
  std::vector<TensorFacts> streamed, resident;
  std::vector<TensorFacts> stores;
  WorkFacts work;
  std::vector<Fact> facts; ///< in words, in the order in which they are said
};

/// A value of the forward program that the backward one computes again.
struct RecomputedFacts {
  TensorFacts value; ///< as if it were stored, once
  unsigned count = 1;
  std::vector<std::string> kernels;
};

/// Everything but the spec's text; refers to the Compilation, which has to outlive it.
struct Explanation {
  const driver::Compilation *compilation = nullptr;
  std::string doc;
  std::string shape; ///< "b=2, h=3"; empty if the extents are not known
  std::vector<KernelFacts> kernels;
  WorkFacts total;     ///< of all kernels; without formula and visited part
  std::string summary; ///< how many kernels there are
  /// The rules by which the nests were derived: name and algebra, each once.
  std::vector<std::pair<std::string, std::string>> rules;
  std::vector<TensorFacts> materialised;    ///< what goes from kernel to kernel
  std::optional<int64_t> materialisedBytes; ///< of these together
  std::string budgetText; ///< what the memory budget says to that, as a sentence; empty without one
  /// The stand-ins of tensors that are not aligned, in the order of Compilation::copies.
  std::vector<TensorFacts> copies;
  std::string copiesText; ///< who copies them, as a sentence; empty if there are none
  /// With gradients: what the forward program stores for the backward one, what this computes
  /// again, and this.
  std::vector<TensorFacts> saved;
  std::vector<RecomputedFacts> recomputed;
  std::shared_ptr<const Explanation> backward;
};

/// Gathers the facts. Bytes and operations are for `extents` of the dynamic dims; empty if they are
/// not known.
Explanation explain(const driver::Compilation &compilation, const std::string &doc,
                    const std::map<std::string, int64_t> &extents);

/// "b=2, h=3, i=129"
std::string shapeText(const std::map<std::string, int64_t> &extents);
/// "1.2 M", "15.4 k"
std::string countText(double count);
/// "p_max: f32[b, h, i]"
std::string declarationText(const TensorFacts &facts);
/// "f32[b, h, i], 1.8 KiB at b=2, h=3, i=77"
std::string sizeText(const TensorFacts &facts, const std::string &shape);
/// "o reads it at subscripts of its own, a.json:10:14; computed at a.json:9:5"
std::string whyText(const TensorFacts &facts);

} // namespace attnc

#endif
