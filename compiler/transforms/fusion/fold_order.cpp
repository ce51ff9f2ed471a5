#include "compiler/transforms/fusion/fold_order.h"

using namespace mlir;

namespace attnc {

FoldOrder::FoldOrder(Partition &passes) : passes(passes) {
  for (auto [id, pass] : llvm::enumerate(passes))
    for (red::FoldOp state : pass.states)
      owner[state] = id;
}

int FoldOrder::ownerOf(Operation *op) const {
  auto found = owner.find(op);
  return found == owner.end() ? -1 : static_cast<int>(found->second);
}

llvm::SmallBitVector FoldOrder::behind(Value value) const {
  llvm::SmallBitVector result(passes.size());
  llvm::SmallDenseSet<Operation *> seen;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (int id = ownerOf(op); id >= 0 && !result.test(id)) {
      result.set(id);
      // A pass runs as a whole: what any of its states waits for, all of them do.
      for (red::FoldOp state : passes[id].states)
        work.push_back(state);
    }
    llvm::append_range(work, op->getOperands());
  }
  return result;
}

bool FoldOrder::dependsDirectly(red::FoldOp fold, unsigned pass) const {
  // Each op is looked at once on its own and once behind another pass.
  llvm::SmallDenseSet<Operation *> seen[2];
  SmallVector<std::pair<Operation *, bool>> work = {{fold, false}};
  bool direct = false;
  while (!work.empty()) {
    auto [op, indirect] = work.pop_back_val();
    for (Value operand : op->getOperands()) {
      Operation *source = operand.getDefiningOp();
      int id = ownerOf(source);
      if (id == static_cast<int>(pass) && indirect)
        return false;
      direct |= id == static_cast<int>(pass);
      bool isOther = id >= 0 && id != static_cast<int>(pass), behindOther = indirect || isOther;
      if (seen[behindOther].insert(source).second)
        work.push_back({source, behindOther});
      if (isOther) // and behind the other states of that pass, which runs as a whole
        for (red::FoldOp state : passes[id].states)
          if (seen[true].insert(state).second)
            work.push_back({state, true});
    }
  }
  return direct;
}

void FoldOrder::moveBehind(unsigned pass, unsigned last) {
  auto waits = [&](unsigned id) { // found for all of them before any is moved from
    return id == pass || llvm::any_of(passes[id].states,
                                      [&](red::FoldOp state) { return behind(state).test(pass); });
  };
  llvm::SmallBitVector waiting(last + 1);
  for (unsigned id = pass; id <= last; ++id)
    waiting[id] = waits(id);
  Partition staying, moving;
  for (unsigned id = pass; id <= last; ++id)
    (waiting[id] ? moving : staying).push_back(std::move(passes[id]));
  auto at = std::move(staying.begin(), staying.end(), passes.begin() + pass);
  std::move(moving.begin(), moving.end(), at);
}

} // namespace attnc
