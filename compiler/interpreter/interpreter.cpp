#include "compiler/interpreter/interpreter.h"
#include "compiler/interpreter/code/code_builder.h"
#include "compiler/interpreter/machine/machine.h"
#include <cstring>

using namespace mlir;

namespace attnc::interpreter {

llvm::Expected<KernelInterpreter> KernelInterpreter::compile(tile::KernelOp kernel,
                                                             StringRef text) {
  llvm::Expected<std::shared_ptr<const KernelCode>> code = CodeBuilder(kernel).build(text);
  if (!code)
    return code.takeError();
  KernelInterpreter interpreter;
  interpreter.code = std::move(*code);
  return interpreter;
}

bool KernelInterpreter::hasOrders() const { return !code->perPoint && !code->perThread; }

llvm::Error KernelInterpreter::run(const Launch &launch, uint64_t seed) const {
  if (launch.args.size() != code->arguments)
    return llvm::createStringError("the launch has %zu arguments, the kernel %u",
                                   launch.args.size(), code->arguments);
  if (code->onlyIf) {
    int32_t flag = 0;
    std::memcpy(&flag, std::get<void *>(launch.args[*code->onlyIf]), sizeof flag);
    if (flag == 0)
      return llvm::Error::success();
  }
  Adversary adversary(seed);
  Machine machine(*code, launch, adversary);
  bool fine = true;
  if (code->perPoint) {
    for (int64_t block = 0; fine && block < launch.blocks; ++block)
      for (int64_t thread = 0; fine && thread < code->threads; ++thread)
        fine = machine.runPoint(launch.first + block, thread);
  } else if (code->perThread) {
    for (int64_t block = 0; fine && block < launch.blocks; ++block)
      fine = machine.runThreads(launch.first + block);
  } else {
    if (code->cluster == 0 || launch.blocks < 0 || launch.blocks % code->cluster != 0)
      return llvm::createStringError("%lld blocks are no multiple of the kernel's cluster of %u",
                                     static_cast<long long>(launch.blocks), code->cluster);
    int64_t clusters = launch.blocks / code->cluster;
    if (clusters == 0)
      return llvm::Error::success();
    // Blocks may run in any order: from a random one on, up or down.
    uint64_t first = adversary.below(clusters), down = adversary.below(2);
    for (int64_t i = 0; fine && i < clusters; ++i)
      fine = machine.runCluster(launch.first +
                                (first + (down ? clusters - i : i)) % clusters * code->cluster);
  }
  return fine ? llvm::Error::success() : llvm::createStringError(machine.fault());
}

} // namespace attnc::interpreter
