// A spec taken through the target-independent passes, for tests.
#ifndef ATTNC_TESTS_UNIT_TRANSFORMS_FUSED_PROGRAM_H
#define ATTNC_TESTS_UNIT_TRANSFORMS_FUSED_PROGRAM_H

#include "compiler/frontend/frontend.h"
#include "dialects/Red/Red.h"
#include "mlir/IR/BuiltinOps.h"

namespace attnc {

/// Parses a spec and runs the target-independent passes on it.
class FusedProgram {
public:
  /// `body` and `outputs` are JSON texts; inputs are q, k, v as in attention, a param `w`, and
  /// vectors over i and j.
  FusedProgram(const std::string &body, const std::string &outputs);
  /// Any spec.
  explicit FusedProgram(const std::string &spec);

  /// Replaces the fused program by one whose streams are in parts, of `granule` times some
  /// elements. Once more, and each part is in parts, and so are the merges. With `scatter` the
  /// parts are subsets of the stream that this number draws.
  void splitStreams(int64_t parts, int64_t granule, int64_t scatter = 0);

  /// The extents of the spec's reference shape.
  std::map<std::string, int64_t> referenceShape() const;

  attn::ProgramOp original() { return programIn(*spec->module); }
  attn::ProgramOp fused() { return programIn(*module); }
  std::vector<red::NestOp> nests();

private:
  static attn::ProgramOp programIn(mlir::ModuleOp module) {
    return *module.getOps<attn::ProgramOp>().begin();
  }
  void parse(const std::string &text);

  mlir::MLIRContext context;
  std::optional<Spec> spec;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace attnc

#endif
