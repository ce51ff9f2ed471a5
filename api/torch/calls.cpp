// Calls of attnc's operators in PyTorch, on PyTorch's stable ABI. Python makes the first call of a
// layout, which compiles, checks and binds, and has its plan remembered here. A call like it finds
// the plan, allocates the outputs and launches on the current stream without Python.
//
// libattnc.so is the one that Python has loaded: it hands over the functions.
#include "attnc_c.h"
#include "runtime/program/layout_cache.h"

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

using attnc::LayoutKey;
using torch::stable::Tensor;

namespace {

struct Library {
  decltype(&attnc_plan_launch_at) launch;
  decltype(&attnc_plan_destroy) destroyPlan;
  decltype(&attnc_error_destroy) destroyError;
} library;

struct PlanDeleter {
  void operator()(attnc_plan *plan) const { library.destroyPlan(plan); }
};

struct Output {
  std::size_t slot; ///< its number among the tensors of the program
  std::int32_t dtype;
  std::vector<std::int64_t> sizes, strides;
};

/// A call that was made: its plan, and what differs at the next one of the same layout.
struct Call {
  std::unique_ptr<attnc_plan, PlanDeleter> plan;
  std::vector<std::size_t> inputSlots;
  std::vector<Output> outputs;
  std::int32_t deviceType, deviceIndex;
};

/// Never destroyed: at exit the driver and libattnc.so may be gone before it.
attnc::LayoutCache<Call> &known() {
  static auto &calls = *new attnc::LayoutCache<Call>(4096);
  return calls;
}

void append(const Tensor &tensor, LayoutKey &key) {
  std::int32_t dtype, deviceType, deviceIndex;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(tensor.get(), &dtype));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(tensor.get(), &deviceType));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(tensor.get(), &deviceIndex));
  key.words.insert(key.words.end(), {tensor.dim(), dtype, deviceType, deviceIndex,
                                     attnc::alignmentClass(tensor.const_data_ptr())});
  for (const auto &numbers : {tensor.sizes(), tensor.strides()})
    key.words.insert(key.words.end(), numbers.begin(), numbers.end());
}

/// `calls` is a number for what is called and with which params.
LayoutKey keyOf(std::int64_t calls, const std::vector<Tensor> &inputs) {
  LayoutKey key;
  key.words.reserve(1 + 16 * inputs.size());
  key.words.push_back(calls);
  for (const Tensor &input : inputs)
    append(input, key);
  return key;
}

/// Programs want the last dim contiguous.
Tensor withRows(const Tensor &tensor) {
  std::int64_t last = tensor.dim() - 1;
  if (last < 0 || tensor.stride(last) == 1 || tensor.size(last) == 1)
    return tensor;
  return torch::stable::contiguous(tensor);
}

Tensor allocate(const Output &output, const Call &call) {
  AtenTensorHandle made;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
      static_cast<std::int64_t>(output.sizes.size()), output.sizes.data(), output.strides.data(),
      output.dtype, call.deviceType, call.deviceIndex, &made));
  return Tensor(made);
}

/// Of libtorch_cuda.so, which a PyTorch without CUDA lacks.
void *currentStream(const Call &call) {
  if (call.deviceType != aoti_torch_device_type_cuda())
    return nullptr;
  using Query = AOTITorchError (*)(std::int32_t, void **);
  static const auto query = reinterpret_cast<Query>(dlsym(
      dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD), "aoti_torch_get_current_cuda_stream"));
  STD_TORCH_CHECK(query, "attnc: libtorch_cuda.so has no aoti_torch_get_current_cuda_stream");
  void *stream = nullptr;
  TORCH_ERROR_CODE_CHECK(query(call.deviceIndex, &stream));
  return stream;
}

/// The outputs of a call; none where no call like it is known, or its addresses do not fit.
std::vector<Tensor> launch(std::int64_t calls, const std::vector<Tensor> &inputs) {
  std::shared_ptr<const Call> call = known().find(keyOf(calls, inputs));
  if (!call)
    return {};
  std::vector<void *> addresses(inputs.size() + call->outputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    addresses[call->inputSlots[i]] = const_cast<void *>(inputs[i].const_data_ptr());
  std::vector<Tensor> outputs;
  outputs.reserve(call->outputs.size());
  for (const Output &output : call->outputs) {
    outputs.push_back(allocate(output, *call));
    addresses[output.slot] = outputs.back().mutable_data_ptr();
  }
  attnc_error *error =
      library.launch(call->plan.get(), addresses.data(), currentStream(*call), nullptr);
  if (!error)
    return outputs;
  library.destroyError(error);
  return {};
}

/// The same; none, too, where PyTorch cannot give what is asked of it, memory above all. The stable
/// ABI loses what it says then; but who gets no outputs goes the way of the first call, which
/// tells.
std::vector<Tensor> tryLaunch(std::int64_t calls, std::vector<Tensor> &inputs) {
  try {
    std::transform(inputs.begin(), inputs.end(), inputs.begin(), withRows);
    return launch(calls, inputs);
  } catch (const std::exception &) {
    return {};
  }
}

/// As PyTorch calls it, for (int calls, Tensor... inputs) -> Tensor... outputs of any numbers.
/// Where there are no outputs, they are undefined: None in Python.
void launchBoxed(StableIValue *stack, std::uint64_t arguments, std::uint64_t results) {
  auto calls = torch::stable::detail::to<std::int64_t>(stack[0]);
  std::vector<Tensor> inputs;
  inputs.reserve(arguments - 1);
  for (std::uint64_t i = 1; i < arguments; ++i) // each is ours to release from here on
    inputs.push_back(torch::stable::detail::to<Tensor>(stack[i]));
  std::vector<Tensor> outputs = tryLaunch(calls, inputs);
  outputs.resize(results);
  for (std::uint64_t i = 0; i < results; ++i)
    stack[i] = torch::stable::detail::from(outputs[i]);
}

/// Remembers a plan, which it owns from then on, and what it was bound to; `slots` has the numbers
/// of the inputs and then of the outputs among the program's tensors, each once.
void remember(std::int64_t calls, std::vector<Tensor> inputs, std::int64_t plan,
              std::vector<std::int64_t> slots, std::vector<Tensor> outputs) {
  auto call = std::make_shared<Call>();
  call->plan.reset(reinterpret_cast<attnc_plan *>(plan));
  STD_TORCH_CHECK(slots.size() == inputs.size() + outputs.size() && !outputs.empty());
  call->inputSlots.assign(slots.begin(), slots.begin() + inputs.size());
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(outputs[0].get(), &call->deviceType));
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_index(outputs[0].get(), &call->deviceIndex));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Output output = {static_cast<std::size_t>(slots[inputs.size() + i]), 0, {}, {}};
    TORCH_ERROR_CODE_CHECK(aoti_torch_get_dtype(outputs[i].get(), &output.dtype));
    auto sizes = outputs[i].sizes(), strides = outputs[i].strides();
    output.sizes.assign(sizes.begin(), sizes.end());
    output.strides.assign(strides.begin(), strides.end());
    call->outputs.push_back(std::move(output));
  }
  known().remember(keyOf(calls, inputs), std::move(call));
}

} // namespace

STABLE_TORCH_LIBRARY(attnc_calls, m) {
  m.def("remember(int calls, Tensor[] inputs, int plan, int[] slots, Tensor[] outputs) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(attnc_calls, CompositeExplicitAutograd, m) {
  m.impl("remember", TORCH_BOX(&remember));
}

// For Python's ctypes, in C's style of names. NOLINTBEGIN(readability-identifier-naming)
#define ATTNC_TORCH_API extern "C" __attribute__((visibility("default")))

/// The functions of the loaded libattnc.so; before any call is remembered.
ATTNC_TORCH_API void attnc_torch_use(decltype(Library::launch) launchAt,
                                     decltype(Library::destroyPlan) destroyPlan,
                                     decltype(Library::destroyError) destroyError) {
  library = {launchAt, destroyPlan, destroyError};
}

/// Makes an operation of attnc_calls, which is declared with any number of tensors, one that
/// launches.
ATTNC_TORCH_API void attnc_torch_implement(const char *name) {
  using torch::stable::detail::StableLibrary;
  // Never destroyed, as the plans.
  static auto &implementations = *new StableLibrary(
      StableLibrary::Kind::IMPL, "attnc_calls", "CompositeExplicitAutograd", __FILE__, __LINE__);
  implementations.impl(name, &launchBoxed);
}
// NOLINTEND(readability-identifier-naming)
