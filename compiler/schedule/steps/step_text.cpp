#include "compiler/schedule/steps/step_text.h"
#include "dialects/Attn/SpecLocation.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;
using namespace attnc::tile;

namespace attnc::schedule {

static std::string nameOf(Value value) { return attn::specName(value.getLoc()).str(); }

static std::string shapeOf(SharedType type) {
  return fmt::format("{} x {}", type.getRows(), type.getCols());
}

/// What a tile, or some of its rows or columns, is: "k[2]" of a tile in parts, "the peer's
/// weights".
static std::string tileText(Value tile) {
  while (Operation *op = tile.getDefiningOp()) {
    if (auto part = dyn_cast<PartOp>(op))
      return fmt::format("{}[{}]", nameOf(part.getTile()), part.getNumber());
    if (auto exchange = dyn_cast<ExchangeOp>(op))
      return llvm::is_contained(exchange.getTheirs(), tile) ? "the other group's weights"
                                                            : "the weights to hand over";
    if (isa<HandOverOp>(op))
      return "the weights that are handed over";
    if (!isa<StripOp, ColumnsOp>(op))
      break;
    tile = op->getOperand(0);
  }
  return nameOf(tile);
}

/// Of a fetch: "k: 2 parts of 64 x 64, in the ring of each group, 3 slots".
static std::string fetchText(FetchOp fetch) {
  std::string text = fmt::format("{}: ", nameOf(fetch));
  if (fetch.getParts() > 1)
    text += fmt::format("{} parts of ", fetch.getParts());
  text += shapeOf(fetch.getType());
  text += fetch.getInRing()    ? ", in the ring of each group"
          : fetch.getByGroup() ? ", for each group"
                               : "";
  if (fetch.getOfRun())
    return text + ", for each run of tiles of rows";
  if (!fetch->getParentOfType<StreamOp>())
    return text + ", for each tile of rows" +
           (fetch.getLate() ? ", behind the first tile of the stream" : "");
  return text + fmt::format(", {} slots", fetch.getStages());
}

/// A state that the spec gives no name is "sum".
static std::string stateText(Value state) {
  std::string name = nameOf(state);
  return name.empty() ? "sum" : name;
}

/// "scores = q k[0]'" for products that begin a sum, else "o += weights v".
static std::string productText(MmaStartOp product) {
  return fmt::format("{} {} {}{} {}{}", stateText(product.getC()),
                     product.getFresh() ? "=" : "+=", tileText(product.getA()),
                     product.getATransposed() ? "'" : "", tileText(product.getB()),
                     product.getTransposed() ? "'" : "");
}

static std::vector<std::string> partsOf(StepOp step) {
  std::vector<std::string> parts;
  step.walk([&](MmaStartOp product) { parts.push_back("starts " + productText(product)); });
  llvm::SmallSetVector<Value, 4> written, read;
  step.walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      auto exchange = operand.getDefiningOp<ExchangeOp>();
      if (exchange && !isa<MmaStartOp, ColumnsOp>(op))
        (llvm::is_contained(exchange.getMine(), operand) ? written : read).insert(operand);
    }
    if (auto tabulate = dyn_cast<TabulateOp>(op))
      parts.push_back(fmt::format("writes {}, {} values", nameOf(tabulate.getTile()),
                                  tabulate.getTile().getType().getCols()));
    if (auto store = dyn_cast<StoreOperandOp>(op))
      if (auto strip = store.getTile().getDefiningOp<StripOp>();
          strip && strip.getTile().getDefiningOp<HandOverOp>())
        parts.push_back("hands " + shapeOf(strip.getTile().getType()) + " to the group that adds");
    if (auto store = dyn_cast<StoreBoxOp>(op); store && store.getAdds())
      parts.push_back("adds it to memory");
    if (auto send = dyn_cast<SendPartialOp>(op))
      parts.push_back("sends " + nameOf(send.getFragment()) + " to the other block");
    if (auto add = dyn_cast<AddPartialOp>(op))
      parts.push_back("adds what the other block sends of " + nameOf(add.getFragment()));
  });
  auto shapes = [](const auto &tiles) {
    return llvm::join(
        llvm::map_range(tiles,
                        [](Value tile) { return shapeOf(cast<SharedType>(tile.getType())); }),
        " and ");
  };
  if (!written.empty())
    parts.push_back("hands " + shapes(written) + " to the other group");
  if (!read.empty())
    parts.push_back("takes " + shapes(read) + " of the other group");
  if (step->getNumResults())
    parts.push_back("says whether references have moved");
  if (step.getTurn())
    parts.push_back("in turn");
  if (std::optional<uint64_t> pending = step.getPending())
    parts.push_back(
        *pending == 1 ? "goes on when 1 group of products is unfinished"
                      : fmt::format("goes on when {} groups of products are unfinished", *pending));
  return parts;
}

static std::string stepText(StepOp step) {
  std::vector<std::string> parts = partsOf(step);
  return step.getName().str() +
         (parts.empty() ? "" : ": " + fmt::format("{}", fmt::join(parts, "; ")));
}

//===----------------------------------------------------------------------===//
// Streams whose copies run ahead
//===----------------------------------------------------------------------===//

static Value placeOf(Value tile) {
  while (Operation *op = tile.getDefiningOp()) {
    if (!isa<StripOp, StageOp>(op))
      break;
    tile = op->getOperand(0);
  }
  return tile;
}

namespace {

/// What the lines call tiles and states of a kernel.
class AheadNames {
public:
  explicit AheadNames(KernelOp kernel) {
    kernel.walk([&](CopyOp copy) { copied[placeOf(copy.getTile())] = nameOf(copy.getPointer()); });
    kernel.walk(
        [&](CopyRowsOp copy) { copied[placeOf(copy.getTile())] = nameOf(copy.getPointer()); });
  }

  /// Of a tile in shared memory, by the tensor that is copied there, or of weights in registers.
  std::string operand(Value operand) const {
    if (operand.getDefiningOp<ToOperandOp>())
      return "weights";
    Value place = placeOf(operand);
    auto found = copied.find(place);
    return found == copied.end() ? nameOf(place) : found->second;
  }

  /// A second one of a name is "scores_2".
  std::string state(Value state) {
    auto [known, isNew] = states.try_emplace(state);
    if (isNew) {
      std::string name = stateText(state);
      int64_t number = ++uses[name];
      known->second = number == 1 ? name : fmt::format("{}_{}", name, number);
    }
    return known->second;
  }

private:
  llvm::DenseMap<Value, std::string> copied, states;
  llvm::StringMap<int64_t> uses;
};

} // namespace

/// "scores: o += weights v", with how often it is done.
static std::string aheadText(StepOp step, AheadNames &names) {
  std::vector<std::string> parts;
  if (std::optional<uint64_t> times = step.getParts())
    parts.push_back(fmt::format("{} times, a part each", *times));
  step.walk([&](Operation *op) {
    if (auto tabulate = dyn_cast<TabulateOp>(op))
      parts.push_back("writes " + nameOf(placeOf(tabulate.getTile())));
    else if (auto product = dyn_cast<MmaOp>(op))
      parts.push_back(fmt::format("{} += {} {}{}", names.state(product.getC()),
                                  names.operand(product.getA()), names.operand(product.getB()),
                                  product.getTransposed() ? "'" : ""));
    else if (auto store = dyn_cast<StoreFragmentOp>(op))
      parts.push_back("hands " + nameOf(placeOf(store.getTile())) + " to the other warps");
  });
  return step.getName().str() +
         (parts.empty() ? "" : ": " + fmt::format("{}", fmt::join(parts, "; ")));
}

static void addAheadLines(KernelOp kernel, StreamAheadOp stream, std::vector<std::string> &lines) {
  AheadNames names(kernel);
  auto add = [&](const char *who, const std::string &what) {
    lines.push_back(fmt::format("{:8}  {}", who, what));
  };
  auto addCopies = [&](ArrayRef<CopyOp> copies, const std::string &when) {
    llvm::MapVector<std::pair<Value, Type>, int64_t> tiles;
    for (CopyOp copy : copies)
      tiles[{copy.getPointer(), copy.getTile().getType()}] += copy.getTiles();
    for (auto [what, count] : tiles)
      add("copies", fmt::format("{}: {}{}, {}", nameOf(what.first),
                                count > 1 ? fmt::format("{} tiles of ", count) : "",
                                shapeOf(cast<SharedType>(what.second)), when));
  };
  addCopies(llvm::to_vector(kernel.getBodyBlock()->getOps<CopyOp>()), "for each tile of rows");
  const char *unit = stream.countParts() ? "part" : "tile";
  std::string when =
      fmt::format("{} {}{} ahead", stream.getAhead(), unit, stream.getAhead() == 1 ? "" : "s");
  SmallVector<CopyOp> copies;
  stream.getCopies().walk([&](CopyOp copy) { copies.push_back(copy); });
  addCopies(copies, when);
  stream.getCopies().walk([&](CopyRowsOp copy) {
    add("copies", fmt::format("{}: {}, row by row, {}", nameOf(copy.getPointer()),
                              shapeOf(copy.getTile().getType()), when));
  });
  for (auto step : stream.getBodyBlock()->getOps<StepOp>())
    add("computes", aheadText(step, names));
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

template <class Op> static std::vector<Op> inOrder(Block &block) {
  auto ops = llvm::to_vector(block.getOps<Op>());
  llvm::sort(ops, [](Op x, Op y) {
    return x.getOrder() != y.getOrder() ? x.getOrder() < y.getOrder() : x->isBeforeInBlock(y);
  });
  return {ops.begin(), ops.end()};
}

std::vector<std::string> stepLines(KernelOp kernel) {
  std::vector<std::string> lines;
  for (auto stream : kernel.getBodyBlock()->getOps<StreamAheadOp>())
    addAheadLines(kernel, stream, lines);
  for (RowTilesOp rows : kernel.getBodyBlock()->getOps<RowTilesOp>()) {
    StreamOp stream = *rows.getBodyBlock()->getOps<StreamOp>().begin();
    auto add = [&](const char *who, uint64_t stage, const std::string &what) {
      lines.push_back(fmt::format("{:8}{} {}", who, stage ? "*" : " ", what));
    };
    for (FetchOp fetch : rows.getBodyBlock()->getOps<FetchOp>())
      add("copies", 0, fetchText(fetch));
    for (FetchOp fetch : inOrder<FetchOp>(*stream.getBodyBlock()))
      add("copies", fetch.getStage(), fetchText(fetch));
    bool isSkewed = false;
    for (StepOp step : inOrder<StepOp>(*stream.getBodyBlock())) {
      add(step.getAdds() ? "adds" : "computes", step.getStage(), stepText(step));
      isSkewed |= step.getStage() != 0;
    }
    if (isSkewed)
      lines.push_back("* of the tile before");
  }
  return lines;
}

} // namespace attnc::schedule
