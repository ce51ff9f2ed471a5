#pragma once

/// Programs run: loaded on a device, bound to tensors, launched on a stream.

#include "attnc/program.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace attnc {

/// Where the scratch memory of launches comes from. Both functions are called on the launching
/// thread, in the course of the launch, and must not throw.
struct Allocator {
  /// Device memory (host memory for the target cpu) of `bytes` bytes, aligned to 256, that what is
  /// launched on `stream` from now on may use; null if there is none.
  std::function<void *(std::size_t bytes, void *stream)> allocate;
  /// Takes it back right after the launch. The work may still run then: the memory is free for what
  /// comes later on `stream`, as with cudaFreeAsync or PyTorch's caching allocator.
  std::function<void(void *memory, std::size_t bytes, void *stream)> free;
};

/// A program bound to tensors and params: everything checked, ready to be launched again and again.
/// Copies share one plan, which does not change; threads may launch it at the same time where it is
/// harmless that both write the same outputs. The tensors' memory must stay valid until the last
/// launch is done. One that was moved from may only be assigned or destroyed.
class Plan {
public:
  /// Bytes of scratch memory that a launch needs; 0 for many.
  std::int64_t workspaceBytes() const { return attnc_plan_workspace_bytes(handle.get()); }

  /// Launches on `stream` (a CUstream of the device; null for the default stream) and returns
  /// before the work is done. For the target cpu the stream is not looked at and the work is done
  /// on return. `workspace` is device memory of at least workspaceBytes, aligned to 256 bytes, that
  /// nothing else uses until the work is done; null: memory is taken and given back in the order of
  /// the stream. Errors: Environment with what the driver says, or with what the scratch memory was
  /// wanted for.
  Status launch(void *stream = nullptr, void *workspace = nullptr) const {
    return detail::toStatus(attnc_plan_launch(handle.get(), stream, workspace));
  }
  /// The same with scratch memory from the caller's functions, which are called only if some is
  /// needed. Errors: also Environment if they have none; InvalidArgument if it is not aligned.
  Status launch(void *stream, const Allocator &allocator) const {
    std::int64_t needed = workspaceBytes();
    if (needed == 0)
      return launch(stream);
    if (!allocator.allocate || !allocator.free)
      return invalidArgument("an Allocator lacks one of its functions");
    auto bytes = static_cast<std::size_t>(needed);
    void *memory = allocator.allocate(bytes, stream);
    if (!memory)
      return environmentError("the allocator has no memory for " + std::to_string(needed) +
                              " bytes of workspace");
    Status status = reinterpret_cast<std::uintptr_t>(memory) % 256 == 0
                        ? launch(stream, memory)
                        : invalidArgument("the allocator's memory is not aligned to 256 bytes");
    allocator.free(memory, bytes, stream);
    return status;
  }

  /// For calls of attnc_c.h; owned by this plan.
  const attnc_plan *c() const { return handle.get(); }

private:
  friend class Loaded;
  explicit Plan(std::shared_ptr<attnc_plan> handle) : handle(std::move(handle)) {}

  std::shared_ptr<attnc_plan> handle;
};

/// A program on a device. Copies share one, which does not change; threads may use it at the same
/// time. One that was moved from may only be assigned or destroyed.
class Loaded {
public:
  const Program &program() const { return source; }
  /// The number of its GPU; -1 for the target cpu.
  std::int32_t device() const { return attnc_loaded_device(handle.get()); }

  /// Program::warmUp, and loads on the device all kernels that the program may launch: after it a
  /// bind neither compiles nor loads, and launches can be captured in a CUDA graph.
  Status warmUp() const { return detail::toStatus(attnc_warm_up(handle.get())); }

  /// Checks every tensor and param against the program and computes the arguments of its kernels.
  /// Dims that no input carries are taken from the outputs' shapes. Negative strides are refused,
  /// and the last axis must be contiguous. Allocates nothing on the device, and keeps of
  /// `arguments` only the data pointers. Errors: InvalidArgument for what does not fit, by name.
  Result<Plan> bind(const Arguments &arguments) const {
    if (Status status = check(arguments); !status)
      return status.error();
    detail::CArguments c(arguments);
    attnc_plan *plan = nullptr;
    if (Status status = detail::toStatus(attnc_bind(handle.get(), c.get(), &plan)); !status)
      return status.error();
    return Plan(detail::own(plan));
  }

  /// bind and Plan::launch with scratch memory of its own.
  Status launch(const Arguments &arguments, void *stream = nullptr) const {
    if (Status status = check(arguments); !status)
      return status;
    detail::CArguments c(arguments);
    return detail::toStatus(attnc_launch(handle.get(), c.get(), stream));
  }

  /// For calls of attnc_c.h; owned by this object.
  const attnc_loaded *c() const { return handle.get(); }

private:
  friend class Program;
  Loaded(Program source, std::shared_ptr<attnc_loaded> handle)
      : source(std::move(source)), handle(std::move(handle)) {}

  /// What C cannot see: how many strides there are, and whether memory may be written.
  Status check(const Arguments &arguments) const {
    for (std::size_t i = 0; i < arguments.tensors.size(); ++i) {
      const Tensor &tensor = arguments.tensors[i];
      if (!tensor.strides.empty() && tensor.strides.size() != tensor.shape.size())
        return invalidArgument(tensor.name + ": has " + std::to_string(tensor.shape.size()) +
                               " extents and " + std::to_string(tensor.strides.size()) +
                               " strides");
      if (tensor.readOnly && isOutput(tensor, i))
        return invalidArgument("output " + tensor.name + " is read-only");
    }
    return {};
  }
  bool isOutput(const Tensor &tensor, std::size_t place) const {
    for (std::size_t i = 0; i < attnc_program_tensor_count(source.c()); ++i) {
      auto info = detail::sized<attnc_tensor_info>();
      detail::expect(attnc_program_tensor(source.c(), i, &info));
      if (tensor.name.empty() ? i == place : tensor.name == info.name)
        return info.is_output != 0;
    }
    return false;
  }

  Program source;
  std::shared_ptr<attnc_loaded> handle;
};

inline Result<Loaded> Program::loadOn(std::int32_t device) const {
  attnc_loaded *loaded = nullptr;
  if (Status status = detail::toStatus(attnc_load(handle.get(), device, &loaded)); !status)
    return status.error();
  return Loaded(*this, detail::own(loaded));
}

} // namespace attnc
