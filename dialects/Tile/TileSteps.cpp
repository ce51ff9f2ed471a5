// Verifiers of the ops of a row tile's work before it is divided among roles.
#include "dialects/Tile/RowPlace.h"
#include "dialects/Tile/Tile.h"

using namespace mlir;
using namespace attnc;
using namespace attnc::tile;

static bool hasArguments(Block *block, ArrayRef<unsigned> widths) {
  return llvm::equal(block->getArgumentTypes(), widths,
                     [](Type type, unsigned width) { return type.isInteger(width); });
}

// The role that copies: it asks which tiles there are, and alone knows the number of each.
static bool isCopying(StreamOp stream) {
  return stream->getParentOfType<RoleOp>() && !stream.getAsk().empty();
}

// Groups know their numbers: of their role, and before that in the work of a row tile.
static bool hasGroup(RowTilesOp rows) {
  auto role = rows->getParentOfType<RoleOp>();
  return !(role ? role.getBodyBlock() : rows.getBodyBlock())->getOps<GroupOp>().empty();
}

// What each group has of its own, a warp for each copies, and all of them do so for each tile of
// the stream, in its order.
static LogicalResult verifyOwn(RowTilesOp rows, StreamOp stream) {
  bool has = false;
  std::optional<uint64_t> slots;
  for (Operation &op : *stream.getBodyBlock()) {
    auto fetch = dyn_cast<FetchOp>(op);
    has |= isa<ExchangeOp>(op) || (fetch && fetch.getByGroup());
    if (!fetch || !fetch.getInRing())
      continue;
    if (slots.value_or(fetch.getStages()) != fetch.getStages())
      return fetch.emitOpError("is in a ring of ")
             << *slots << " slots, and has " << fetch.getStages() << " stages";
    slots = fetch.getStages();
  }
  if (has && (!hasGroup(rows) || rows.getCounter() || stream.isListed() || stream.getOwnFirst()))
    return rows.emitOpError(
        "has fetches by_group or exchanges, which need a tile.group and go with "
        "no counter, no list and no own range");
  return success();
}

static LogicalResult verifyGroups(RowTilesOp rows) {
  if (rows.getPingPong() && rows.getGroups() < 2)
    return rows.emitOpError("has one group that takes turns");
  StreamOp stream = *rows.getBodyBlock()->getOps<StreamOp>().begin();
  bool groupsAsk = stream.getEntryBits() > 1 && !isCopying(stream);
  if ((rows.getPingPong() || groupsAsk) && !hasGroup(rows))
    return rows.emitOpError("has groups that take turns or ask for tiles, and no tile.group");
  return verifyOwn(rows, stream);
}

LogicalResult RowTilesOp::verify() {
  if (!(*this)->getParentOfType<KernelOp>())
    return emitOpError("belongs to a kernel");
  if (!hasArguments(getBodyBlock(), {32, 32}))
    return emitOpError("has a block with the row tile's number and turn");
  if (getCounter() && !getPersistent())
    return emitOpError("draws row tiles for blocks that take one");
  if (getFirst() && (getCounter() || !getPersistent()))
    return emitOpError("gives each block row tiles of its own; blocks stay, and draw none");
  if (getPersistent() && (*this)->getParentOfType<KernelOp>().getCluster().value_or(1) != 1)
    return emitOpError("is of a cluster, whose blocks take one row tile");
  if (getGroups() < 1 || getGroups() > 4)
    return emitOpError("has ") << getGroups() << " groups that compute; it can be 1 to 4";
  auto streams = getBodyBlock()->getOps<StreamOp>();
  if (streams.empty() || std::next(streams.begin()) != streams.end())
    return emitOpError("has one tile.stream, directly in its block");
  if (!llvm::hasSingleElement((*this)->getBlock()->getOps<RowTilesOp>()))
    return emitOpError("is not the only one");
  if ((*this)->getParentOfType<RoleOp>() && getCounter() && !getQueue())
    return emitOpError("draws row tiles in a role, without a queue to hand them on");
  return verifyGroups(*this);
}

// Scalars are computed for the steps that use them; what nobody can use would be lost.
static LogicalResult verifyBody(Block &body) {
  for (Operation &op : body)
    if (op.getNumResults() == 0 && !isa<StepOp, ReleaseOp>(op))
      return op.emitOpError("is done by no tile.step");
  return success();
}

// One word says that a tile matters to anybody and one that it is full, or each group has both.
static bool yieldsWords(Region &ask, uint64_t entryBits) {
  if (!ask.hasOneBlock() || ask.front().empty() || !hasArguments(&ask.front(), {32}))
    return false;
  auto yield = dyn_cast<YieldOp>(ask.front().back());
  return yield && yield.getValues().size() == std::max<uint64_t>(entryBits, 2) &&
         llvm::all_of(yield.getValues().getTypes(), [](Type type) { return type.isInteger(32); });
}

static LogicalResult verifyList(StreamOp stream) {
  uint64_t bits = stream.getEntryBits(), groups = stream->getParentOfType<RowTilesOp>().getGroups();
  if (bits > 1 && bits != 2 * groups)
    return stream.emitOpError("has ")
           << bits << " entry_bits for " << groups << " groups; it can be 0, 1 or " << 2 * groups;
  bool inRole = stream->getParentOfType<RoleOp>() != nullptr;
  if (inRole && stream.isListed() != !!stream.getBlockList())
    return stream.emitOpError("has a list of its tiles without a pipe for it, or the reverse");
  if (stream.getAsk().empty())
    return stream.isListed() && !inRole ? stream.emitOpError("lists tiles and asks for none")
                                        : success();
  if (!stream.isListed() || !yieldsWords(stream.getAsk(), bits))
    return stream.emitOpError("asks without entry_bits, not of the tiles from a number on, or not "
                              "for two words or as many as entry_bits");
  return stream.getOwnFirst() ? stream.emitOpError("has a list and own ranges") : success();
}

LogicalResult StreamOp::verify() {
  if (!isa<RowTilesOp>((*this)->getParentOp()))
    return emitOpError("belongs to the work of a row tile");
  SmallVector<unsigned> widths = {32, 32, 1, 1};
  if (isListed())
    widths.push_back(1);
  if (!hasArguments(getBodyBlock(), widths))
    return emitOpError("has a block with the tile's number, that in the pipes, whether it is the "
                       "first and the last, and of a list whether it is full");
  if (!getOwnFirst() != !getOwnEnd())
    return emitOpError("has one end of its own range without the other");
  auto rows = cast<RowTilesOp>((*this)->getParentOp());
  auto isBefore = [](FetchOp fetch) { return !fetch.getLate(); };
  if (getAny() && (isListed() || rows.getPersistent() ||
                   llvm::any_of(rows.getBodyBlock()->getOps<FetchOp>(), isBefore)))
    return emitOpError("may have no tile: that goes with one row tile, no list, and late fetches");
  return success(succeeded(verifyList(*this)) && succeeded(verifyBody(*getBodyBlock())));
}

// Whether scalars of the stream's body that `op` uses are computed from `value`.
static bool dependsOn(Operation *op, Value value, Block *body) {
  llvm::SetVector<Operation *> reached;
  reached.insert(op);
  for (size_t i = 0; i < reached.size(); ++i) {
    auto found = reached[i]->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (operand == value)
          return WalkResult::interrupt();
        if (Operation *from = operand.getDefiningOp();
            from && from->getBlock() == body && !isa<FetchOp, StepOp>(from))
          reached.insert(from);
      }
      return WalkResult::advance();
    });
    if (found.wasInterrupted())
      return true;
  }
  return false;
}

// What is done a tile late knows no more of its tile than its number, and of a list not that.
static LogicalResult verifyKnown(Operation *op, StreamOp stream, uint64_t stage) {
  Block *body = stream.getBodyBlock();
  bool copies = isa<FetchOp>(op) || isCopying(stream);
  if (stage > 0 && dependsOn(op, stream.getIsFirst(), body))
    return op->emitOpError("is of stage 1, where nobody knows whether the tile is the first");
  if (stage == 0 && dependsOn(op, stream.getIsLast(), body))
    return op->emitOpError("is of stage 0, where nobody knows whether the tile is the last");
  if (!stream.isListed())
    return success();
  if ((copies || stage > 0) && dependsOn(op, stream.getIsFull(), body))
    return op->emitOpError("depends on whether a tile is full, which only steps of stage 0 know");
  if (!copies && stage > 0 && dependsOn(op, stream.getTile(), body))
    return op->emitOpError("is of stage 1, where the number of a listed tile is no longer known");
  return success();
}

// Who computes releases what comes with a tile of the stream behind the last step that uses it.
static LogicalResult verifyUsed(FetchOp fetch) {
  llvm::SmallDenseSet<uint64_t> parts;
  for (Operation *user : fetch.getResult().getUsers())
    if (auto part = dyn_cast<PartOp>(user); part && !part.use_empty())
      parts.insert(part.getNumber());
  if (fetch.getParts() > 1 ? parts.size() != fetch.getParts() : fetch.use_empty())
    return fetch.emitOpError("brings a tile or a part that no step uses, so that none releases it");
  return success();
}

// Copied row by row, a tile comes as one part, by all threads of a role.
static LogicalResult verifyRows(FetchOp fetch) {
  if (fetch.isByRows() != isa<PtrType>(fetch.getTensor().getType()))
    return fetch.emitOpError("takes boxes of a tensor map, or with `rows` those of a pointer");
  if (!fetch.isByRows())
    return success();
  Block &rows = fetch.getRows().front();
  if (rows.getArgumentTypes() != TypeRange(fetch.getCoordinates()) || rows.getNumArguments() != 1)
    return fetch.emitOpError("has `rows` with one i32, counted from its one coordinate");
  if (failed(verifyRowPlace(fetch, rows, static_cast<int64_t>(fetch.getRun()), fetch.getType())))
    return failure();
  if (fetch.getParts() != 1 || fetch.getByGroup())
    return fetch.emitOpError("has `rows`, and comes in parts or by_group");
  return success();
}

// One tile stays, and steps read it.
static LogicalResult verifyOfRun(FetchOp fetch) {
  auto inStep = [](Operation *user) { return user->getParentOfType<StepOp>() != nullptr; };
  if (!cast<RowTilesOp>(fetch->getParentOp()).getRun() || fetch.getStages() != 1 ||
      !llvm::any_of(fetch->getUsers(), inStep))
    return fetch.emitOpError(
        "is of a run; it has one stage and users in steps, and row tiles are in "
        "runs");
  return success();
}

LogicalResult FetchOp::verify() {
  if (failed(verifyRows(*this)))
    return failure();
  auto stream = dyn_cast<StreamOp>((*this)->getParentOp());
  if (!(stream || isa<RowTilesOp>((*this)->getParentOp())) || (*this)->getParentOfType<RoleOp>())
    return emitOpError("belongs to the work of a row tile that has no role yet");
  if (getStage() > 1)
    return emitOpError("is of stage ") << getStage() << "; it can be 0 or 1";
  if (!getType().fitsBlock(static_cast<int64_t>(getStages())))
    return emitOpError("has ") << getStages() << " stages of " << getType()
                               << ", none or more than the " << kBlockBytes << " bytes of a block";
  if (getParts() < 1 || getParts() > 64)
    return emitOpError("has ") << getParts() << " parts; it can be 1 to 64";
  if (getParts() > 1 && getAlong() >= getCoordinates().size())
    return emitOpError("has no coordinate ") << getAlong() << " that its parts lie along";
  if (getInRing() && !(getByGroup() && (*this)->getParentOfType<StreamOp>()))
    return emitOpError("is in a ring, and not by_group for each tile of a stream");
  if (getParts() > 1)
    for (Operation *user : getResult().getUsers())
      if (!isa<PartOp>(user))
        return emitOpError("is fetched in parts and used whole");
  auto inSteps = [](Operation *user) { return user->getParentOfType<StepOp>() != nullptr; };
  bool behindStream = !stream && llvm::none_of(getResult().getUsers(), inSteps);
  if (!behindStream && !llvm::all_of(getResult().getUsers(), inSteps))
    return emitOpError("is used outside of steps");
  if (!stream && getOfRun() && failed(verifyOfRun(*this)))
    return failure();
  if (!stream)
    return getStage() == 0 && getParts() == 1
               ? success()
               : emitOpError("is for a row tile; it has no stage and no parts");
  if (getLate() || getOfRun())
    return emitOpError("is late or of a run, and not for a row tile");
  return success(succeeded(verifyUsed(*this)) && succeeded(verifyKnown(*this, stream, getStage())));
}

// The groups write it in one step, and nobody else does.
LogicalResult HandOverOp::verify() {
  if (!isa<StreamOp>((*this)->getParentOp()) || (*this)->getParentOfType<RoleOp>())
    return emitOpError("belongs to a stream that has no role yet");
  if (getStages() < 1 || !getResult().getType().hasPanels() ||
      !getResult().getType().fitsBlock(static_cast<int64_t>(getStages())))
    return emitOpError("has ") << getStages() << " stages of " << getResult().getType()
                               << ": no tiles with panels that fit in a block";
  llvm::SmallPtrSet<Operation *, 2> writers;
  bool isRead = false;
  for (Operation *user : getResult().getUsers()) {
    auto step = user->getParentOfType<StepOp>();
    if (!step)
      return emitOpError("is used outside of steps");
    isRead |= step.getAdds();
    if (!step.getAdds())
      writers.insert(step);
  }
  if (writers.size() != 1 || !isRead)
    return emitOpError("is written by one step of the groups, and read by those that add");
  return success();
}

LogicalResult PartOp::verify() {
  auto fetch = getTile().getDefiningOp<FetchOp>();
  if (!fetch || fetch.getParts() == 1 || getNumber() >= fetch.getParts())
    return emitOpError("is not one of the parts of a tile.fetch");
  return success();
}

// The one op of this kind in the stream with the fragment; null if there is none or several.
template <class Op> static Op partnerOf(Operation *op, Value fragment) {
  Op partner;
  for (Operation *user : fragment.getUsers())
    if (auto other = dyn_cast<Op>(user); other && other->template getParentOfType<StreamOp>()) {
      if (partner)
        return {};
      partner = other;
    }
  return partner;
}

LogicalResult SendPartialOp::verify() {
  auto rows = (*this)->getParentOfType<RowTilesOp>();
  auto step = dyn_cast<StepOp>((*this)->getParentOp());
  if (!rows || !step || !step->getParentOfType<StreamOp>())
    return emitOpError("belongs to a tile.step of a stream");
  if (rows->getParentOfType<KernelOp>().getCluster().value_or(1) != 2)
    return emitOpError("needs a cluster of two blocks");
  if (!hasGroup(rows))
    return emitOpError("needs a tile.group, whose barriers it takes");
  auto add = partnerOf<AddPartialOp>(*this, getFragment());
  auto other = add ? dyn_cast<StepOp>(add->getParentOp()) : StepOp();
  if (!other || other.getStage() != step.getStage() || !other.runsAfter(step) ||
      partnerOf<SendPartialOp>(*this, getFragment()) != *this)
    return emitOpError("needs one tile.add_partial of the fragment, in a later step of its stage");
  return success();
}

LogicalResult AddPartialOp::verify() {
  if (!partnerOf<SendPartialOp>(*this, getFragment()))
    return emitOpError("adds what no tile.send_partial has sent");
  return success();
}

// What a step yields is carried to others; registers of a tile are not.
static LogicalResult verifyHandedOn(StepOp step, StreamOp stream) {
  for (Operation *user : step->getUsers())
    if (auto other = user->getParentOfType<StepOp>(); !other || !other.runsAfter(step))
      return step.emitOpError("yields what is used outside of the steps that run after it");
  auto stepOf = [](Operation *op) { return op->getParentOfType<StepOp>(); };
  for (auto place : stream.getBodyBlock()->getOps<RegistersOp>())
    if (llvm::is_contained(llvm::map_range(place->getUsers(), stepOf), step))
      for (Operation *user : place->getUsers())
        if (StepOp other = stepOf(user); other && other.getStage() != step.getStage())
          return step.emitOpError("shares registers of a tile with a step of another stage");
  return success();
}

// The steps of a row tile are in its stream until the loop is there; who copies has some before it.
static LogicalResult verifyInStream(StepOp step, RowTilesOp rows) {
  auto stream = dyn_cast<StreamOp>(step->getParentOp());
  if (step->getParentOp() == rows && rows->getParentOfType<RoleOp>())
    return success();
  if (!stream)
    return step.emitOpError("is not directly in the tile.stream");
  if (step.getAdds() && (step.getStage() != 0 || rows.getAdderRegisters() == 0))
    return step.emitOpError("adds, and is of stage 1, or there are no adder_registers");
  if (step.getTurn() && !rows.getPingPong())
    return step.emitOpError("is done in turn by groups that take none");
  return success(succeeded(verifyKnown(step, stream, step.getStage())) &&
                 succeeded(verifyHandedOn(step, stream)));
}

bool StepOp::isBeforeInLoop(StepOp other) {
  return getOrder() != other.getOrder() ? getOrder() < other.getOrder()
                                        : (*this)->isBeforeInBlock(other);
}

bool StepOp::runsAfter(StepOp other) {
  return getStage() != other.getStage() ? getStage() > other.getStage()
                                        : other.isBeforeInLoop(*this);
}

int64_t StreamAheadOp::countParts() {
  int64_t parts = 0;
  for (StepOp step : getBodyBlock()->getOps<StepOp>())
    parts += static_cast<int64_t>(step.getParts().value_or(0));
  return parts;
}

// Each tile ahead is a copy of the region that starts it; numbers of parts are i32.
static constexpr int64_t kMostAhead = 63, kMostParts = 65536;

LogicalResult StreamAheadOp::verify() {
  if (!(*this)->getParentOfType<KernelOp>() || (*this)->getParentOfType<RoleOp>())
    return emitOpError("belongs to a kernel without roles");
  auto ahead = static_cast<int64_t>(getAhead());
  if (ahead < 1 || ahead > kMostAhead)
    return emitOpError("has copies that run ") << ahead << " ahead; it can be 1 to " << kMostAhead;
  SmallVector<unsigned> widths = {32, 32};
  if (isListed())
    widths.push_back(1);
  if (!hasArguments(getBodyBlock(), widths))
    return emitOpError("has a block with the tile's number, that among the copied ones, and, where "
                       "it asks, whether it is full");
  if (!hasArguments(&getCopies().front(), {32, 32, 32}))
    return emitOpError("has copies of a tile, a part of it, and the part's number");
  if (isListed() && !yieldsWords(getAsk(), 2))
    return emitOpError("asks of the 32 tiles from one on, for two words");
  WalkResult copies = getCopies().walk([](Operation *op) -> WalkResult {
    if (isa<StepOp, WaitOp, CommitOp, BarrierOp>(op))
      return op->emitOpError("is among the copies of a tile.stream_ahead, which are started only");
    return WalkResult::advance();
  });
  return failure(copies.wasInterrupted() || failed(verifyBody(*getBodyBlock())));
}

// With steps that are right each by itself.
LogicalResult StreamAheadOp::verifyRegions() {
  auto ahead = static_cast<int64_t>(getAhead());
  if (int64_t parts = countParts(); parts != 0 && ahead > parts)
    return emitOpError("has copies that run ") << ahead << " parts ahead, of tiles with " << parts;
  return success();
}

static LogicalResult verifyAhead(StepOp step) {
  if (step.getStage() != 0 || step.getOrder() != 0 || step.getPending() || step.getTurn() ||
      step->getNumResults() != 0)
    return step.emitOpError("of a tile.stream_ahead has no stage, order, pending, turn or results");
  if (!step.getParts())
    return hasArguments(step.getBodyBlock(), {})
               ? success()
               : step.emitOpError("without parts has a block without arguments");
  auto parts = static_cast<int64_t>(*step.getParts());
  if (parts < 1 || parts > kMostParts)
    return step.emitOpError("is done for ") << parts << " parts; it can be 1 to " << kMostParts;
  return hasArguments(step.getBodyBlock(), {32, 32})
             ? success()
             : step.emitOpError("in parts has a block with the part's numbers");
}

LogicalResult StepOp::verify() {
  if (getStage() > 1)
    return emitOpError("is of stage ") << getStage() << "; it can be 0 or 1";
  auto yield = dyn_cast<YieldOp>(getBodyBlock()->getTerminator());
  if (!yield || yield.getValues().getTypes() != getResultTypes())
    return emitOpError("yields one value for each of its results");
  if (static_cast<int64_t>(getPending().value_or(0)) < 0)
    return emitOpError("waits until less than no group is unfinished");
  if (isa<StreamAheadOp>((*this)->getParentOp()))
    return verifyAhead(*this);
  if (getParts())
    return emitOpError("is in parts outside of a tile.stream_ahead");
  if (auto rows = (*this)->getParentOfType<RowTilesOp>())
    return verifyInStream(*this, rows);
  if (!(*this)->getParentOfType<RoleOp>() || (*this)->getParentOfType<StepOp>())
    return emitOpError("belongs to a role or to the work of a row tile");
  return success();
}
