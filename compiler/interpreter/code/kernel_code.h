// A kernel as a flat list of instructions.
#ifndef ATTNC_COMPILER_INTERPRETER_CODE_KERNEL_CODE_H
#define ATTNC_COMPILER_INTERPRETER_CODE_KERNEL_CODE_H

#include "compiler/interpreter/code/tile_layout.h"
#include <functional>
#include <string>

namespace attnc::interpreter {

class Machine;
struct Warp;

/// A scalar. Integers and booleans are in `i`, sign-extended; an address too.
union Word {
  int64_t i;
  double d;
  float f;
};

enum class Outcome {
  Done,
  Blocked, ///< nothing has changed but what the step itself remembers: it is tried again
  Fault,   ///< the machine knows why
};

/// What one op on tiles does for one warp.
using Step = std::function<Outcome(Machine &, Warp &)>;

struct Instruction {
  enum class Kind : uint8_t { Scalar, Jump, JumpUnless, Load, Peek, Store, Step, End };
  using Run = void (*)(const Instruction &, Word *words);

  Kind kind = Kind::End;
  bool visible = false;       ///< a step that others can see: the warp may be interrupted before it
  DType storage = DType::F32; ///< of a load or store
  Run run = nullptr;
  unsigned result = 0;
  /// Operands; of a load or store a pointer, an offset, a value; of a peek a tile, a row, a column.
  unsigned a = 0, b = 0, c = 0;
  unsigned d = 0, e = 0; ///< further operands
  unsigned target = 0;   ///< of a jump; the number of a step, or of a peek's layout
  int64_t predicate = 0; ///< of a comparison
  mlir::Operation *op = nullptr;
};

/// Registers for a tile.
struct PlaceType {
  enum Kind { Fragment, Rows, Columns, Operand } kind;
  unsigned rows, cols;
  DType dtype = DType::F32; ///< of an operand
};

/// A pipe of the kernel. The word of a pipe is its number.
struct PipeInfo {
  uint32_t offset, barriers, users, writers;
  bool copied; ///< by the writers
};

struct KernelCode {
  tile::KernelOp kernel;
  std::string text; ///< what the kernel was parsed from, or empty
  std::vector<Instruction> instructions;
  std::vector<Step> steps;
  std::vector<TileLayout> layouts; ///< of the tiles of peeks
  std::vector<Word> words;         ///< of a warp at the start: constants
  std::vector<PlaceType> places;
  std::vector<PipeInfo> pipes;
  unsigned arguments = 0;         ///< the words of the arguments are the first
  std::optional<unsigned> onlyIf; ///< the argument that points to an i32: of 0 nothing runs
  /// Words that the machine fills.
  unsigned block = 0, warp = 0, gridSize = 0, rank = 0, point = 0, thread = 0;
  bool perPoint = false;  ///< a kernel of single threads that have nothing in common
  bool perThread = false; ///< one of single threads that share arrays
  unsigned cells = 0;     ///< elements of these
  unsigned threads = 0, cluster = 1;
  uint32_t sharedBytes = 0;
  unsigned barriers = 0; ///< in shared memory

  /// The op as a person finds it: its line of `text`, its place in the spec.
  std::string describe(mlir::Operation *op) const;
};

/// Runs scalar instructions from `pc` on until one of another kind; returns its number. Jumps are
/// followed.
unsigned runScalars(const KernelCode &code, unsigned pc, Word *words);

/// The instruction of a scalar op (its operands and result unset), or nothing if there is none.
std::optional<Instruction> scalarInstruction(mlir::Operation *op);

} // namespace attnc::interpreter

#endif
