// A map's region as a list of instructions that work on chunks of elements at a time.
#ifndef ATTNC_COMPILER_EVALUATOR_FLOAT64_SCALAR_PROGRAM_H
#define ATTNC_COMPILER_EVALUATOR_FLOAT64_SCALAR_PROGRAM_H

#include "compiler/evaluator/float64/reduced_dims.h"
#include "compiler/evaluator/tensor.h"
#include "compiler/evaluator/tolerance/error_rules.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attnc::evaluator {

/// Elements in a chunk: registers stay in the L1 and L2 caches.
inline constexpr int64_t kChunk = 512;

/// One value for each element of a chunk. Booleans are 0 or 1 in `integer`.
struct Register {
  std::vector<double> value = std::vector<double>(kChunk);
  std::vector<int64_t> integer = std::vector<int64_t>(kChunk);
  std::vector<double> error = std::vector<double>(kChunk);

  Real real(int64_t i) const { return {value[i], error[i]}; }
  Whole whole(int64_t i) const { return {integer[i], error[i]}; }
  void set(int64_t i, Real x) {
    value[i] = x.value;
    error[i] = x.error;
  }
  void set(int64_t i, Whole x) {
    integer[i] = x.value;
    error[i] = x.error;
  }
};

struct Instruction {
  /// Computes `count` elements: registers are `registers[operands[k]]` and `registers[result]`.
  using Run = void (*)(const Instruction &, std::vector<Register> &registers, int64_t count);
  Run run = nullptr; // null: a load of `leaf`
  unsigned leaf = 0;
  unsigned operands[5] = {};
  unsigned result = 0;
  double unit = kUnitF32; // unit roundoff of the op's type
  double real = 0;        // a constant
  int64_t integer = 0;    // a constant, or a comparison's predicate
};

/// Where the arrays that a map reads come from.
class ArraySource {
public:
  /// The evaluated array of `value`.
  virtual const Tensor &tensor(mlir::Value value) const = 0;
  /// The map that computes `value` if it is to be expanded in place, or null.
  virtual attn::MapOp expanded(mlir::Value value) const = 0;
  /// The dims that have been reduced on the way to the array of `value`.
  virtual const DimSet &reducedBefore(mlir::Value value) const = 0;
  /// Where it is in doubt which element of `of` the array `extremum` is: booleans. Null if it is
  /// not the maximum or minimum of that array.
  virtual const Tensor *contestOf(mlir::Value extremum, mlir::Value of) const = 0;

protected:
  ~ArraySource() = default;
};

/// An expression over arrays, evaluated element by element over the union of their dims.
class ScalarProgram {
public:
  /// The program of `scalar`, a value in the region of `map`. Fails on an op without a rule.
  static llvm::Expected<ScalarProgram> compile(attn::MapOp map, mlir::Value scalar,
                                               const ArraySource &arrays);

  /// The program of one op applied to arrays (at most 3), `rule` being its instruction.
  static ScalarProgram apply(Instruction rule, llvm::ArrayRef<Tensor> arrays);

  /// The program of x * y, gross magnitudes included.
  static ScalarProgram product(const Tensor &x, const Tensor &y, double unit);

  /// The program that only reads `array`.
  static ScalarProgram identity(const Tensor &array);

  /// The union of the dims of the arrays that it reads.
  llvm::SmallVector<mlir::StringAttr> dims() const;
  ElementKind kind() const { return resultKind; }

  /// From here on every instruction rounds its result to the type of its op.
  void emulate() { emulated = true; }

  /// Fixes the dims that are walked, row-major; all dims() must be among them.
  void walk(llvm::ArrayRef<mlir::StringAttr> dims, llvm::ArrayRef<int64_t> shape);

  std::vector<Register> makeRegisters() const { return std::vector<Register>(registerCount); }

  /// Computes the elements [start, start + count) of the walk, count <= kChunk. The result lies in
  /// the returned register.
  const Register &run(std::vector<Register> &registers, int64_t start, int64_t count) const;

  /// True if some gross magnitudes of the elements exceed their own.
  bool hasGross() const { return grossRegister.has_value(); }
  /// After a run, the register of the gross magnitudes (its errors mean nothing); null without.
  const Register *gross(const std::vector<Register> &registers) const {
    return grossRegister ? &registers[*grossRegister] : nullptr;
  }

private:
  friend class ScalarCompiler;
  void load(const Instruction &instruction, Register &into, int64_t start, int64_t count) const;

  std::vector<Tensor> leaves;
  std::vector<Extents> leafStrides;
  std::vector<Instruction> instructions;
  Extents walkShape;
  unsigned registerCount = 0;
  unsigned resultRegister = 0;
  std::optional<unsigned> grossRegister;
  ElementKind resultKind = ElementKind::Real;
  bool emulated = false;
};

/// The instruction of a scalar op (operands and result unset): its rule of value and error. Fails
/// on an op that has none.
llvm::Expected<Instruction> scalarRule(mlir::Operation &op);

/// The rule of a comparison of an element with the extremum of its own array; its third operand
/// says where that is contested. Otherwise one element is the extremum, whatever is rounded.
Instruction ownExtremumRule(mlir::arith::CmpFPredicate predicate);

/// Rules for ScalarProgram::apply: exp(x - y) and x - y with attn.sub's rule, x * y, x / y and 1 /
/// x. Where `emulated`, the difference in the exponent is rounded, too.
Instruction exponentOfDifferenceRule(double unit, bool emulated);
Instruction differenceRule(double unit);
Instruction productRule(double unit);
Instruction quotientRule(double unit);
Instruction reciprocalRule(double unit);

/// |x|, x + y, x * y, x / |y| of gross magnitudes; errors are not computed.
Instruction magnitudeRule();
Instruction grossSumRule();
Instruction grossProductRule();
Instruction grossQuotientRule();

/// "file:line:column: " if `loc` has a place in the spec, else "".
std::string placePrefix(mlir::Location loc);

/// The error with the place of `op` before it, once.
llvm::Error locatedAt(mlir::Operation &op, llvm::Error error);

} // namespace attnc::evaluator

#endif
