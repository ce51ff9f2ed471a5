#include "compiler/schedule/portable/portable_schedule.h"
#include "compiler/schedule/portable/stream_inputs.h"
#include "compiler/schedule/stream/tiled_plan.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace attnc::schedule {

tile::SharedType sharedTile(const OperandTile &operand, int64_t rows) {
  return tile::SharedType::get(operand.element.getContext(), rows, operand.cols, operand.element);
}

tile::SharedType pairTile(OpResult pair, const PortableSchedule &schedule) {
  return tile::SharedType::get(pair.getContext(), schedule.rowTile, schedule.streamTile,
                               tensorOf(pair).element);
}

static int64_t tileBytes(const OperandTile &operand, int64_t rows) {
  return sharedTile(operand, rows).getBytes();
}

// Where scores are sums of parts, copies are ahead of products by less than a tile (checkSchedule
// asks for that): what arrives once a tile then has one slot.
int64_t ringStages(const StreamPlan &plan, unsigned streamed, const PortableSchedule &schedule) {
  bool inParts = isScoreOperand(plan, streamed) && partsOf(plan.streamed[streamed]) > 1;
  return schedule.columnWarps || depthTiles(plan) == 1 || inParts ? schedule.stages : 1;
}

int64_t streamedRows(const StreamPlan &plan, unsigned streamed, const PortableSchedule &schedule) {
  return isScoreOperand(plan, streamed) ? schedule.streamTile : schedule.scoreColumns();
}

int64_t columnTiles(const StreamPlan &plan, unsigned streamed, const PortableSchedule &schedule) {
  return schedule.columnGroups && !isScoreOperand(plan, streamed) ? partsOf(plan.streamed[streamed])
                                                                  : 1;
}

int64_t tileParts(const StreamPlan &plan, const PortableSchedule &schedule) {
  return depthTiles(plan) + schedule.columnWarps;
}

// A result takes the place of the operands on its way out.
static int64_t resultBytes(red::NestOp nest, const StreamPlan &plan,
                           const PortableSchedule &schedule) {
  int64_t bytes = 0;
  for (const StreamState &state : plan.states)
    if (state.streamed != -1) {
      OperandTile out = plan.streamed[state.streamed];
      for (Value result : nest.getResults())
        if (cast<attn::ArrayType>(result.getType()).getDims().size() ==
            cast<attn::ArrayType>(red::FoldOp(state.fold).getType()).getDims().size()) {
          out.element = tensorOf(result).element;
          bytes = std::max(bytes, schedule.warpsOfRows() * tileBytes(out, schedule.rowTile));
        }
    }
  return bytes;
}

// Where warps share rows: slots that hold a part of either operand, weights, a vector of each warp.
static int64_t exchangeBytes(const StreamPlan &plan, const PortableSchedule &schedule) {
  const OperandTile &scores = plan.streamed[plan.contractions.front().streamed];
  OperandTile weights = scores;
  weights.cols = schedule.streamTile;
  return schedule.stages * tileBytes(scores, schedule.streamTile) +
         tileBytes(weights, schedule.rowTile) + schedule.columnWarps * schedule.rowTile * 4;
}

std::string checkColumnWarps(const StreamPlan &plan, const PortableSchedule &schedule) {
  if (schedule.columnWarps == 0)
    return "";
  // All warps hand over one weight of each score.
  auto products =
      llvm::count_if(plan.states, [](const StreamState &s) { return s.streamed != -1; });
  std::string lacks;
  if (plan.contractions.size() != 1 || plan.streamed.size() != 2 || products != 1 ||
      !plan.isOfTensorsOnly())
    lacks = "one product for the scores and one for the states, of tensors";
  else if (llvm::any_of(plan.streamed, [](const OperandTile &operand) {
             return tile::elementType(operand.element).bytes != 2;
           }))
    lacks = "operands of 16 bits";
  else if (plan.needs.moments || !plan.epilogue.empty())
    lacks = "states that do not need whole rows";
  if (!lacks.empty())
    return "column_warps is for nests with " + lacks + ": leave it out";
  unsigned scores = plan.contractions.front().streamed;
  const OperandTile &keys = plan.streamed[scores], &values = plan.streamed[1 - scores];
  int64_t fits =
      llvm::alignTo(llvm::divideCeil(values.wholeCols(), schedule.columnWarps), int64_t(16));
  if (headDimTiles(plan) > schedule.columnWarps)
    return llvm::formatv("head_dim_tile {0} makes {1} parts of the columns for {2} column_warps: "
                         "{3} fits",
                         schedule.headDimTile, headDimTiles(plan), schedule.columnWarps, fits);
  // Parts of both take turns in the same slots.
  int64_t most = std::min(keys.wholeCols(), values.wholeCols());
  if (std::min(keys.cols, values.cols) == schedule.depth)
    return "";
  return llvm::formatv(
             "column_warps needs scores and states over depth {0} or more, not over {1}: ",
             schedule.depth, most)
             .str() +
         (fits <= most ? llvm::formatv("head_dim_tile and depth {0} fit", fits).str()
                       : "leave it out");
}

std::string checkColumnGroups(const StreamPlan &plan, const PortableSchedule &schedule) {
  if (schedule.columnGroups && !plan.pairs.empty())
    return "column_groups is for columns of states; the nest stores values of pairs: leave it out";
  if (schedule.columnGroups == 0 || headDimTiles(plan) <= schedule.columnGroups)
    return "";
  int64_t columns =
      llvm::divideCeil(headDimTiles(plan) * schedule.headDimTile, schedule.columnGroups);
  return llvm::formatv("head_dim_tile {0} makes {1} parts of the columns for {2} column_groups: "
                       "{3} fits",
                       schedule.headDimTile, headDimTiles(plan), schedule.columnGroups,
                       llvm::alignTo(columns, 16));
}

int64_t sharedBytes(red::NestOp nest, const StreamPlan &whole, const PortableSchedule &schedule) {
  TiledPlan cut(whole, schedule.headDimTile, schedule.depth);
  const StreamPlan &plan = *cut;
  int64_t bytes = 0;
  llvm::SmallSetVector<Operation *, 2> resident;
  for (const Contraction &contraction : plan.contractions)
    if (resident.insert(contraction.resident.source))
      bytes += partsOf(contraction.resident) * tileBytes(contraction.resident, schedule.rowTile);
  if (schedule.columnWarps)
    return std::max(bytes + exchangeBytes(plan, schedule), resultBytes(nest, plan, schedule));
  for (auto [number, operand] : llvm::enumerate(plan.streamed))
    bytes +=
        (isCopied(plan, operand, schedule.columnWarps) ? ringStages(plan, number, schedule) : 1) *
        columnTiles(plan, number, schedule) * tileBytes(operand, schedule.streamTile);
  for (const StagedInput &input : stagedInputs(nest, plan, schedule))
    bytes += schedule.stages * input.type.getBytes();
  for (OpResult pair : plan.pairs)
    bytes += pairTile(pair, schedule).getBytes();
  return std::max(bytes, resultBytes(nest, plan, schedule));
}

int64_t scoreFragments(const StreamPlan &plan) {
  llvm::SmallSetVector<Value, 4> arrays;
  for (Reference r : plan.references)
    arrays.insert(r.fold.getFactors().front());
  for (StreamState s : plan.states)
    if (s.weight == -1)
      arrays.insert(s.fold.getFactors().front());
  size_t folds = plan.contractions.size() + plan.direct.size();
  size_t count = std::max(folds, arrays.size());
  bool sharedContraction = arrays.size() > folds && folds;
  llvm::SmallSet<int, 4> references;
  bool sharedScores = false;
  size_t plain = 0; // weights without exponents, which are there at a time
  for (const Weight &weight : plan.weights) {
    plain += weight.reference == -1;
    sharedScores |= weight.reference == -1 || !references.insert(weight.reference).second;
  }
  return std::max(count + sharedContraction + sharedScores, plain);
}

int64_t fragmentRegisters(const StreamPlan &whole, const PortableSchedule &schedule) {
  TiledPlan cut(whole, schedule.headDimTile, schedule.depth);
  const StreamPlan &plan = *cut;
  int64_t lanesRows = schedule.warpRows();
  int64_t columns = 0;
  for (const StreamState &state : plan.states)
    if (state.streamed != -1)
      columns += sharedTile(plan.streamed[state.streamed], 1).getWidth();
  columns += scoreFragments(plan) * schedule.scoreColumns();
  // A split operand is twice as large as the fragment that it is made of.
  if (!schedule.halves && llvm::any_of(plan.streamed, [](const OperandTile &o) {
        return tile::elementType(o.element).isSplit;
      }))
    columns += schedule.streamTile;
  return lanesRows * columns / 32;
}

// Registers of a thread that are not fragments, in the plainest nest with 32 rows a warp, and the
// row vectors and words among them.
static constexpr int64_t kPlainRegisters = 64, kWordsIncluded = 24;
// Of these, what only products of rows and stream need: two operands on the way to them.
static constexpr int64_t kScoreRegisters = 16;
// Elements under way of an operand of scores whose f32 elements are split on the way to the
// product.
static constexpr int64_t kSplitRegisters = 66;

int64_t otherRegisters(red::NestOp nest, const StreamPlan &whole,
                       const PortableSchedule &schedule) {
  TiledPlan cut(whole, schedule.headDimTile, schedule.depth);
  const StreamPlan &plan = *cut;
  const RegisterNeeds &needs = plan.needs;
  int64_t lanesRows = schedule.warpRows(), rows = lanesRows / 8;
  int64_t scores = lanesRows * schedule.scoreColumns() / 32, columns = schedule.scoreColumns() / 4;
  int64_t inputs = needs.inputs + plan.inputs.size();
  for (const StagedInput &input : stagedInputs(nest, plan, schedule))
    inputs -= input.rowAxis && !input.turned; // read where they are needed
  // Row vectors: reference, top and rescale of a maximum, sums, what is known of a row.
  // A moment has a centre, and the sum below it.
  int64_t vectors = 3 * plan.references.size() + needs.rows + 2 * needs.moments;
  int64_t accumulators = 0;
  for (const StreamState &state : plan.states)
    if (state.streamed == -1)
      ++vectors;
    else
      accumulators += lanesRows * plan.streamed[state.streamed].cols / 32;
  int64_t words = rows * (vectors + 2 * inputs) + needs.uniform;
  words += 2 * static_cast<int64_t>(needs.columns.size());
  // Elements of tensors are read for the whole tile, random numbers for the most of it. In a part,
  // elements of vectors along the stream lie beside the conditions for their columns.
  int64_t elements = scores * inputs + scores * 3 / 4 * needs.random + scores / 2 * needs.terms;
  for (const ColumnVector &column : needs.columns)
    elements += columns * column.words;
  if (needs.inParts && !needs.columns.empty())
    elements += columns * 3 / 4;
  if (needs.moments) // take the scores after weights have been made of them
    elements += scores;
  // What only may be live. A kernel of a whole stream that spills is compiled again; one of parts
  // is compiled when it is first used, and cannot be.
  int64_t perhaps = 0;
  if (needs.inParts && llvm::any_of(plan.contractions, [&](const Contraction &c) {
        const OperandTile &operand = plan.streamed[c.streamed];
        return tile::elementType(operand.element).isSplit && !operand.isComputed();
      }))
    perhaps += kSplitRegisters;
  if (needs.inParts)
    perhaps += needs.quotients * accumulators * 5 / 8;
  // The other operand of a state is split on its way, too.
  bool splits = !schedule.halves && llvm::any_of(plan.streamed, [](const OperandTile &operand) {
    return tile::elementType(operand.element).isSplit;
  });
  // Weights that go through shared memory are no operands in registers.
  bool fewer = schedule.columnWarps || (plan.contractions.empty() && !splits);
  int64_t plain = kPlainRegisters - (fewer ? kScoreRegisters : 0);
  return plain + std::max<int64_t>(0, words - kWordsIncluded + elements + perhaps);
}

} // namespace attnc::schedule
