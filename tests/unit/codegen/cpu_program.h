// Programs of nests as .mlir text, compiled for the CPU and run on tensors by name.
#ifndef ATTNC_TESTS_UNIT_CODEGEN_CPU_PROGRAM_H
#define ATTNC_TESTS_UNIT_CODEGEN_CPU_PROGRAM_H

#include "compiler/codegen/cpu/cpu_target.h"
#include "mlir/IR/MLIRContext.h"
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attnc::cpu {

/// A tensor in memory, poisoned where nothing was written: floats are NaN, integers 0xA5 bytes.
class HostTensor {
public:
  enum class Type { F16, BF16, F32, F64, I8, I32, I64, Bool };

  HostTensor() = default;
  /// `padding` elements lie between consecutive rows of every axis but the last.
  HostTensor(Type type, std::vector<int64_t> shape, int64_t padding = 0);

  using Indices = std::vector<int64_t>;
  double get(const Indices &indices) const;
  /// Rounds to the storage type.
  void set(const Indices &indices, double value);
  /// Calls `visit` with every index of the tensor.
  void forEach(const std::function<void(const Indices &)> &visit) const;
  /// Sets every element to `value(its indices)`.
  void fill(const std::function<double(const Indices &)> &value);
  /// Seeded values in [-1, 1).
  void randomise(unsigned seed);
  /// True if the elements between rows still hold the poison.
  bool paddingUntouched() const;

  Type type = Type::F32;
  std::vector<int64_t> shape, strides;
  std::vector<uint8_t> bytes;

private:
  int64_t offset(const Indices &indices) const;
};

/// Parses and compiles; a failure ends the test run with its message.
class CpuProgram {
public:
  explicit CpuProgram(const std::string &text, const ObjectOptions &options = {});
  ~CpuProgram();

  std::map<std::string, HostTensor> tensors; ///< inputs, outputs and intermediates, by name
  std::map<std::string, double> params;

  /// Runs all nests in order. Every dynamic size is taken from the tensors.
  void run();
  const std::string &llvmIr() const { return ir; }

  struct Parsed;

private:
  std::unique_ptr<Parsed> parsed;
  std::unique_ptr<CpuExecutable> executable;
  std::string ir;
};

/// The message with which compilation of `text` fails, or "" if it does not.
std::string compileError(const std::string &text);

} // namespace attnc::cpu

#endif
