// Verifiers of the asynchronous ops.
#include "dialects/Tile/Tile.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace attnc;
using namespace attnc::tile;

// PTX ISA, setmaxnreg: 24 to 256 in steps of 8.
LogicalResult RoleOp::verify() {
  auto kernel = dyn_cast<KernelOp>((*this)->getParentOp());
  if (!kernel)
    return emitOpError("belongs directly to a kernel");
  if (getFirst() % 4 || getCount() % 4 || getCount() < 4 ||
      32 * (getFirst() + getCount()) > kernel.getThreads())
    return emitOpError("has warps ")
           << getFirst() << " to " << getFirst() + getCount() << ": not warpgroups of the block";
  if (getRegisters() < 24 || getRegisters() > 256 || getRegisters() % 8)
    return emitOpError("has ") << getRegisters()
                               << " registers: not a multiple of 8 from 24 to 256";
  // The first role checks them all.
  uint64_t next = 0, registers = 0;
  for (RoleOp role : kernel.getBodyBlock()->getOps<RoleOp>()) {
    if (next == 0 && role != *this)
      return success();
    if (role.getFirst() != next)
      return role.emitOpError("starts at warp ") << role.getFirst() << ", not at " << next;
    next += role.getCount();
    registers += role.getCount() * 32 * role.getRegisters();
  }
  if (32 * next != kernel.getThreads())
    return emitOpError("and the other roles leave warps over");
  // What the launch gave to the block: roles wait for ever for what is not there.
  uint64_t share = std::min<uint64_t>(65536 / kernel.getThreads() / 8 * 8, 256);
  if (registers > share * kernel.getThreads())
    return emitOpError("and the other roles take ")
           << registers << " registers of " << kernel.getThreads() << " x " << share;
  return success();
}

LogicalResult GroupOp::verify() {
  bool isInRole = (*this)->getParentOfType<RoleOp>() || (*this)->getParentOfType<RowTilesOp>();
  return isInRole ? success() : emitOpError("belongs to a role");
}

// What a single thread starts would be started once by each. The loop of a tile.stream is not there
// yet: where its tiles are listed, one thread will do what the list asks for.
static LogicalResult verifySingle(Operation *op) {
  if (op->getParentOfType<SingleOp>() || op->getParentOfType<StreamOp>())
    return success();
  return op->emitOpError("belongs into a tile.single");
}

//===----------------------------------------------------------------------===//
// Pipes
//===----------------------------------------------------------------------===//

// What tile.put writes.
static bool isNumber(SharedType tile) {
  return !tile.hasPanels() && tile.getRows() == 1 && tile.getCols() == 1 &&
         tile.getElement().isInteger(32);
}

static int64_t slotBytes(PipeOp pipe) { return pipe.getType().getStride(); }
static int64_t ringBytes(PipeOp pipe) { return pipe.getType().getStages() * slotBytes(pipe); }

static bool overlap(int64_t first, int64_t firstBytes, int64_t second, int64_t secondBytes) {
  return first < second + secondBytes && second < first + firstBytes;
}

// Slots and barriers that tiles of two kinds can take turns in.
static bool isAlike(PipeOp x, PipeOp y) {
  return x.getType().getStages() == y.getType().getStages() && slotBytes(x) == slotBytes(y) &&
         x.getUsers() == y.getUsers() && x.getWriters() == y.getWriters();
}

// Tiles of two kinds in the same slots with the same barriers.
static bool isSamePipe(PipeOp x, PipeOp y) {
  return x.getOffset() == y.getOffset() && x.getBarriers() == y.getBarriers() && isAlike(x, y);
}

// Before pipes have their places.
static LogicalResult verifyRing(PipeOp pipe) {
  if (!pipe.getRing())
    return success();
  auto ring = pipe.getRing().getDefiningOp<PipeOp>();
  if (!ring || ring.getRing())
    return pipe.emitOpError("is in what is no tile.pipe, or in a pipe that is in one itself");
  if (!isAlike(pipe, ring) ||
      pipe.getType().getTile().hasPanels() != ring.getType().getTile().hasPanels())
    return pipe.emitOpError("is in a pipe of other slots, users or writers: ") << ring.getType();
  return success();
}

// Bytes that another pipe of the kernel uses, or that the block does not have.
static LogicalResult verifyMemory(PipeOp pipe, KernelOp kernel) {
  if (kernel.getSmem() == 0) // nothing has its place yet
    return success();
  int64_t offset = pipe.getOffset(), barriers = pipe.getBarriers();
  if (std::max(pipe.getOffset(), pipe.getBarriers()) > kernel.getSmem())
    return pipe.emitOpError("lies at ")
           << pipe.getOffset() << " with barriers at " << pipe.getBarriers() << " of "
           << kernel.getSmem() << " bytes";
  int64_t end = std::max(offset + ringBytes(pipe), barriers + pipe.barrierBytes());
  if (end > static_cast<int64_t>(kernel.getSmem()))
    return pipe.emitOpError("ends at ") << end << " of " << kernel.getSmem() << " bytes";
  if (overlap(offset, ringBytes(pipe), barriers, pipe.barrierBytes()))
    return pipe.emitOpError("has barriers inside its slots");
  for (PipeOp other : kernel.getBodyBlock()->getOps<PipeOp>()) {
    if (other == pipe)
      return success();
    int64_t otherOffset = other.getOffset(), otherBarriers = other.getBarriers();
    bool shares = overlap(offset, ringBytes(pipe), otherOffset, ringBytes(other)) ||
                  overlap(offset, ringBytes(pipe), otherBarriers, other.barrierBytes()) ||
                  overlap(barriers, pipe.barrierBytes(), otherOffset, ringBytes(other)) ||
                  overlap(barriers, pipe.barrierBytes(), otherBarriers, other.barrierBytes());
    if (shares && !isSamePipe(pipe, other))
      return pipe.emitOpError("overlaps the pipe at ") << otherOffset;
  }
  return success();
}

LogicalResult PipeType::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t stages,
                               SharedType tile, int64_t slotBytes) {
  if (!tile.fitsBlock(stages) || slotBytes < 0 || slotBytes > kBlockBytes / stages)
    return emitError() << "has " << stages << " slots for " << tile << ", none or more than the "
                       << kBlockBytes << " bytes of a block";
  if (slotBytes &&
      (slotBytes < tile.getBytes() || slotBytes % (tile.hasPanels() ? kSwizzleBytes : 16)))
    return emitError() << "has slots of " << slotBytes << " bytes for tiles of " << tile.getBytes();
  return success();
}

LogicalResult PipeOp::verify() {
  auto kernel = dyn_cast<KernelOp>((*this)->getParentOp());
  if (!kernel)
    return emitOpError("belongs directly to a kernel");
  SharedType tile = getType().getTile();
  if (!tile.isVector() && !isNumber(tile) && !tile.hasWholePanels())
    return emitOpError("holds ") << tile << ", neither whole tiles with panels nor vectors";
  int64_t alignment = tile.hasPanels() ? kSwizzleBytes : 16;
  if (getOffset() % alignment || getBarriers() % 8)
    return emitOpError("lies at ") << getOffset() << " with barriers at " << getBarriers()
                                   << ": not multiples of " << alignment << " and 8";
  int64_t warps = kernel.getThreads() / 32;
  if (getUsers() < 1 || static_cast<int64_t>(getUsers()) > warps ||
      static_cast<int64_t>(getWriters()) > warps)
    return emitOpError("has ") << getUsers() << " users and " << getWriters() << " writers among "
                               << warps << " warps";
  if (getCopied() && (getWriters() == 0 || getRing() || !tile.hasPanels()))
    return emitOpError("is copied: by writers, into panels in slots of its own");
  return failed(verifyRing(*this)) ? failure() : verifyMemory(*this, kernel);
}

LogicalResult StartPipesOp::verify() {
  auto kernel = (*this)->getParentOfType<KernelOp>();
  SmallVector<PipeOp> started;
  for (Value value : getPipes()) {
    auto pipe = value.getDefiningOp<PipeOp>();
    if (!pipe)
      return emitOpError("starts what is not a tile.pipe");
    for (PipeOp other : started)
      if (kernel.getSmem() != 0 && isSamePipe(pipe, other))
        return emitOpError("starts the pipe at ") << pipe.getOffset() << " twice";
    started.push_back(pipe);
  }
  return success();
}

// PTX ISA, cuTensorMapEncodeTiled: up to five axes, up to 256 elements of each in a box.
// A fill writes whole panels; a store may take a strip of them.
static LogicalResult verifyBox(Operation *op, TensorMapType map, SharedType tile,
                               size_t coordinates, bool fills) {
  ArrayRef<int64_t> box = map.getBox();
  int64_t rows = 1;
  for (int64_t extent : box.drop_front()) {
    if (extent < 1 || extent > 256)
      return op->emitOpError("moves boxes of ") << map << "; an axis has 1 to 256 elements";
    rows *= extent;
  }
  if (box.size() < 2 || box.size() > 5 || !tile.hasPanels() ||
      map.getElement() != tile.getElement() ||
      box.front() != elementType(tile.getElement()).panelColumns() || rows != tile.getRows() ||
      (fills && tile.getPanelRows() != rows))
    return op->emitOpError("moves boxes of ") << map << ", not the panels of " << tile;
  if (coordinates + 1 != box.size() && coordinates != box.size())
    return op->emitOpError("has ")
           << coordinates << " coordinates for a box of rank " << box.size();
  return success();
}

// Only copies complete a slot that no warp writes.
static LogicalResult verifyWriters(Operation *op, Value place, bool warpsWrite) {
  auto pipe = place.getDefiningOp<PipeOp>();
  if (pipe && (pipe.getWriters() != 0) != warpsWrite)
    return op->emitOpError(warpsWrite ? "completes a tile that copies fill"
                                      : "copies into a pipe that warps write");
  return success();
}

LogicalResult FillOp::verify() {
  if (failed(verifySingle(*this)) || failed(verifyWriters(*this, getPipe(), false)))
    return failure();
  return verifyBox(*this, getMap().getType(), getPipe().getType().getTile(),
                   getCoordinates().size(), true);
}

LogicalResult FillRowOp::verify() {
  if (failed(verifySingle(*this)) || failed(verifyWriters(*this, getPipe(), false)))
    return failure();
  SharedType tile = getPipe().getType().getTile();
  if (!tile.isVector() || tile.getBytes() % 16 || !getPointer().getType().getElement().isF32())
    return emitOpError("copies ") << getPointer().getType() << " to " << tile
                                  << ": not f32 vectors of a multiple of 16 bytes";
  return success();
}

LogicalResult CompleteOp::verify() {
  auto pipe = getPipe().getDefiningOp<PipeOp>();
  if (auto role = (*this)->getParentOfType<RoleOp>();
      pipe && pipe.getCopied() && (!role || role.getCount() != pipe.getWriters()))
    return emitOpError("completes a copied tile, not in a role whose warps are its writers");
  return verifyWriters(*this, getPipe(), true);
}

static LogicalResult verifyNumber(Operation *op, Value place) {
  SharedType tile = cast<PipeType>(place.getType()).getTile();
  auto pipe = place.getDefiningOp<PipeOp>();
  if (!isNumber(tile) || (pipe && pipe.getWriters() != 1))
    return op->emitOpError("hands over a number through ")
           << place.getType() << ", not one i32 of one writer";
  return success();
}
LogicalResult PutOp::verify() {
  return failed(verifySingle(*this)) ? failure() : verifyNumber(*this, getPipe());
}
LogicalResult TakeOp::verify() {
  if ((*this)->getParentOfType<SingleOp>())
    return emitOpError("is for whole warps and stands in a tile.single");
  return verifyNumber(*this, getPipe());
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

LogicalResult SlotNumberOp::verify() {
  for (OpOperand &use : (*this)->getUses()) {
    Operation *user = use.getOwner();
    auto pipe = dyn_cast<PipeType>(user->getOperand(0).getType());
    // Not a coordinate of a fill, say.
    bool isNumber = isa<AcquireOp, FillOp, AwaitOp, ReleaseOp, CompleteOp, StageOp>(user) &&
                    use.getOperandNumber() == 1;
    if (!isNumber || !pipe || pipe.getStages() != static_cast<int64_t>(getStages()))
      return emitOpError("is the number of a tile of another pipe than one of ")
             << getStages() << " slots";
  }
  if (getSlot() >= getStages())
    return emitOpError("has slot ") << getSlot() << " of " << getStages();
  return success();
}

LogicalResult ChooseOp::verify() {
  if (getPlaces().empty() || !llvm::all_equal(getPlaces().getTypes()) ||
      getPlaces().front().getType() != getType())
    return emitOpError("chooses among places of one type, which is the result's");
  return success();
}

LogicalResult ColumnsOp::verify() {
  if (auto from = dyn_cast<SharedType>(getTile().getType())) {
    auto to = dyn_cast<SharedType>(getType());
    if (!to || !from.hasPanels() || to.getRows() != from.getRows() ||
        to.getPanelRows() != from.getPanelRows() || to.getElement() != from.getElement() ||
        to.getCols() > from.getCols())
      return emitOpError("takes ") << getType() << " from " << from << ": not some of its columns";
    return success();
  }
  auto from = cast<OperandType>(getTile().getType());
  auto to = dyn_cast<OperandType>(getType());
  if (!to || to.getRows() != from.getRows() || to.getElement() != from.getElement() ||
      to.getDepth() > from.getDepth() || to.getDepth() % elementType(to.getElement()).depth())
    return emitOpError("takes ") << getType() << " from " << from << ": not some of its columns";
  if (!matchPattern(getFirst(), m_Constant()))
    return emitOpError("takes columns of registers from one on that is not constant");
  return success();
}

LogicalResult ConvertOp::verify() {
  FragmentType from = getFragment().getType();
  OperandType to = getOperand().getType();
  if (from.getRows() != to.getRows() || from.getCols() != to.getDepth())
    return emitOpError("writes ") << from << " to " << to << ", not its rows and columns";
  if (!elementType(to.getElement()).warpProducts)
    return emitOpError("rounds f32 to ") << to.getElement();
  return success();
}

LogicalResult StoreOperandOp::verify() {
  OperandType from = getOperand().getType();
  SharedType to = getTile().getType();
  if (!to.hasPanels() || to.getRows() != 16 || from.getRows() != 16 ||
      to.getCols() != from.getDepth() || to.getElement() != from.getElement())
    return emitOpError("writes ") << from << " to " << to << ", not 16 rows of one element type";
  return success();
}

LogicalResult ScalePackedOp::verify() {
  if (auto tile = dyn_cast<SharedType>(getPlace().getType()))
    if (!tile.hasPanels() || tile.getRows() != 16)
      return emitOpError("scales ") << tile << ", not a warp's 16 rows with panels";
  if (auto operand = dyn_cast<OperandType>(getPlace().getType()))
    if (operand.getRows() != 16)
      return emitOpError("scales ") << operand << ", not 16 rows";
  return success();
}

static LogicalResult verifyVector(Operation *op, SharedType tile) {
  return tile.isVector() ? success()
                         : op->emitOpError("has ") << tile << " where a vector of f32 is";
}
LogicalResult ReadVectorOp::verify() { return verifyVector(*this, getTile().getType()); }
LogicalResult WriteVectorOp::verify() { return verifyVector(*this, getTile().getType()); }

//===----------------------------------------------------------------------===//
// Meeting places
//===----------------------------------------------------------------------===//

// PTX ISA, bar: 16 barriers, of which __syncthreads has the first; whole warps.
static LogicalResult verifyMeeting(Operation *op, Value barrier, int64_t threads) {
  if (IntegerAttr number; matchPattern(barrier, m_Constant(&number)))
    if (number.getInt() < 1 || number.getInt() > 15)
      return op->emitOpError("uses barrier ") << number.getInt() << " of 1 to 15";
  auto kernel = op->getParentOfType<KernelOp>();
  if (threads < 32 || threads % 32 || (kernel && threads > int64_t(kernel.getThreads())))
    return op->emitOpError("waits for ") << threads << " threads, not whole warps of the block";
  return success();
}

LogicalResult BarrierSyncOp::verify() {
  if (!getAny() != !getResult())
    return emitOpError("has a result exactly where it asks for one");
  return verifyMeeting(*this, getBarrier(), getThreads());
}
LogicalResult BarrierArriveOp::verify() { return verifyMeeting(*this, getBarrier(), getThreads()); }
LogicalResult LastBlockOp::verify() {
  if (!getPointer().getType().getElement().isInteger(32))
    return emitOpError("counts in ") << getPointer().getType() << ", not i32";
  return verifyMeeting(*this, getBarrier(), getThreads());
}
LogicalResult TicketOp::verify() {
  if (!getPointer().getType().getElement().isInteger(32))
    return emitOpError("counts in ") << getPointer().getType() << ", not i32";
  return verifySingle(*this);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult SendOp::verify() {
  if (getTile().getType() != getInto().getType())
    return emitOpError("copies ") << getTile().getType() << " to " << getInto().getType();
  return verifySingle(*this);
}

// Whether a fragment of each warp has room in the tile.
static LogicalResult verifyReceived(Operation *op, FragmentType fragment, SharedType tile) {
  auto kernel = op->getParentOfType<KernelOp>();
  auto role = op->getParentOfType<RoleOp>();
  auto warps = static_cast<int64_t>(role ? role.getCount() : kernel ? kernel.getThreads() / 32 : 1);
  if (tile.hasPanels() || !tile.getElement().isF32() || tile.getCols() != fragment.getCols() ||
      tile.getRows() != warps * fragment.getRows())
    return op->emitOpError("needs f32 without panels, ")
           << fragment.getRows() << " x " << fragment.getCols() << " for each of " << warps
           << " warps, not " << tile;
  return success();
}

LogicalResult SendFragmentOp::verify() {
  return verifyReceived(*this, getFragment().getType(), getInto().getType());
}

LogicalResult ReceiveFragmentOp::verify() {
  return verifyReceived(*this, getFragment().getType(), getFrom().getType());
}

LogicalResult StoreBoxOp::verify() {
  if (failed(verifySingle(*this)))
    return failure();
  if (getAdds() && !getTile().getType().getElement().isF32())
    return emitOpError("adds ") << getTile().getType() << ", not f32";
  return verifyBox(*this, getMap().getType(), getTile().getType(), getCoordinates().size(), false);
}

LogicalResult AddBulkOp::verify() {
  if (!getTile().getType().isVector() || !getPointer().getType().getElement().isF32())
    return emitOpError("adds ") << getTile().getType() << " to " << getPointer().getType()
                                << ": not a row of f32";
  return verifySingle(*this);
}

LogicalResult StoreLanesOp::verify() {
  FragmentType from = getFragment().getType();
  SharedType to = getTile().getType();
  if (!to.isVector() || from.getRows() != 16 || to.getCols() != 16 * from.getCols())
    return emitOpError("writes ") << from << " to " << to << ", not a row of as many f32";
  return success();
}

//===----------------------------------------------------------------------===//
// Asynchronous products
//===----------------------------------------------------------------------===//

// wgmma.wait_group takes 0 to 7.
LogicalResult MmaWaitOp::verify() {
  return getPending() <= 7 ? success()
                           : emitOpError("leaves ") << static_cast<int64_t>(getPending())
                                                    << " groups unfinished, not 0 to 7";
}

// PTX ISA, wgmma.mma_async: N is a multiple of 8 up to 256. An accumulator of more columns takes
// several of these, at most as many as fill a thread's registers.
LogicalResult MmaStartOp::verify() {
  FragmentType c = getC().getType();
  SharedType b = getB().getType();
  int64_t rows, depth;
  Type element;
  if (auto a = dyn_cast<SharedType>(getA().getType())) {
    if (!a.hasPanels())
      return emitOpError("reads ") << a << ", which has no panels";
    std::tie(rows, depth, element) = std::tuple(a.getRows() / 4, a.getCols(), a.getElement());
    if (getATransposed())
      std::tie(rows, depth) = std::pair(a.getCols() / 4, a.getRows());
  } else {
    if (getATransposed())
      return emitOpError("transposes registers");
    auto operand = cast<OperandType>(getA().getType());
    std::tie(rows, depth, element) =
        std::tuple(operand.getRows(), operand.getDepth(), operand.getElement());
  }
  const ElementType &type = elementType(element);
  if (!b.hasPanels() || b.getElement() != element || !type.warpgroupProducts)
    return emitOpError("multiplies ") << element << " by " << b << ": not f16 or bf16 in panels";
  int64_t bDepth = getTransposed() ? b.getCols() : b.getRows();
  int64_t bCols = getTransposed() ? b.getRows() : b.getCols();
  int64_t mostCols = getTransposed() ? 256 : 512;
  if (c.getRows() != 16 || rows != 16 || c.getCols() % 8 || c.getCols() > mostCols)
    return emitOpError("writes 4 x ")
           << c << "; wgmma writes 4 x 16 rows, 8 to " << mostCols << " columns by 8";
  if (bCols != c.getCols() || depth != bDepth)
    return emitOpError("multiplies ") << rows << "x" << depth << " by " << bDepth << "x" << bCols
                                      << " into " << c.getRows() << "x" << c.getCols();
  if ((!getTransposed() || getATransposed()) && depth % type.depth())
    return emitOpError("sums over ")
           << depth << " rows of a factor, not a multiple of " << type.depth();
  return success();
}
