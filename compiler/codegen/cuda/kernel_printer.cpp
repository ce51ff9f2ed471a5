#include "compiler/codegen/cuda/kernel_printer.h"
#include "compiler/codegen/cuda/comment.h"
#include "compiler/codegen/cuda/includes.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attnc::cuda {

// Beyond this width an expression that the spec names becomes a variable.
static constexpr size_t kInlineWidth = 60;

void KernelPrinter::line(const Twine &text) {
  out.append(2 * depth, ' ');
  out += text.str();
  out += '\n';
}

void KernelPrinter::open(const Twine &text, StringRef note) {
  line(text + " {" + (note.empty() ? "" : " " + cuda::comment(note)));
  ++depth;
  names.openScope();
}

void KernelPrinter::close() {
  --depth;
  names.closeScope();
  line("}");
}

void KernelPrinter::reopen(const Twine &text, StringRef note) {
  --depth;
  names.closeScope();
  open("} " + text, note);
}

void KernelPrinter::comment(Location loc) {
  StringRef statement = attn::specStatement(loc);
  if (!commenting || statement.empty() || statement == lastStatement)
    return;
  lastStatement = statement.str();
  line(cuda::comment(statement));
}

FailureOr<std::string> KernelPrinter::print() {
  printHead();
  ++depth;
  printBlock(*kernel.getBodyBlock());
  if (kernel.getBeside())
    line("awaitLaunchBeside();");
  --depth;
  line("}");
  line("");
  line("} // namespace attnc");
  if (failed)
    return failure();
  return out;
}

// A pointer that the kernel only reads is const; tensors never overlap. What others of the chain
// write is no constant of the launch.
static std::string pointerText(tile::KernelOp kernel, BlockArgument arg) {
  bool stored = llvm::any_of(arg.getUsers(), [](Operation *op) {
    return isa<tile::StoreOp, tile::StoreTileOp, tile::StoreRowsOp, tile::StoreFragmentRowsOp,
               tile::AddBulkOp, tile::SaveOp, tile::TicketOp, tile::LastBlockOp, tile::CallOp>(op);
  });
  std::string element = typeText(cast<tile::PtrType>(arg.getType()).getElement());
  bool isPart = kernel.getChain() || kernel.callsOthers();
  return (stored ? "" : "const ") + element + (isPart ? " *" : " *__restrict__ ");
}

static std::string argumentType(tile::KernelOp kernel, BlockArgument arg) {
  if (isa<tile::PtrType>(arg.getType()))
    return pointerText(kernel, arg);
  // By value, where the copy engine finds it in the constant bank.
  if (isa<tile::TensorMapType>(arg.getType()))
    return "const __grid_constant__ TensorMap ";
  return typeText(arg.getType()) + " ";
}

// `start` and the items, in lines of which all but the first begin with `indent`.
static std::string listText(std::string start, ArrayRef<std::string> items, StringRef indent) {
  for (const std::string &item : items) {
    if (start.size() - (start.rfind('\n') + 1) + item.size() > 96)
      start += "\n" + indent.str();
    else if (&item != items.begin())
      start += " ";
    start += item + (&item + 1 == items.end() ? "" : ",");
  }
  return start;
}

void KernelPrinter::printHead() {
  if (red::Schedule schedule = kernel.getScheduleAttr()) {
    std::string text;
    llvm::raw_string_ostream(text) << schedule;
    line(cuda::comment("schedule " + text));
  }
  for (const Include &include : includes(kernel))
    line("#include \"attnc/" + include.header + ".cuh\"" +
         (include.note.empty() ? "" : " " + cuda::comment(include.note)));
  line("");
  line("namespace attnc {");
  line("");
  // Roles change their registers from what each thread starts with, which the compiler only knows
  // where the number of blocks on a multiprocessor is said.
  bool roles = !kernel.getBodyBlock()->getOps<tile::RoleOp>().empty();
  std::string blocks = roles || kernel.getMinBlocks()
                           ? ", " + std::to_string(kernel.getMinBlocks().value_or(1))
                           : "";
  std::string cluster =
      kernel.getCluster() ? "__cluster_dims__(" + std::to_string(*kernel.getCluster()) + ") " : "";
  if (kernel.getChain())
    line("static __device__ __noinline__ void");
  else
    line("extern \"C\" __global__ void " + cluster + "__launch_bounds__(" +
         Twine(kernel.getThreads()) + blocks + ")");
  SmallVector<std::string> args;
  auto argNames = kernel.getArgNames().getAsRange<StringAttr>();
  for (auto [arg, name] : llvm::zip(kernel.getBodyBlock()->getArguments(), argNames)) {
    variables[arg] = names.unique(name.getValue());
    args.push_back(argumentType(kernel, arg) + variables[arg]);
  }
  line(listText(kernel.getSymName().str() + "(", args, "    ") + ") {");
  for (BlockArgument arg : kernel.getBodyBlock()->getArguments())
    if (auto pointer = dyn_cast<tile::PtrType>(arg.getType()); pointer && pointer.getShared())
      line("  " + variables[arg] + " = inShared(" + variables[arg] + ");");
  if (!kernel.getChain() && !kernel.getBeside())
    line("  awaitLaunchBefore();");
  if (kernel.getLetsNext())
    line("  letNextStart();");
  if (std::optional<uint64_t> flag = kernel.getOnlyIf())
    line("  if (!*" + variables[kernel.getBodyBlock()->getArgument(*flag)] + ") return;");
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

static bool isScalarOp(Operation *op) {
  return op->getNumResults() == 1 &&
         (isa<arith::ArithDialect, math::MathDialect, attn::AttnDialect>(op->getDialect()) ||
          isa<tile::LoadOp, tile::PeekOp, tile::GetOp, tile::PointOp, tile::ThreadOp, tile::BlockOp,
              tile::WarpOp, tile::GridSizeOp, tile::GroupOp, tile::ClusterRankOp,
              tile::SlotNumberOp, tile::FirstColumnOp, tile::ColumnDistanceOp, tile::FirstBitOp,
              tile::WithoutFirstBitOp, tile::HasBitOp>(op));
}

// A function that a select may take: inside of a conditional expression it would make a branch for
// each element, around a few instructions, which elements that differ go through one after the
// other. Of exp2, which is one instruction, the branch is a predicate.
static bool isChosenFrom(Operation *op) {
  return isa<math::MathDialect>(op->getDialect()) && !isa<math::Exp2Op>(op) &&
         llvm::any_of(op->getUses(), [](OpOperand &use) {
           return isa<arith::SelectOp>(use.getOwner()) && use.getOperandNumber() > 0;
         });
}

bool KernelPrinter::isInline(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isScalarOp(op) || variables.contains(value))
    return false;
  if (isa<arith::ConstantOp>(op))
    return true;
  if (auto get = dyn_cast<tile::GetOp>(op); get && mayChange(get))
    return false;
  if (isChosenFrom(op))
    return false;
  return value.hasOneUse() && value.user_begin()->getBlock() == op->getBlock();
}

Text KernelPrinter::memoryText(tile::LoadOp load) {
  std::string element = text(load.getPointer()) + "[" + text(load.getOffset()) + "]";
  Type storage = load.getPointer().getType().getElement();
  if (storage == load.getType())
    return {element};
  return {(isa<FloatType>(storage) ? "toF32" : typeText(load.getType())) + "(" + element + ")"};
}

// A column distance as a whole number: NVRTC does not fold the conversion of a constant.
static bool isWholeDistance(Operation *op) {
  auto conversion = dyn_cast<arith::FPToSIOp>(op);
  return conversion && conversion.getType().isInteger(32) &&
         conversion.getIn().getDefiningOp<tile::ColumnDistanceOp>();
}

Text KernelPrinter::expression(Value value) {
  if (auto found = variables.find(value); found != variables.end())
    return {found->second};
  Operation *op = value.getDefiningOp();
  if (!op || !isScalarOp(op)) {
    failed = true;
    emitError(value.getLoc(), "a value is used before it is printed");
    return {};
  }
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return memoryText(load);
  if (auto peek = dyn_cast<tile::PeekOp>(op))
    return {tileText(peek.getTile()) + ".element(" + text(peek.getRow()) + ", " +
            text(peek.getCol()) + ")"};
  if (auto get = dyn_cast<tile::GetOp>(op))
    return {elementText(get.getArray(), get.getIndices())};
  if (isa<tile::PointOp>(op))
    return {"launchPoint()"};
  if (isa<tile::ThreadOp>(op))
    return {"threadIndex()"};
  if (isa<tile::BlockOp>(op))
    return {"blockIndex()"};
  if (auto warp = dyn_cast<tile::WarpOp>(op))
    return {warp.getUniform() ? "uniformWarpIndex()" : "warpIndex()"};
  if (isa<tile::GridSizeOp>(op))
    return {"gridSize()"};
  if (isa<tile::ClusterRankOp>(op))
    return {"clusterRank()"};
  if (auto number = dyn_cast<tile::SlotNumberOp>(op))
    return {"inSlot<" + std::to_string(number.getSlot()) + ">(" + text(number.getRound()) + ")"};
  if (auto group = dyn_cast<tile::GroupOp>(op))
    return groupText(group);
  if (isa<tile::FirstColumnOp, tile::ColumnDistanceOp>(op) || isWholeDistance(op))
    return laneColumnText(*op);
  if (isa<tile::FirstBitOp, tile::WithoutFirstBitOp, tile::HasBitOp>(op))
    return bitText(*op);
  SmallVector<Text> operands;
  for (Value operand : op->getOperands())
    operands.push_back(expression(operand));
  FailureOr<Text> text = scalarText(op, operands);
  failed |= mlir::failed(text);
  return mlir::failed(text) ? Text() : *text;
}

std::string KernelPrinter::declare(Value value, StringRef fallback) {
  return variables[value] = names.uniqueFor(value.getLoc(), fallback);
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void KernelPrinter::printBlock(Block &block) {
  for (Operation &op : block)
    printOp(op);
}

void KernelPrinter::printOp(Operation &op) {
  TypeSwitch<Operation *>(&op)
      .Case([&](scf::ForOp loop) { printFor(loop); })
      .Case([&](scf::WhileOp loop) { printWhile(loop); })
      .Case([&](scf::IfOp branch) { printIf(branch); })
      .Case([&](scf::YieldOp yield) { printYield(yield); })
      .Case([&](tile::StoreOp store) { printStore(store); })
      .Case([&](tile::CallOp call) { printCall(call); })
      .Default([&](Operation *other) {
        if (isScalarOp(other))
          return printScalar(*other);
        if (printTileOp(*other))
          return;
        failed = true;
        other->emitOpError("cannot be written in CUDA C++");
      });
}

void KernelPrinter::printScalar(Operation &op) {
  Value value = op.getResult(0);
  if (value.use_empty() || isa<arith::ConstantOp>(op) || variables.contains(value))
    return;
  if (laneRandoms.contains(&op))
    return printLaneRandom(cast<attn::RandOp>(op), mapElement);
  Text full = expression(value);
  bool worthName = !attn::specName(value.getLoc()).empty() && full.text.size() > kInlineWidth &&
                   !isa<scf::YieldOp, tile::YieldOp, tile::StoreOp>(*value.user_begin());
  if (isInline(value) && !worthName)
    return;
  comment(value.getLoc());
  std::string type = typeText(value.getType());
  StringRef fallback = isa<tile::GroupOp>(op) ? "group" : "x";
  line("const " + type + " " + declare(value, fallback) + " = " + full.text + ";");
}

void KernelPrinter::printCall(tile::CallOp call) {
  SmallVector<std::string> args;
  for (Value operand : call.getOperands())
    args.push_back(text(operand));
  line(listText(call.getCallee().str() + "(", args, std::string(2 * depth + 4, ' ')) + ");");
}

void KernelPrinter::printStore(tile::StoreOp store) {
  Type storage = store.getPointer().getType().getElement();
  std::string value = text(store.getValue());
  if (storage != store.getValue().getType())
    value = (isa<FloatType>(storage) ? "fromF32<" + typeText(storage) + ">"
                                     : "static_cast<" + typeText(storage) + ">") +
            "(" + value + ")";
  comment(store.getLoc());
  line(text(store.getPointer()) + "[" + text(store.getOffset()) + "] = " + value + ";");
}

//===----------------------------------------------------------------------===//
// Control flow: a value that a loop or branch carries is a variable
//===----------------------------------------------------------------------===//

void KernelPrinter::printFor(scf::ForOp loop) {
  comment(loop.getLoc());
  for (auto [arg, init, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getResults())) {
    std::string start = text(init);
    std::string name = declare(arg, "x");
    variables[result] = name;
    line(typeText(arg.getType()) + " " + name + " = " + start + ";");
  }
  Value index = loop.getInductionVar();
  std::string from = text(loop.getLowerBound()),
              to = expression(loop.getUpperBound()).within(Binding::Add);
  std::string name = declare(index, "t");
  std::string step = text(loop.getStep());
  std::string advance = step == "1" ? "++" + name : name + " += " + step;
  // Copies of the body would cost registers that a role does not have.
  if (!warpgroup.empty())
    line("#pragma unroll 1");
  else if (auto unroll = loop->getAttrOfType<IntegerAttr>(tile::kUnrollAttr))
    line("#pragma unroll" + (unroll.getInt() ? " " + std::to_string(unroll.getInt()) : ""));
  open("for (" + typeText(index.getType()) + " " + name + " = " + from + "; " + name + " < " + to +
       "; " + advance + ")");
  printBlock(*loop.getBody());
  close();
}

// A loop that is left at its top and whose condition is an expression of what it carries.
void KernelPrinter::printWhile(scf::WhileOp loop) {
  scf::ConditionOp condition = loop.getConditionOp();
  if (!llvm::equal(condition.getArgs(), loop.getBeforeArguments()) ||
      !llvm::all_of(loop.getBeforeBody()->without_terminator(),
                    [&](Operation &op) { return isScalarOp(&op) && isInline(op.getResult(0)); })) {
    failed = true;
    loop.emitOpError("decides by more than an expression of what it carries");
    return;
  }
  comment(loop.getLoc());
  for (auto [before, after, init, result] :
       llvm::zip(loop.getBeforeArguments(), loop.getAfterArguments(), loop.getInits(),
                 loop.getResults())) {
    std::string start = text(init);
    std::string name = declare(after, "x");
    variables[before] = name;
    variables[result] = name;
    line(typeText(after.getType()) + " " + name + " = " + start + ";");
  }
  if (!warpgroup.empty())
    line("#pragma unroll 1");
  open("while (" + text(condition.getCondition()) + ")");
  printBlock(*loop.getAfterBody());
  close();
}

void KernelPrinter::printIf(scf::IfOp op) {
  std::string condition = text(op.getCondition());
  for (Value result : op.getResults()) {
    std::string name = declare(result, "x");
    line(typeText(result.getType()) + " " + name + ";");
  }
  bool hasElse =
      !op.getElseRegion().empty() && !op.getElseRegion().front().without_terminator().empty();
  bool onlyElse =
      hasElse && op.getNumResults() == 0 && op.getThenRegion().front().without_terminator().empty();
  open(onlyElse ? "if (!(" + condition + "))" : "if (" + condition + ")");
  if (!onlyElse) {
    printBlock(op.getThenRegion().front());
    if (hasElse || op.getNumResults()) {
      reopen("else");
    }
  }
  if (hasElse || op.getNumResults())
    printBlock(op.getElseRegion().front());
  close();
}

// True if the text of `value` mentions the variable.
bool KernelPrinter::reads(Value value, StringRef variable) {
  if (auto found = variables.find(value); found != variables.end())
    return found->second == variable;
  Operation *op = value.getDefiningOp();
  return op && llvm::any_of(op->getOperands(), [&](Value v) { return reads(v, variable); });
}

// `x = x + y` is `x += y`.
void KernelPrinter::assign(StringRef variable, Value value) {
  Operation *op = value.getDefiningOp();
  if (op && isa<arith::AddFOp, arith::AddIOp>(op) && isInline(value) &&
      expression(op->getOperand(0)).text == variable)
    return line(variable + " += " + text(op->getOperand(1)) + ";");
  std::string right = text(value);
  if (right != variable)
    line(variable + " = " + right + ";");
}

void KernelPrinter::printYield(scf::YieldOp yield) {
  SmallVector<std::pair<std::string, Value>> list;
  // What a loop carries shares its variable with the loop's result.
  for (auto [i, value] : llvm::enumerate(yield.getOperands()))
    list.push_back({variables[yield->getParentOp()->getResult(i)], value});
  assignTogether(list);
}

// A variable that other values still read is written later; where values read each other's
// variables, one is computed into a variable of its own first.
void KernelPrinter::assignTogether(ArrayRef<std::pair<std::string, Value>> list) {
  struct Assignment {
    std::string variable;
    Value value;
    std::string saved; // where the value is already, if anywhere
  };
  SmallVector<Assignment> pending;
  for (const auto &[variable, value] : list)
    pending.push_back({variable, value, ""});
  auto isRead = [&](const Assignment &by, const Assignment &written) {
    return &by != &written && by.saved.empty() && reads(by.value, written.variable);
  };
  while (!pending.empty()) {
    auto next = llvm::find_if(pending, [&](const Assignment &written) {
      return llvm::none_of(pending, [&](const Assignment &by) { return isRead(by, written); });
    });
    if (next == pending.end()) {
      Assignment &reader = *llvm::find_if(pending, [](auto &x) { return x.saved.empty(); });
      reader.saved = names.uniqueFor(reader.value.getLoc(), "next");
      line("const " + typeText(reader.value.getType()) + " " + reader.saved + " = " +
           text(reader.value) + ";");
      continue;
    }
    comment(next->value.getLoc());
    if (next->saved.empty())
      assign(next->variable, next->value);
    else
      line(next->variable + " = " + next->saved + ";");
    pending.erase(next);
  }
}

} // namespace attnc::cuda
