#pragma once

/// Binding: the caller's tensors and params are checked against a manifest before anything is
/// launched. All functions are pure and safe to call from several threads.

#include "attnc/result.h"
#include "runtime/program/manifest.h"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace attnc {

enum class DeviceKind { Cpu, Cuda };

struct Device {
  DeviceKind kind = DeviceKind::Cpu;
  int ordinal = 0;

  friend bool operator==(const Device &, const Device &) = default;
};

/// "cpu" or "cuda:0".
std::string toText(const Device &device);

/// A view of the caller's memory; owns nothing. `shape` and `strides` (in elements) have one entry
/// an axis; the element at indices x is at data + dot(x, strides) * dtypeSize(dtype) bytes.
struct TensorRef {
  void *data = nullptr;
  DType dtype = DType::F32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  Device device;

  /// A C-contiguous tensor.
  static TensorRef contiguous(void *data, DType dtype, std::vector<std::int64_t> shape,
                              Device device = {});
};

/// The strides of a C-contiguous tensor, in elements. The shape's product must fit in 64 bits.
std::vector<std::int64_t> contiguousStrides(const std::vector<std::int64_t> &shape);

struct BindRequest {
  std::map<std::string, TensorRef> inputs;
  std::map<std::string, TensorRef> outputs;
  std::map<std::string, Scalar> params;
  std::map<std::string, std::int64_t> extraSizes; ///< of dims that no input carries
  Device device;                                  ///< where the kernels will run
  /// Bytes that values between kernels may take; without it, what the manifest says.
  std::optional<std::int64_t> memoryBudget = {};
};

/// What a launch needs, all of it checked.
struct Binding {
  Scope scope;                                   ///< sizes, lets and params
  std::map<std::string, TensorRef> tensors;      ///< inputs and outputs
  std::optional<std::int64_t> memoryBudget = {}; ///< none: any number of bytes; see planWorkspace
};

/// The extents of all dims but those that depend on the GPU, and the lets, from the inputs' shapes
/// alone: enough to allocate outputs (shapeOf). Checks names, ranks and that every dim agrees; not
/// memory, params or `requires`. Where two tensors disagree, the error names both and where the
/// spec declares them.
Result<Scope> resolveSizes(const Manifest &manifest, const std::map<std::string, TensorRef> &inputs,
                           const std::map<std::string, std::int64_t> &extraSizes = {});

/// The extents that depend on the GPU, once it is known; kernels and intermediates see them.
/// Errors: as resolveSizes, of these dims.
Status addMachineSizes(const Manifest &manifest, Scope &scope, std::int64_t multiprocessors);

/// The shape of a declared tensor. Errors: more than 2^63 - 1 bytes.
Result<std::vector<std::int64_t>> shapeOf(const TensorDecl &tensor, const Scope &scope);

/// An intermediate that lies at `data`: C-contiguous, except that the extent of the last axis
/// counts as rounded up to a multiple of `decl.align` bytes, so that every row starts as aligned as
/// `data`. This is the layout that planWorkspace makes room for and that kernels are told. Errors:
/// as shapeOf, of the padded tensor.
Result<TensorRef> intermediateAt(void *data, const TensorDecl &decl, const Scope &scope);

/// Bytes that an intermediate, laid out so, takes: of its window, if it has one. Errors: those of
/// the window's expressions; more than 2^63 - 1.
Result<std::int64_t> intermediateBytes(const TensorDecl &decl, const TensorRef &tensor,
                                       const Scope &scope);

/// Whether the base of `tensor`, and the strides of all axes but the last with more than one
/// element, are multiples of `align` bytes (of an element, if that is more). An empty tensor's
/// always are. The error names the tensor, the axis and the remedy.
Status checkAlignment(const TensorDecl &decl, const TensorRef &tensor, std::int64_t align);

/// Whether every output has a place of its own for each element, and shares memory with no input
/// and no other output: kernels write outputs in any order while inputs are still read. `tensors`
/// are the inputs, then the outputs.
Status checkAliasing(const Manifest &manifest, std::span<const TensorRef> tensors);

/// The error for a tensor with elements and without an address.
Error nullData(const TensorDecl &decl);

/// Checks everything: names, dtypes, ranks, extents, strides, alignment, device, aliasing of
/// outputs, ranges of params, `requires`. Errors are InvalidArgument and name what does not fit.
/// Inputs may alias each other; an output may share memory with nothing.
Result<Binding> bind(const Manifest &manifest, const BindRequest &request);

} // namespace attnc
