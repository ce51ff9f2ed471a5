#include "compiler/codegen/cpu/cpu_target.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"
#include <atomic>
#include <cmath>
#include <mutex>
#include <thread>

using namespace mlir;

namespace attnc::cpu {

namespace {
using Kernel = void (*)(const uint64_t *args, int64_t first, int64_t last, void *scratch);
using Count = int64_t (*)(const uint64_t *args);

struct NestCode {
  Kernel kernel;
  Count cells, scratch;
};

struct FreeDeleter {
  void operator()(void *memory) const { std::free(memory); }
};
} // namespace

struct CpuExecutable::Code {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  llvm::SmallVector<NestCode> nests;
  unsigned threads;
};

CpuExecutable::CpuExecutable(std::unique_ptr<Code> code) : code(std::move(code)) {}
CpuExecutable::~CpuExecutable() = default;
unsigned CpuExecutable::size() const { return code->nests.size(); }

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

// The C library's functions that LLVM's math intrinsics call: named here, so that generated code
// finds them however this program was linked.
static llvm::orc::SymbolMap mathSymbols(llvm::orc::MangleAndInterner mangle) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](StringRef name, auto *function) {
    symbols[mangle(name)] = llvm::orc::ExecutorSymbolDef::fromPtr(function);
  };
  using F = float (*)(float);
  using D = double (*)(double);
  using FF = float (*)(float, float);
  using DD = double (*)(double, double);
  static constexpr std::pair<const char *, F> kFloats[] = {
      {"expf", expf},   {"exp2f", exp2f}, {"logf", logf},     {"log2f", log2f},
      {"tanhf", tanhf}, {"erff", erff},   {"floorf", floorf}, {"log10f", log10f},
      {"sinf", sinf},   {"cosf", cosf},   {"ceilf", ceilf},   {"roundevenf", roundevenf}};
  static constexpr std::pair<const char *, D> kDoubles[] = {
      {"exp", exp},   {"exp2", exp2}, {"log", log},     {"log2", log2},
      {"tanh", tanh}, {"erf", erf},   {"floor", floor}, {"log10", log10},
      {"sin", sin},   {"cos", cos},   {"ceil", ceil},   {"roundeven", roundeven}};
  for (auto [name, function] : kFloats)
    add(name, function);
  for (auto [name, function] : kDoubles)
    add(name, function);
  add("powf", static_cast<FF>(powf));
  add("pow", static_cast<DD>(pow));
  return symbols;
}

static llvm::Expected<std::unique_ptr<llvm::orc::LLJIT>> emptyJit() {
  static std::once_flag once;
  std::call_once(once, [] { llvm::InitializeNativeTarget(); });
  // Kernels have no static constructors, so no platform has to run them.
  auto jit = llvm::orc::LLJITBuilder()
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .setLinkProcessSymbolsByDefault(true)
                 .create();
  if (!jit)
    return jit.takeError();
  llvm::orc::MangleAndInterner mangle((*jit)->getExecutionSession(), (*jit)->getDataLayout());
  if (llvm::Error error =
          (*jit)->getMainJITDylib().define(llvm::orc::absoluteSymbols(mathSymbols(mangle))))
    return error;
  return jit;
}

llvm::Expected<std::unique_ptr<CpuExecutable>>
CpuExecutable::load(StringRef object, ArrayRef<std::string> symbols, unsigned threads) {
  auto jit = emptyJit();
  if (!jit)
    return jit.takeError();
  if (llvm::Error error =
          (*jit)->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(object, "kernels.o")))
    return error;
  auto code = std::make_unique<Code>();
  code->threads = threads ? threads : std::thread::hardware_concurrency();
  for (const std::string &name : symbols) {
    SmallVector<llvm::orc::ExecutorAddr, 3> found;
    for (const char *suffix : {"", "_cells", "_scratch"}) {
      auto address = (*jit)->lookup(name + suffix);
      if (!address)
        return address.takeError();
      found.push_back(*address);
    }
    code->nests.push_back(
        {found[0].toPtr<Kernel>(), found[1].toPtr<Count>(), found[2].toPtr<Count>()});
  }
  code->jit = std::move(*jit);
  return std::unique_ptr<CpuExecutable>(new CpuExecutable(std::move(code)));
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void CpuExecutable::run(unsigned number, ArrayRef<uint64_t> args) const {
  const NestCode &kernel = code->nests[number];
  int64_t cells = kernel.cells(args.data());
  if (cells <= 0)
    return;
  size_t scratchBytes = std::max<int64_t>(kernel.scratch(args.data()), 64);
  int64_t workers = std::min<int64_t>(std::max(code->threads, 1u), cells);
  // Some chunks for each worker: cells may differ in cost, as under a triangular domain.
  int64_t chunk = std::max<int64_t>(1, cells / (8 * workers));
  std::atomic<int64_t> next = 0;
  auto work = [&] {
    std::unique_ptr<void, FreeDeleter> scratch(std::aligned_alloc(64, scratchBytes));
    for (int64_t first; (first = next.fetch_add(chunk)) < cells;)
      kernel.kernel(args.data(), first, std::min(first + chunk, cells), scratch.get());
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < workers; ++i)
    others.emplace_back(work);
  work();
  for (std::thread &thread : others)
    thread.join();
}

} // namespace attnc::cpu
