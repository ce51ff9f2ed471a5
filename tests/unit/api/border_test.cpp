// The border between C and what is inside: what becomes of LLVM's fatal errors there.
#include "api/c/handles.h"
#include "compiler/frontend/frontend.h"
#include "tests/unit/api/handles.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <atomic>
#include <stdexcept>
#include <thread>

using namespace attnc;
using namespace attnc::api;
using namespace attnc::test;

/// What is left without its destructors leaks.
extern "C" const char *__lsan_default_suppressions() { // NOLINT(bugprone-reserved-identifier)
  return "leak:Border_";
}

namespace {

/// More elements than the vector can count: LLVM gives up.
void exceedSmallVector() {
  llvm::SmallVector<int> numbers;
  numbers.reserve(std::size_t(1) << 40);
}

/// An instruction that most processors lack, and those named x86-64.
std::unique_ptr<llvm::Module> impossible(llvm::LLVMContext &context) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::SMDiagnostic wrong;
  return llvm::parseAssemblyString(
      "declare <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float>, <16 x float>, i16)\n"
      "define <16 x float> @f(<16 x float> %a) {\n"
      "  %r = call <16 x float> @llvm.x86.avx512.rcp14.ps.512(<16 x float> %a, <16 x float> %a,"
      " i16 -1)\n"
      "  ret <16 x float> %r\n"
      "}\n",
      wrong, context);
}

llvm::orc::JITTargetMachineBuilder oldProcessor() {
  llvm::orc::JITTargetMachineBuilder builder(llvm::Triple("x86_64-linux-gnu"));
  builder.setCPU("x86-64");
  return builder;
}

/// LLVM gives up within its passes.
void generateTheImpossible() {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = impossible(context);
  auto machine = llvm::cantFail(oldProcessor().createTargetMachine());
  llvm::SmallVector<char> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  ASSERT_FALSE(
      machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile));
  passes.run(*module);
}

/// LLVM gives up within a session of the JIT, which would wait for the work if it were destroyed.
void loadTheImpossible() {
  auto jit =
      llvm::cantFail(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(oldProcessor()).create());
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module = impossible(*context);
  llvm::cantFail(
      jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  llvm::consumeError(jit->lookup("f").takeError());
}

Result<driver::Compilation> compileForCpu() {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  driver::loadDialects(context);
  Diagnostics diagnostics;
  std::optional<Spec> spec = parseSpec(context, "spec", scaleSpec, {}, diagnostics);
  EXPECT_TRUE(spec);
  driver::CompileOptions options;
  options.target = "cpu";
  options.upTo = driver::Stage::Cubin;
  return driver::compile(*spec, options);
}

TEST(Border, AFatalErrorOfLlvmIsAnInternalError) {
  Own<attnc_error> error(atBorder([]() -> ErrorPtr {
    exceedSmallVector();
    return nullptr;
  }));
  ASSERT_TRUE(error);
  EXPECT_EQ(attnc_error_kind(error.get()), ATTNC_ERROR_INTERNAL);
  EXPECT_EQ(error->message.rfind("LLVM: SmallVector unable to grow", 0), 0U) << error->message;
  EXPECT_EQ(error->remedy, "report this with the spec");
}

TEST(Border, LackOfMemoryInLlvmIsTheEnvironmentsFault) {
  EXPECT_EQ(said(atBorder([]() -> ErrorPtr { llvm::report_bad_alloc_error("no memory"); })),
            "3: out of memory");
}

TEST(Border, CompilingGoesOnAfterAFatalErrorInTheCodeGenerator) {
  for (void (*fail)() : {generateTheImpossible, loadTheImpossible, generateTheImpossible}) {
    std::string text = said(atBorder([&]() -> ErrorPtr {
      fail();
      return nullptr;
    }));
    EXPECT_EQ(text, "5: LLVM: Do not know how to split the result of this operator!");
    EXPECT_EQ(said(atBorder([]() -> ErrorPtr {
                Result<driver::Compilation> compiled = compileForCpu();
                return compiled ? nullptr : toC(compiled.error());
              })),
              "");
  }
}

TEST(Border, ContainsWhatIsNested) {
  EXPECT_EQ(said(atBorder([]() -> ErrorPtr {
              Status inner = runContained(exceedSmallVector);
              EXPECT_FALSE(inner);
              throw std::runtime_error("after it");
            })),
            "5: after it");
  EXPECT_EQ(said(atBorder([]() -> ErrorPtr { return nullptr; })), "");
}

TEST(Border, ThreadsFailAndSucceedSideBySide) {
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&wrong, fails = thread % 2 == 0] {
      for (int turn = 0; turn < 200; ++turn) {
        Own<attnc_error> error(atBorder([&]() -> ErrorPtr {
          if (fails)
            exceedSmallVector();
          return nullptr;
        }));
        wrong += (error != nullptr) != fails;
      }
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

// Nobody could be told there.
TEST(BorderDeathTest, OutsideOfItAFatalErrorEndsTheProcessAsEver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EQ(said(atBorder([]() -> ErrorPtr { return nullptr; })), "");
  EXPECT_DEATH(exceedSmallVector(), "LLVM ERROR: SmallVector unable to grow");
}

} // namespace
