#pragma once

/// The manifest of a Program: what it takes and gives, which sizes it has, which kernels it
/// launches with what arguments. Written as JSON (`"attnc_manifest": [2, 0]`), read back strictly:
/// an unknown key, a missing key or a name that is not declared is an error that names the place.
/// Which manifests of other versions are read is promised in docs/program-files.md.

#include "attnc/result.h"
#include "runtime/program/dtype.h"
#include "runtime/program/expr.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnc {

/// The format that is written and read. A newer minor may have keys that a reader passes over; what
/// may not be passed over is named in the manifest's "needs" (needsOf).
inline constexpr int manifestMajor = 2, manifestMinor = 3;

/// The most passes of a loop: each is a launch or more.
inline constexpr std::int64_t maxLoopPasses = 1 << 16;

/// The largest extent of a dim, checked when shapes are bound: kernels count tiles in 32 bits.
inline constexpr std::int64_t maxExtent = std::int64_t(1) << 30;

/// A named dim. Without `extent` it is dynamic: an input that carries it, or the caller, says it.
struct DimDecl {
  std::string name;
  /// Over other sizes; a constant for a static dim. Of a dim that no input and no output has also
  /// over the multiprocessors: such an extent is known where there is a GPU (addMachineSizes), and
  /// nothing that is checked before may use it.
  std::optional<Expr> extent;
  std::int64_t min = 1; ///< the smallest extent that the kernels accept: 0 or 1
};

/// What of an intermediate lies in memory at a time: with the indices of the first `axes` axes as
/// one number, the last fastest, `count` of these. Kernels reach it through tensor maps alone,
/// where the last of these axes has `count` indices, and those before it have one. JSON:
/// `"window": {"axes": 2, "count": EXPR}`.
struct WindowDecl {
  int axes = 1;
  Expr count;
};

/// A tensor in elements of `dtype`; its shape is that of its dims, in order.
struct TensorDecl {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::string> dims;
  /// Bytes to which the base pointer, and the stride of every axis but the last with more than one
  /// element, must be aligned; 0 for the size of an element. A power of two. An intermediate is
  /// laid out so (intermediateAt in bind.h): what its rows lack to a multiple of `align` follows
  /// them, unused.
  std::int64_t align = 0;
  /// Where the spec declares or computes it, "name:line:column" with the spec's own name, so that
  /// a program does not depend on where its spec lay; or empty.
  std::string place = {};
  std::string reason = {}; ///< of an intermediate: why it is stored between kernels; or empty
  std::optional<WindowDecl> window = {}; ///< of an intermediate: it is never there as a whole
};

/// A number known once sizes are: `g = size(h) // size(hk)`. Sees sizes and earlier lets.
struct LetDecl {
  std::string name;
  Expr expr;
};

struct Limit {
  double value = 0;
  bool open = false; ///< the value itself is outside
};

/// A scalar that the caller may pass; `fallback` (JSON: "default") sees sizes, lets, earlier
/// params.
struct ParamDecl {
  std::string name;
  DType dtype = DType::F32; ///< f32, f64, i32 or i64
  std::optional<Expr> fallback;
  std::optional<Limit> min;
  std::optional<Limit> max;
  std::string place = {}; ///< as TensorDecl::place
};

/// A fact about sizes, lets and params without which the kernels are wrong; `text` is the spec's.
struct RequireDecl {
  Expr expr;
  std::string text;
  std::string place = {}; ///< as TensorDecl::place; empty for what a schedule needs
};

/// What ptxas says about a kernel; stack, spills and shared memory in bytes.
struct KernelResources {
  int registers = 0;
  int spillStores = 0;
  int spillLoads = 0;
  int stackBytes = 0;
  int staticSharedBytes = 0;

  friend bool operator==(const KernelResources &, const KernelResources &) = default;
};

struct KernelDecl {
  std::string name;   ///< by which launches refer to it
  std::string image;  ///< name of the Program's image (or images: cubin and PTX) that holds it
  std::string symbol; ///< entry point in the image
  int threads = 1;    ///< in a block
  Expr sharedBytes;   ///< dynamic shared memory of a block
  std::optional<KernelResources> resources;
  /// Blocks, consecutive in x, that run together and reach each other's shared memory: 1 to 16;
  /// above 8 not every GPU that has clusters can. The grid's x is a multiple of it.
  int cluster = 1;
  /// The kernel waits itself for the launch before it in the stream (PTX griddepcontrol.wait), so
  /// its blocks may start while that one runs. Whoever launches may ignore it.
  bool startsEarly = false;
  /// What the compiler reports of it, for people; empty where there is nothing to say.
  std::string form = {};     ///< "warpgroups", "portable", "generic", "cpu"
  std::string schedule = {}; ///< as printed in the IR
  std::string notes = {};    ///< numbered remarks of ptxas, one a line
};

enum class ArgKind { Pointer, Stride, Size, Param, Expr, TensorMap, Counter };

/// One argument of a kernel. Pointer: base address of tensor `name`, or the address `offset`
/// elements behind it, inside the tensor (JSON: `{"ptr": "t", "offset": EXPR}`). Stride: of its
/// axis `axis`, in elements, i64. Size: extent of dim `name`, i64. Param: param `name`, in the
/// param's own dtype. Expr: `expr`, converted to `type` (i32, i64 or f32; an integer that does not
/// fit is an error). TensorMap: a CUtensorMap (128 bytes by value) of tensor `name`, from which the
/// kernel copies boxes of `box` elements, innermost axis first, laid out in shared memory with
/// `swizzle`; see tensor_map.h. JSON: `{"tensor_map": "k", "box": [64, 80, 1, 1], "swizzle": 128}`,
/// where 128 may be left out. Counter: address of an i32 that is 0 when the kernel starts, that it
/// leaves at 0, and that no other launch uses meanwhile. JSON: `{"counter": true}`.
struct ArgDecl {
  ArgKind kind = ArgKind::Pointer;
  std::string name;
  int axis = 0;
  Expr expr;
  DType type = DType::I64;
  std::vector<std::int64_t> box = {};
  int swizzle = 128; ///< bytes; 0 for none
  std::optional<Expr> offset = {};

  static ArgDecl pointer(std::string tensor);
  static ArgDecl stride(std::string tensor, int axis);
  static ArgDecl size(std::string dim);
  static ArgDecl param(std::string name);
  static ArgDecl value(Expr expr, DType type);
  static ArgDecl tensorMap(std::string tensor, std::vector<std::int64_t> box, int swizzle = 128);
  static ArgDecl counter();
};

struct LaunchDecl {
  std::string kernel;
  std::array<Expr, 3> grid = {Expr::constant(1), Expr::constant(1), Expr::constant(1)};
  std::vector<ArgDecl> args;
  /// An input or intermediate, i32 and of one element: the launch does nothing where it is 0. On
  /// the target cpu whoever launches reads it before; a GPU's host cannot without waiting, so there
  /// it is among the launch's pointers and the kernel returns at once. Empty: always.
  std::string guard = {};
  /// The kernel reads nothing that the launch before it stores, and ends no earlier; it may start
  /// as soon as that one says so (PTX griddepcontrol.launch_dependents). Whoever launches may
  /// ignore it. Not where the launch before it is left out.
  bool beside = false;
};

/// Launches that are repeated: `launches` of a variant from number `first` on, in order, `count`
/// times. In their expressions `index` is a let: 0, 1, ..., count - 1. `count` is at most
/// maxLoopPasses. Loops do not nest.
struct LoopDecl {
  std::string index;
  Expr count;
  std::size_t first = 0;
  std::size_t launches = 1;
};

/// Kernels launched in order where `when` holds (always, if absent) and tensors are `aligned`. The
/// first variant that fits runs.
struct VariantDecl {
  std::optional<Expr> when;
  std::vector<LaunchDecl> launches;
  /// As TensorDecl::align, of this variant alone: bytes by tensor, a power of two up to 256 (to
  /// which the workspace is aligned). JSON: `"aligned": {"k": 16}`. What the compiler writes for a
  /// GPU has, after a variant with `aligned`, one for all other tensors: it launches `align_k` to
  /// copy k to an intermediate `k_aligned`, the same kernels on the intermediates, and `unalign_o`
  /// to copy `o_aligned` to o.
  std::map<std::string, std::int64_t> aligned = {};
  /// In the order of `launches`. JSON: in the list of launches,
  /// `{"loop": {"index": "p", "count": EXPR}, "launches": [...]}`.
  std::vector<LoopDecl> loops = {};

  /// The loop around launch number `launch`, or null.
  const LoopDecl *loopAround(std::size_t launch) const;
};

struct Manifest {
  std::string name;
  std::string target; ///< "sm_90a", "sm_80", ..., "cpu"
  std::vector<DimDecl> dims;
  std::vector<TensorDecl> inputs;
  std::vector<TensorDecl> outputs;
  std::vector<TensorDecl> intermediates; ///< in the workspace: contiguous, rows padded to `align`
  std::vector<LetDecl> lets;
  std::vector<ParamDecl> params;
  std::vector<RequireDecl> requires_;
  std::vector<KernelDecl> kernels;
  std::vector<VariantDecl> variants;
  /// Bytes that intermediates may take, unless whoever binds says another number; none: any.
  std::optional<std::int64_t> memoryBudget = {};

  const DimDecl *findDim(std::string_view dim) const;
  /// True if the extent of the dim depends on the GPU.
  static bool isOfMachine(const DimDecl &dim);
  const TensorDecl *findTensor(std::string_view tensor) const; ///< of all three groups
  const ParamDecl *findParam(std::string_view param) const;
  const KernelDecl *findKernel(std::string_view kernel) const;
};

/// Whether names are unique, whatever refers to a name finds it, and numbers are in range.
Status checkManifest(const Manifest &manifest);

/// What a reader must know to run the manifest, of "loops", "offsets", "guards" and "windows":
/// JSON's "needs".
std::vector<std::string> needsOf(const Manifest &manifest);

/// Reads and checks a manifest. Any text is safe to pass. Errors (InvalidArgument) also: another
/// major version, a need that this reader does not know; the remedy says what to upgrade.
Result<Manifest> parseManifest(std::string_view text);

/// The manifest as JSON text; the same bytes for the same manifest.
std::string printManifest(const Manifest &manifest);

} // namespace attnc
