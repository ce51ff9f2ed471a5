#include "compiler/codegen/cpu/cpu_target.h"
#include "compiler/codegen/cpu/llvm_lowering.h"
#include "compiler/codegen/cpu/lower_nests.h"
#include "compiler/codegen/cpu/optimise.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
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
  std::unique_ptr<ExecutionEngine> engine;
  llvm::SmallVector<NestCode> nests;
  unsigned threads;
  std::string leftOut, llvmIr;
};

CpuExecutable::CpuExecutable(std::unique_ptr<Code> code) : code(std::move(code)) {}
CpuExecutable::~CpuExecutable() = default;
unsigned CpuExecutable::size() const { return code->nests.size(); }
const std::string &CpuExecutable::leftOut() const { return code->leftOut; }
const std::string &CpuExecutable::llvmIr() const { return code->llvmIr; }

//===----------------------------------------------------------------------===//
// Compilation
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

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>> hostMachine() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return builder.takeError();
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  return builder->createTargetMachine();
}

// The engine adds a function that unpacks arguments for each of ours and is never called here;
// inlining would double all code.
static void eraseWrappers(llvm::Module &module) {
  for (llvm::Function &function : llvm::make_early_inc_range(module))
    if (function.getName().starts_with("_mlir_") && function.use_empty())
      function.eraseFromParent();
}

llvm::Expected<std::unique_ptr<CpuExecutable>> CpuExecutable::compile(ModuleOp module,
                                                                      const CpuOptions &options) {
  prepareContext(*module.getContext());
  auto lowered = lowerNests(module);
  if (!lowered)
    return lowered.takeError();
  unsigned ops = 0;
  (*lowered)->walk([&](Operation *) { ++ops; });
  Effort effort = std::min(affordableEffort(ops), options.most);
  if (failed(lowerToLlvmDialect(**lowered)))
    return llvm::createStringError("an operation has no lowering to LLVM");
  auto machine = hostMachine();
  if (!machine)
    return machine.takeError();

  if (effort == Effort::Quick)
    (*machine)->setOptLevel(llvm::CodeGenOptLevel::None);

  llvm::TargetMachine *target = machine->get();

  auto code = std::make_unique<Code>();
  code->leftOut = cpu::leftOut(effort, ops);
  code->threads = options.threads ? options.threads : std::thread::hardware_concurrency();
  // It must outlive the creation of the engine, which keeps only a reference.
  auto transform = [&](llvm::Module *llvmModule) -> llvm::Error {
    eraseWrappers(*llvmModule);
    optimise(*llvmModule, effort, *target);
    if (options.keepLlvmIr) {
      llvm::raw_string_ostream stream(code->llvmIr);
      llvmModule->print(stream, nullptr);
    }
    return llvm::Error::success();
  };
  ExecutionEngineOptions engineOptions;
  engineOptions.transformer = transform;
  engineOptions.jitCodeGenOptLevel = target->getOptLevel();
  engineOptions.enableGDBNotificationListener = false;
  engineOptions.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(**lowered, engineOptions, std::move(*machine));
  if (!engine)
    return engine.takeError();
  code->engine = std::move(*engine);
  code->engine->registerSymbols(mathSymbols);

  for (auto [i, nest] : llvm::enumerate(nestsOf(module))) {
    std::string name = kernelSymbol(i, nest);
    SmallVector<void *, 3> found;
    for (const char *suffix : {"", "_cells", "_scratch"}) {
      llvm::Expected<void *> address = code->engine->lookup(name + suffix);
      if (!address)
        return address.takeError();
      found.push_back(*address);
    }
    code->nests.push_back({reinterpret_cast<Kernel>(found[0]), reinterpret_cast<Count>(found[1]),
                           reinterpret_cast<Count>(found[2])});
  }
  return std::unique_ptr<CpuExecutable>(new CpuExecutable(std::move(code)));
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void CpuExecutable::run(unsigned nest, ArrayRef<uint64_t> args) const {
  const NestCode &kernel = code->nests[nest];
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
