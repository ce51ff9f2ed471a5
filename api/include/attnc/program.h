#pragma once

/// Specs become programs: compiled, saved, read back, and asked what is in them.

#include "attnc/arguments.h"
#include "attnc/options.h"
#include "attnc/spec.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnc {

class Loaded;

/// Launches go to the GPU of the calling thread's context, or to GPU 0 if it has none.
inline constexpr std::int32_t currentDevice = ATTNC_CURRENT_DEVICE;

struct TensorInfo {
  std::string name;
  DType dtype;
  std::vector<std::string> dims;
  std::int64_t
      align; ///< bytes to which the address and, but for the last axis, strides are aligned
};

struct DimInfo {
  std::string name;
  std::optional<std::int64_t> extent; ///< in elements; none if known only when tensors are bound
};

struct ParamInfo {
  std::string name;
  DType dtype; ///< F32, F64, I32 or I64
  bool hasDefault;
};

/// attnc_c.h says when a number is not known, which is -1.
struct KernelInfo {
  std::string name;
  std::string form;     ///< "warpgroups", "portable", "rows", "generic", "cpu"; empty for copies
  std::string schedule; ///< as printed in the IR; empty for the target cpu
  std::string notes;    ///< numbered remarks of ptxas, one a line
  std::int32_t threads; ///< of a block
  std::int32_t sharedBytes;
  std::int32_t registers; ///< of a thread, as the next three
  std::int32_t spillStoreBytes;
  std::int32_t spillLoadBytes;
  std::int32_t stackBytes;
  std::int32_t staticSharedBytes;
};

/// Where a program came from.
enum class Origin {
  Compiler = ATTNC_FROM_COMPILER, ///< though kernels may have come from the cache on disk
  Disk = ATTNC_FROM_DISK,         ///< the cache on disk had it
  File = ATTNC_FROM_FILE,         ///< Program::fromFile or fromBytes
  Remote = ATTNC_FROM_REMOTE      ///< the remote cache had it, or a service has compiled it
};

struct Timings {
  double total; ///< seconds, from the text of the spec to machine code, or to read it
  double nvrtc; ///< of that, in NVRTC
  Origin origin;
  std::int32_t kernelsCompiled; ///< by NVRTC, so far
  std::int32_t kernelsCached;   ///< that the cache on disk had, so far
};

/// Texts of a program; those marked * exist only with Options::keepTexts.
enum class Text {
  Attn = ATTNC_TEXT_ATTN,         ///< * the spec as IR
  Red = ATTNC_TEXT_RED,           ///< * the fused nests with their schedules
  Tile = ATTNC_TEXT_TILE,         ///< * the scheduled kernels; GPU targets only
  Llvm = ATTNC_TEXT_LLVM,         ///< * target cpu only
  Manifest = ATTNC_TEXT_MANIFEST, ///< JSON: inputs, outputs, sizes, kernels and their launches
  Warnings = ATTNC_TEXT_WARNINGS, ///< of the frontend; often empty
  Cuda = ATTNC_TEXT_CUDA,         ///< * of one kernel, as the next two: CUDA C++
  Ptx = ATTNC_TEXT_PTX,           ///< this and the next without keepTexts only of what is compiled
  Cubin = ATTNC_TEXT_CUBIN        ///<   at once; bytes of an ELF file, not a text
};

/// A compiled spec, in host memory. Copies share one program, which does not change; threads may
/// use it at the same time. One that was moved from may only be assigned or destroyed.
class Program {
public:
  /// Reads a program file (docs/program-files.md). Any bytes are safe to pass. Errors: Environment
  /// if it cannot be read; InvalidArgument for what is foreign, damaged, written for what this
  /// attnc does not know, or for another processor (target cpu).
  static Result<Program> fromFile(const std::string &path) {
    return made([&](attnc_program **program) { return attnc_program_load(path.c_str(), program); });
  }
  /// The same from `length` bytes in memory, which are copied.
  static Result<Program> fromBytes(const void *bytes, std::size_t length) {
    return made(
        [&](attnc_program **program) { return attnc_program_load_bytes(bytes, length, program); });
  }
  /// Writes the program, warmed up, to a file that fromFile, `attnc run` and Python read, also
  /// where there is no NVRTC. Errors: those of warmUp; Environment if the file cannot be written.
  Status save(const std::string &path) const {
    return detail::toStatus(attnc_program_save(handle.get(), path.c_str()));
  }

  /// Compiles now the variants that would be compiled on first use: after it no bind waits for the
  /// compiler. Errors: those of compiling.
  Status warmUp() const { return detail::toStatus(attnc_program_warm_up(handle.get())); }

  /// Loads the kernels in the primary context of a GPU, which is that of PyTorch and of the CUDA
  /// runtime; `device` is its number and not looked at for the target cpu. Errors: Environment if
  /// there is no driver or no such GPU, or if it cannot run the program.
  Result<Loaded> loadOn(std::int32_t device = currentDevice) const;

  /// These live as long as the program or a copy of it.
  std::string_view name() const { return attnc_program_name(handle.get()); }
  std::string_view target() const { return attnc_program_target(handle.get()); }
  /// A text, or none. `kernel` is looked at only for texts of one kernel.
  std::optional<std::string_view> text(Text which, std::size_t kernel = 0) const {
    std::size_t length = 0;
    const char *text =
        attnc_program_text(handle.get(), static_cast<std::int32_t>(which), kernel, &length);
    return text ? std::optional<std::string_view>({text, length}) : std::nullopt;
  }

  /// In the order of the spec; a tensor's number counts through inputs, then outputs.
  std::vector<TensorInfo> inputs() const { return tensors(false); }
  std::vector<TensorInfo> outputs() const { return tensors(true); }
  /// Those that tensors have, that are static or that the caller chooses.
  std::vector<DimInfo> dims() const {
    std::vector<DimInfo> list;
    for (std::size_t i = 0; i < attnc_program_dim_count(handle.get()); ++i) {
      auto dim = info<attnc_dim_info>(attnc_program_dim, i);
      list.push_back({dim.name, dim.extent < 0 ? std::nullopt : std::optional(dim.extent)});
    }
    return list;
  }
  std::vector<ParamInfo> params() const {
    std::vector<ParamInfo> list;
    for (std::size_t i = 0; i < attnc_program_param_count(handle.get()); ++i) {
      auto param = info<attnc_param_info>(attnc_program_param, i);
      list.push_back({param.name, static_cast<DType>(param.dtype), param.has_default != 0});
    }
    return list;
  }
  std::vector<KernelInfo> kernels() const {
    std::vector<KernelInfo> list;
    for (std::size_t i = 0; i < attnc_program_kernel_count(handle.get()); ++i) {
      auto kernel = info<attnc_kernel_info>(attnc_program_kernel, i);
      list.push_back({kernel.name, kernel.form, kernel.schedule, kernel.notes, kernel.threads,
                      kernel.shared_bytes, kernel.registers, kernel.spill_store_bytes,
                      kernel.spill_load_bytes, kernel.stack_bytes, kernel.static_shared_bytes});
    }
    return list;
  }
  Timings timings() const {
    auto timings = detail::sized<attnc_timings>();
    detail::expect(attnc_program_timings(handle.get(), &timings));
    return {timings.total, timings.nvrtc, static_cast<Origin>(timings.origin),
            timings.kernels_compiled, timings.kernels_cached};
  }

  /// The shape of a tensor from those of the inputs among `arguments`, whose data, types and
  /// strides are not looked at: what to allocate for an output. Errors: InvalidArgument for shapes
  /// that do not fit, a dim that no input carries, a name that is no tensor's.
  Result<std::vector<std::int64_t>> shapeOf(std::string_view tensor,
                                            const Arguments &arguments) const {
    for (std::size_t i = 0; i < attnc_program_tensor_count(handle.get()); ++i) {
      auto found = info<attnc_tensor_info>(attnc_program_tensor, i);
      if (found.name != tensor)
        continue;
      std::vector<std::int64_t> shape(found.rank);
      detail::CArguments c(arguments);
      Status status = detail::toStatus(attnc_program_shape(handle.get(), c.get(), i, shape.data()));
      if (!status)
        return status.error();
      return shape;
    }
    return invalidArgument("there is no tensor " + std::string(tensor));
  }

  /// "forward", which is what the program itself takes and gives; with `grad` in the spec also
  /// "backward".
  std::vector<std::string> entryNames() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < attnc_program_entry_count(handle.get()); ++i)
      names.emplace_back(attnc_program_entry_name(handle.get(), i));
    return names;
  }
  /// An entry point as a program of its own, which shares the machine code, and what is compiled on
  /// first use, with this one and needs it no longer. "backward" takes those inputs of the spec
  /// that it needs, the outputs `saved_*` of "forward", and `grad_o`, the gradient of each output
  /// `o`; it gives `grad_q` for each input or param `q` that the spec asks for. "forward" gives
  /// this program. Errors: InvalidArgument for a name that there is no entry point of.
  Result<Program> entry(const std::string &name) const {
    return made([&](attnc_program **program) {
      return attnc_program_entry(handle.get(), name.c_str(), program);
    });
  }

  /// For calls of attnc_c.h; owned by this program.
  const attnc_program *c() const { return handle.get(); }

  /// A program from a call of attnc_c.h that makes one: made([&](attnc_program **out) {...}).
  template <typename Call> static Result<Program> made(Call &&call) {
    attnc_program *program = nullptr;
    if (Status status = detail::toStatus(call(&program)); !status)
      return status.error();
    return Program(detail::own(program));
  }

private:
  explicit Program(std::shared_ptr<attnc_program> handle) : handle(std::move(handle)) {}

  /// An entry of one of the program's lists.
  template <typename Info, typename Get> Info info(Get get, std::size_t index) const {
    auto entry = detail::sized<Info>();
    detail::expect(get(handle.get(), index, &entry));
    return entry;
  }
  std::vector<TensorInfo> tensors(bool outputs) const {
    std::vector<TensorInfo> list;
    for (std::size_t i = 0; i < attnc_program_tensor_count(handle.get()); ++i) {
      auto tensor = info<attnc_tensor_info>(attnc_program_tensor, i);
      if ((tensor.is_output != 0) == outputs)
        list.push_back({tensor.name,
                        static_cast<DType>(tensor.dtype),
                        {tensor.dims, tensor.dims + tensor.rank},
                        tensor.align});
    }
    return list;
  }

  std::shared_ptr<attnc_program> handle;
};

/// Compiles a spec, on the calling thread. A GPU target needs NVRTC, not a GPU. Several threads may
/// compile at the same time. Errors: Spec; InvalidArgument for an unknown target, option or
/// schedule key, and for what the target cannot do; Environment without NVRTC, or for a file that
/// cannot be read.
inline Result<Program> compile(const Spec &spec, const Options &options) {
  detail::COptions c(options);
  return Program::made([&](attnc_program **program) {
    return spec.isFile() ? attnc_compile_file(spec.name().c_str(), c.get(), program)
                         : attnc_compile_text(spec.name().c_str(), spec.text().data(),
                                              spec.text().size(), c.get(), program);
  });
}

} // namespace attnc
