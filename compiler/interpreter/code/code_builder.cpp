#include "compiler/interpreter/code/code_builder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Error.h"

using namespace mlir;

namespace attnc::interpreter {

CodeBuilder::CodeBuilder(tile::KernelOp kernel) : kernel(kernel) {}

llvm::Expected<std::shared_ptr<const KernelCode>> CodeBuilder::build(StringRef text) {
  KernelCode &code = *result;
  code.kernel = kernel;
  code.text = text.str();
  code.threads = kernel.getThreads();
  code.cluster = kernel.getCluster().value_or(1);
  code.sharedBytes = kernel.getSmem();
  code.arguments = kernel.getBodyBlock()->getNumArguments();
  if (std::optional<uint64_t> flag = kernel.getOnlyIf())
    code.onlyIf = static_cast<unsigned>(*flag);
  for (BlockArgument argument : kernel.getBodyBlock()->getArguments())
    word(argument);
  for (unsigned *special :
       {&code.block, &code.warp, &code.gridSize, &code.rank, &code.point, &code.thread})
    *special = newWord();
  kernel.walk([&](tile::PointOp) { code.perPoint = true; });
  kernel.walk([&](tile::ThreadOp) { code.perThread = true; });
  if (!code.perPoint && code.threads % 32 != 0)
    refuse(kernel, "has threads that are not whole warps");
  block(*kernel.getBodyBlock());
  emit(Instruction::Kind::End, kernel);
  if (!problem.empty())
    return llvm::createStringError(problem);
  return std::shared_ptr<const KernelCode>(result);
}

void CodeBuilder::refuse(Operation *op, const std::string &why) {
  if (problem.empty())
    problem = "the tile interpreter cannot run " + result->describe(op) + ": it " + why;
}

//===----------------------------------------------------------------------===//
// Words and places
//===----------------------------------------------------------------------===//

unsigned CodeBuilder::newWord() {
  result->words.push_back({});
  return result->words.size() - 1;
}

unsigned CodeBuilder::word(Value value) {
  auto [found, fresh] = words.try_emplace(value, 0);
  if (fresh)
    found->second = newWord();
  return found->second;
}

unsigned CodeBuilder::place(Value value) {
  auto [found, fresh] = places.try_emplace(value, result->places.size());
  if (!fresh)
    return found->second;
  result->places.push_back(
      TypeSwitch<Type, PlaceType>(value.getType())
          .Case([](tile::FragmentType t) -> PlaceType {
            return {PlaceType::Fragment, unsigned(t.getRows()), unsigned(t.getCols())};
          })
          .Case([](tile::RowsType t) -> PlaceType {
            return {PlaceType::Rows, unsigned(t.getRows()), 1};
          })
          .Case([](tile::ColumnsType t) -> PlaceType {
            return {PlaceType::Columns, 1, unsigned(t.getCols())};
          })
          .Case([](tile::OperandType t) -> PlaceType {
            return {PlaceType::Operand, unsigned(t.getRows()), unsigned(t.getDepth()),
                    tile::elementType(t.getElement()).dtype};
          }));
  return found->second;
}

unsigned CodeBuilder::array(TypedValue<tile::ArrayType> value) {
  auto [found, fresh] = arrays.try_emplace(value, 0);
  unsigned count = value.getType().getNumElements();
  if (fresh && value.getDefiningOp<tile::ArrayOp>().getShared()) {
    found->second = result->cells;
    result->cells += count;
  } else if (fresh) {
    found->second = result->words.size();
    result->words.resize(result->words.size() + 2 * count); // and whether they are written
  }
  return found->second;
}

unsigned CodeBuilder::operand(Value value, unsigned &first) {
  auto columns = value.getDefiningOp<tile::ColumnsOp>();
  if (!columns)
    return place(value);
  APInt offset;
  if (!matchPattern(columns.getFirst(), m_ConstantInt(&offset)))
    refuse(columns, "names registers by a number that is not constant");
  unsigned registers = operand(columns.getTile(), first);
  first += offset.getZExtValue();
  return registers;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Instruction &CodeBuilder::emit(Instruction::Kind kind, Operation *op) {
  Instruction &instruction = result->instructions.emplace_back();
  instruction.kind = kind;
  instruction.op = op;
  return instruction;
}

void CodeBuilder::step(Operation *op, bool visible, Step step) {
  Instruction &instruction = emit(Instruction::Kind::Step, op);
  instruction.visible = visible;
  instruction.target = result->steps.size();
  result->steps.push_back(std::move(step));
}

unsigned CodeBuilder::piece(Block &body) {
  std::vector<Instruction> &code = result->instructions;
  unsigned jump = code.size();
  emit(Instruction::Kind::Jump, body.getParentOp());
  unsigned start = code.size();
  block(body);
  for (unsigned i = start; i < code.size(); ++i)
    if (code[i].kind == Instruction::Kind::Step || code[i].kind == Instruction::Kind::Store)
      refuse(code[i].op, "is not scalar code of one element");
  emit(Instruction::Kind::End, body.getParentOp());
  code[jump].target = code.size();
  return start;
}

void CodeBuilder::block(Block &block) {
  for (Operation &each : block)
    op(each);
}

void CodeBuilder::op(Operation &op) {
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op))
    return constant(op, constantOp.getValue());
  if (std::optional<Instruction> scalar = scalarInstruction(&op)) {
    unsigned *operands[] = {&scalar->a, &scalar->b, &scalar->c, &scalar->d, &scalar->e};
    for (auto [slot, operand] : llvm::zip(operands, op.getOperands()))
      *slot = word(operand);
    scalar->result = word(op.getResult(0));
    result->instructions.push_back(*scalar);
    return;
  }
  auto same = [&](unsigned special) { words[op.getResult(0)] = special; };
  TypeSwitch<Operation *>(&op)
      .Case([&](scf::ForOp op) { loop(op); })
      .Case([&](scf::WhileOp op) { loop(op); })
      .Case([&](scf::IfOp op) { branch(op); })
      .Case<scf::YieldOp, scf::ConditionOp, tile::YieldOp>([](auto) {})
      .Case<tile::LoadOp, tile::StoreOp>([&](auto) { memory(op); })
      .Case([&](tile::PeekOp op) { peek(op); })
      .Case([&](tile::BlockOp) { same(result->block); })
      .Case([&](tile::WarpOp) { same(result->warp); })
      .Case([&](tile::GridSizeOp) { same(result->gridSize); })
      .Case([&](tile::ClusterRankOp) { same(result->rank); })
      .Case([&](tile::PointOp) { same(result->point); })
      .Case([&](tile::ThreadOp) { same(result->thread); })
      .Case([&](tile::GroupOp op) { group(op); })
      .Case([&](tile::RoleOp op) {
        currentRole = op;
        onWarps(op, op.getFirst(), op.getCount(), *op.getBodyBlock());
        currentRole = {};
      })
      .Case([&](tile::SingleOp op) {
        single = true;
        if (op.getEachWarp())
          block(*op.getBodyBlock());
        else
          onWarps(op, currentRole ? currentRole.getFirst() : 0, 1, *op.getBodyBlock());
        single = false;
      })
      .Case<tile::FirstColumnOp, tile::ColumnDistanceOp>([](auto) {}) // their map sets them
      .Default([&](Operation *op) {
        if (result->perThread) {
          if (!addThreadStep(*this, *op))
            refuse(op, "does not know in a kernel of single threads");
          return;
        }
        if (!addRegisterStep(*this, *op) && !addSharedStep(*this, *op) &&
            !addAsyncStep(*this, *op) && !addProductStep(*this, *op) &&
            !addBarrierStep(*this, *op) && !addVectorStep(*this, *op) && !addBallotStep(*this, *op))
          refuse(op, "is unknown to it");
      });
}

void CodeBuilder::constant(Operation &op, TypedAttr value) {
  Word &into = result->words[word(op.getResult(0))];
  if (auto real = dyn_cast<FloatAttr>(value)) {
    if (real.getType().isF64())
      into.d = real.getValueAsDouble();
    else
      into.f = static_cast<float>(real.getValueAsDouble());
    return;
  }
  auto integer = cast<IntegerAttr>(value);
  into.i = integer.getType().isInteger(1) ? integer.getValue().getZExtValue()
                                          : integer.getValue().getSExtValue();
}

void CodeBuilder::memory(Operation &op) {
  auto load = dyn_cast<tile::LoadOp>(op);
  auto store = dyn_cast<tile::StoreOp>(op);
  Value pointer = load ? load.getPointer() : store.getPointer();
  Instruction &in = emit(load ? Instruction::Kind::Load : Instruction::Kind::Store, &op);
  in.storage = tile::elementType(cast<tile::PtrType>(pointer.getType()).getElement()).dtype;
  unsigned slots[] = {word(pointer), word(load ? load.getOffset() : store.getOffset()),
                      load ? 0 : word(store.getValue()), load ? word(load.getResult()) : 0};
  std::tie(in.a, in.b, in.c, in.result) = std::tuple(slots[0], slots[1], slots[2], slots[3]);
}

void CodeBuilder::peek(tile::PeekOp op) {
  unsigned slots[] = {word(op.getTile()), word(op.getRow()), word(op.getCol()),
                      word(op.getResult())};
  Instruction &in = emit(Instruction::Kind::Peek, op);
  in.target = result->layouts.size();
  std::tie(in.a, in.b, in.c, in.result) = std::tuple(slots[0], slots[1], slots[2], slots[3]);
  result->layouts.push_back(TileLayout(op.getTile().getType()));
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

static void copyWord(const Instruction &in, Word *words) { words[in.result] = words[in.a]; }

void CodeBuilder::move(Operation *op, unsigned from, unsigned to) {
  Instruction &in = emit(Instruction::Kind::Scalar, op);
  in.run = copyWord;
  in.a = from;
  in.result = to;
}

// Through words in between, because a value may be read after its word is written.
void CodeBuilder::assign(Operation *yield, ValueRange from, ArrayRef<unsigned> to) {
  SmallVector<unsigned> between;
  for (Value value : from) {
    between.push_back(from.size() == 1 ? word(value) : newWord());
    if (from.size() > 1)
      move(yield, word(value), between.back());
  }
  for (auto [source, target] : llvm::zip(between, to))
    move(yield, source, target);
}

static void less(const Instruction &in, Word *words) {
  words[in.result].i = words[in.a].i < words[in.b].i;
}
static void add(const Instruction &in, Word *words) {
  words[in.result].i = words[in.a].i + words[in.b].i;
}

void CodeBuilder::loop(scf::ForOp op) {
  std::vector<Instruction> &code = result->instructions;
  SmallVector<unsigned> carried;
  for (auto [arg, value] : llvm::zip(op.getRegionIterArgs(), op.getResults())) {
    carried.push_back(word(arg));
    words[value] = word(arg);
  }
  unsigned index = word(op.getInductionVar()), more = newWord();
  move(op, word(op.getLowerBound()), index);
  assign(op, op.getInitArgs(), carried);
  unsigned top = code.size();
  auto scalar = [&](Instruction::Run run, unsigned a, unsigned b, unsigned to) {
    Instruction &in = emit(Instruction::Kind::Scalar, op);
    in.run = run;
    std::tie(in.a, in.b, in.result) = std::tuple(a, b, to);
  };
  scalar(less, index, word(op.getUpperBound()), more);
  unsigned exit = code.size();
  emit(Instruction::Kind::JumpUnless, op).a = more;
  block(*op.getBody());
  assign(op.getBody()->getTerminator(), op.getYieldedValues(), carried);
  scalar(add, index, word(op.getStep()), index);
  emit(Instruction::Kind::Jump, op).target = top;
  code[exit].target = code.size();
}

void CodeBuilder::loop(scf::WhileOp op) {
  std::vector<Instruction> &code = result->instructions;
  scf::ConditionOp condition = op.getConditionOp();
  SmallVector<unsigned> carried, passed;
  for (Value before : op.getBeforeArguments())
    carried.push_back(word(before));
  for (auto [after, value] : llvm::zip(op.getAfterArguments(), op.getResults())) {
    passed.push_back(word(after));
    words[value] = word(after);
  }
  assign(op, op.getInits(), carried);
  unsigned top = code.size();
  block(*op.getBeforeBody());
  assign(condition, condition.getArgs(), passed);
  unsigned exit = code.size();
  emit(Instruction::Kind::JumpUnless, op).a = word(condition.getCondition());
  block(*op.getAfterBody());
  assign(op.getYieldOp(), op.getYieldOp().getOperands(), carried);
  emit(Instruction::Kind::Jump, op).target = top;
  code[exit].target = code.size();
}

void CodeBuilder::branch(scf::IfOp op) {
  std::vector<Instruction> &code = result->instructions;
  SmallVector<unsigned> results;
  for (Value value : op.getResults())
    results.push_back(word(value));
  auto side = [&](Region &region) {
    if (region.empty())
      return;
    block(region.front());
    assign(region.front().getTerminator(), region.front().getTerminator()->getOperands(), results);
  };
  unsigned test = code.size();
  emit(Instruction::Kind::JumpUnless, op).a = word(op.getCondition());
  side(op.getThenRegion());
  unsigned jump = code.size();
  emit(Instruction::Kind::Jump, op);
  code[test].target = code.size();
  side(op.getElseRegion());
  code[jump].target = code.size();
}

static void groupNumber(const Instruction &in, Word *words) {
  words[in.result].i = (words[in.a].i - in.predicate) / 4;
}

void CodeBuilder::group(tile::GroupOp op) {
  unsigned to = word(op.getResult());
  Instruction &in = emit(Instruction::Kind::Scalar, op);
  in.run = groupNumber;
  in.a = result->warp;
  in.predicate = currentRole.getFirst();
  in.result = to;
}

static void inRange(const Instruction &in, Word *words) {
  words[in.result].i = words[in.a].i >= in.predicate && words[in.a].i < in.predicate + in.b;
}

void CodeBuilder::onWarps(Operation *op, int64_t first, int64_t count, Block &body) {
  std::vector<Instruction> &code = result->instructions;
  unsigned here = newWord();
  Instruction &in = emit(Instruction::Kind::Scalar, op);
  in.run = inRange;
  in.a = result->warp;
  in.predicate = first;
  in.b = count; // not a word
  in.result = here;
  unsigned test = code.size();
  emit(Instruction::Kind::JumpUnless, op).a = here;
  block(body);
  code[test].target = code.size();
}

} // namespace attnc::interpreter
