// What a program keeps of its spec, for people and for tools.
#ifndef ATTNC_COMPILER_JIT_SPEC_TEXTS_H
#define ATTNC_COMPILER_JIT_SPEC_TEXTS_H

#include "compiler/driver/compile.h"

namespace attnc {

/// The names of these texts among a program's sources.
inline constexpr const char *specText = "spec.mlir";           ///< the spec as IR, with its places
inline constexpr const char *referenceText = "reference.json"; ///< its reference shape
inline constexpr const char *gradientsText = "gradients.json"; ///< the gradients it asks for
inline constexpr const char *explanationText = "explain.txt";  ///< what explain says of it
inline constexpr const char *explanationJson = "explain.json"; ///< the same as data

/// Adds the spec. It names no folder: equal specs give equal texts wherever they lie.
void addSpec(const Spec &spec, Program &program);

/// The extents of the dynamic dims in the spec's reference shape; none where it does not say all.
std::map<std::string, int64_t> referenceShape(const Spec &spec);

/// Adds what explain says of a compilation that has its records. Bytes and operations are those at
/// the spec's reference shape.
void addExplanation(const Spec &spec, driver::Compilation &compilation);

/// The spec that addSpec has added, as a program in the attn dialect. Nothing: there is none, or it
/// is damaged; `diagnostics` says why.
std::optional<Spec> readSpec(mlir::MLIRContext &context, const Program &program,
                             Diagnostics &diagnostics);

} // namespace attnc

#endif
