#include "compiler/driver/cut_finishes.h"
#include "compiler/schedule/choose_schedule.h"
#include "compiler/transforms/cut_finish.h"

using namespace mlir;

namespace attnc::driver {

void cutFinishes(attn::ProgramOp program, StringRef target) {
  const schedule::Machine *machine = schedule::findMachine(target);
  if (!machine)
    return;
  for (auto nest : llvm::to_vector(program.getBodyBlock()->getOps<red::NestOp>())) {
    if (!foldsInFinish(nest))
      continue;
    (void)schedule::chooseSchedule(nest, *machine);
    bool isTiled = schedule::scheduleForm(nest) != "generic";
    nest.removeScheduleAttr();
    if (!isTiled)
      cutFinish(nest);
  }
}

} // namespace attnc::driver
