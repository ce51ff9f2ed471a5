// How long the host is busy with a call from C++. Answers each line of its input with one line of
// JSON, microseconds by case, so that call_path.py can measure in turns.
//
// usage: call_path SPEC TARGET CALLS
#include "attnc_c.h"
#include "runtime/cuda/driver.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace attnc;

[[noreturn]] void fail(const std::string &text) {
  std::cerr << "call_path: " << text << "\n";
  std::exit(4); // as attnc where the machine lacks something
}

void check(attnc_error *error) {
  if (error)
    fail(attnc_error_message(error));
}

/// Memory where the kernels run.
class Memory {
public:
  explicit Memory(std::shared_ptr<CudaDevice> device) : device(std::move(device)) {}

  void *take(std::size_t bytes) {
    if (!device)
      return hosts.emplace_back(std::aligned_alloc(256, (bytes + 255) / 256 * 256), std::free)
          .get();
    Result<DeviceBuffer> buffer = device->allocate(bytes);
    if (!buffer)
      fail(buffer.error().text());
    if (Status filled = buffer->fill(0); !filled)
      fail(filled.error().text());
    buffers.push_back(*std::move(buffer));
    return buffers.back().data();
  }

  void synchronize() const {
    if (!device)
      return;
    if (Status done = device->synchronize(); !done)
      fail(done.error().text());
  }

private:
  std::shared_ptr<CudaDevice> device;
  std::vector<DeviceBuffer> buffers;
  std::vector<std::unique_ptr<void, void (*)(void *)>> hosts;
};

/// Attention of `queries` to `keys` in bf16, and its tensors.
struct Call {
  Call(Memory &memory, attnc_loaded *loaded, std::int64_t heads, std::int64_t queries,
       std::int64_t keys)
      : few{1, heads, queries, 64}, many{1, heads, keys, 64} {
    const std::int64_t *shapes[] = {few, many, many, few};
    const char *names[] = {"q", "k", "v", "o"};
    for (int i = 0; i < 4; ++i) {
      std::int64_t elements = shapes[i][1] * shapes[i][2] * 64;
      tensors[i] = {names[i],   memory.take(static_cast<std::size_t>(2 * elements)),
                    ATTNC_BF16, 4,
                    shapes[i],  nullptr};
      data[i] = tensors[i].data;
    }
    arguments = {sizeof arguments, tensors, 4, nullptr, 0, nullptr};
    check(attnc_bind(loaded, &arguments, &plan));
    workspace = memory.take(
        static_cast<std::size_t>(std::max<std::int64_t>(attnc_plan_workspace_bytes(plan), 256)));
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;
  ~Call() { attnc_plan_destroy(plan); }

  std::int64_t few[4], many[4];
  attnc_tensor tensors[4];
  void *data[4];
  attnc_arguments arguments;
  attnc_plan *plan = nullptr;
  void *workspace = nullptr;
};

/// The driver itself: what a launch takes at the least. Its context is current from then on, as in
/// a program that uses the CUDA runtime.
class EmptyKernel {
public:
  explicit EmptyKernel(int ordinal) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    auto call = [&](const char *name, auto... arguments) {
      auto *function = reinterpret_cast<int (*)(decltype(arguments)...)>(dlsym(library, name));
      if (!function || function(arguments...) != 0)
        fail(name);
    };
    const char *ptx = ".version 7.0\n.target sm_80\n.address_size 64\n"
                      ".visible .entry empty()\n{\n  ret;\n}\n";
    int device = 0;
    void *context = nullptr, *module = nullptr;
    call("cuDeviceGet", &device, ordinal);
    call("cuDevicePrimaryCtxRetain", &context, device);
    call("cuCtxSetCurrent", context);
    call("cuModuleLoadData", &module, ptx);
    call("cuModuleGetFunction", &function, module, "empty");
    launchKernel = reinterpret_cast<decltype(launchKernel)>(dlsym(library, "cuLaunchKernel"));
  }

  void launch() const {
    if (launchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr) != 0)
      fail("an empty kernel cannot be launched");
  }

private:
  void *function = nullptr;
  int (*launchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      void *, void **, void **) = nullptr;
};

double microseconds(const Memory &memory, int calls, const std::function<void()> &call) {
  call(); // what is made once is made
  memory.synchronize();
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i)
    call();
  std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  memory.synchronize();
  return time.count() / calls;
}

} // namespace

int main(int count, char **arguments) {
  if (count != 4)
    fail("usage: call_path SPEC TARGET CALLS");
  attnc_compile_options options = {};
  options.struct_size = sizeof options;
  options.target = arguments[2];
  attnc_program *program = nullptr;
  attnc_loaded *loaded = nullptr;
  check(attnc_compile_file(arguments[1], &options, &program));
  check(attnc_load(program, ATTNC_CURRENT_DEVICE, &loaded));
  std::shared_ptr<CudaDevice> device;
  if (attnc_loaded_device(loaded) >= 0) {
    auto opened = CudaDevice::open(attnc_loaded_device(loaded));
    if (!opened)
      fail(opened.error().text());
    device = *std::move(opened);
  }
  {
    Memory memory(device);
    std::optional<EmptyKernel> empty;
    if (device)
      empty.emplace(attnc_loaded_device(loaded));
    // A size at which the GPU does next to nothing, and a decoding step, which is made of parts.
    bool onGpu = device != nullptr;
    Call small(memory, loaded, 1, onGpu ? 64 : 1, onGpu ? 64 : 1);
    Call decode(memory, loaded, onGpu ? 8 : 1, 1, onGpu ? 8192 : 1);
    std::vector<std::pair<const char *, std::function<void()>>> cases = {
        {"plan", [&] { check(attnc_plan_launch(small.plan, nullptr, nullptr)); }},
        {"plan_at", [&] { check(attnc_plan_launch_at(small.plan, small.data, nullptr, nullptr)); }},
        {"full", [&] { check(attnc_launch(loaded, &small.arguments, nullptr)); }},
        {"decode", [&] { check(attnc_plan_launch(decode.plan, nullptr, decode.workspace)); }},
        {"decode_own", [&] { check(attnc_plan_launch(decode.plan, nullptr, nullptr)); }},
        {"decode_full", [&] { check(attnc_launch(loaded, &decode.arguments, nullptr)); }}};
    if (empty)
      cases.push_back({"empty", [&] { empty->launch(); }});
    for (std::string line; std::getline(std::cin, line);) {
      std::string answer;
      for (const auto &[name, call] : cases)
        answer += fmt::format("{}\"{}\": {:.3f}", answer.empty() ? "" : ", ", name,
                              microseconds(memory, std::atoi(arguments[3]), call));
      std::cout << "{" << answer << "}" << std::endl;
    }
  }
  attnc_loaded_destroy(loaded);
  attnc_program_destroy(program);
}
