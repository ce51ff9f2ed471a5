#include "compiler/codegen/cpu/object/object_code.h"
#include "compiler/codegen/cpu/loops/lower_nests.h"
#include "compiler/codegen/cpu/object/llvm_lowering.h"
#include "compiler/codegen/cpu/object/optimise.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace mlir;

namespace attnc::cpu {

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
  // The object may be loaded anywhere in memory.
  builder->setRelocationModel(llvm::Reloc::PIC_);
  builder->setCodeModel(llvm::CodeModel::Small);
  return builder->createTargetMachine();
}

static llvm::Expected<std::string> emitObject(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return llvm::createStringError("LLVM cannot write objects for this processor");
  passes.run(module);
  return std::string(bytes.begin(), bytes.end());
}

llvm::Expected<ObjectCode> compileObject(ModuleOp module, const ObjectOptions &options) {
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

  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(**lowered, context);
  if (!code)
    return llvm::createStringError("an operation has no translation to LLVM IR");
  code->setTargetTriple((*machine)->getTargetTriple());
  code->setDataLayout((*machine)->createDataLayout());
  optimise(*code, effort, **machine);

  ObjectCode result;
  result.leftOut = leftOut(effort, ops);
  if (options.keepLlvmIr) {
    llvm::raw_string_ostream stream(result.llvmIr);
    code->print(stream, nullptr);
  }
  llvm::Expected<std::string> object = emitObject(*code, **machine);
  if (!object)
    return object.takeError();
  result.object = std::move(*object);
  result.processor = hostProcessor();
  for (auto [i, nest] : llvm::enumerate(nestsOf(module)))
    result.symbols.push_back(kernelSymbol(i, nest));
  return result;
}

//===----------------------------------------------------------------------===//
// The processor
//===----------------------------------------------------------------------===//

static std::string architecture() {
  return llvm::Triple(llvm::sys::getProcessTriple()).getArchName().str();
}

static std::vector<std::string> features() {
  std::vector<std::string> names;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    if (feature.second)
      names.push_back(feature.first().str());
  llvm::sort(names);
  return names;
}

std::string hostProcessor() {
  std::string text = architecture();
  for (const std::string &name : features())
    text += " " + name;
  return text;
}

std::vector<std::string> lackingHere(StringRef processor) {
  SmallVector<StringRef> words;
  processor.split(words, ' ', -1, /*KeepEmpty=*/false);
  if (words.empty() || words.front() != architecture())
    return {words.empty() ? "the name of a processor" : words.front().str()};
  std::vector<std::string> here = features(), lacking;
  for (StringRef word : llvm::drop_begin(words))
    if (!llvm::is_contained(here, word))
      lacking.push_back(word.str());
  return lacking;
}

} // namespace attnc::cpu
