#include "dialects/Tile/Schedules.h"
#include "dialects/Tile/Tile.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace attnc::tile {

//===----------------------------------------------------------------------===//
// The forms
//===----------------------------------------------------------------------===//

// cuTensorMapEncodeTiled: extents of a box.
static constexpr int64_t kMostBoxRows = 256;
// PTX ISA, setmaxnreg.
static constexpr KeyRange kRegisters = {.least = 24, .most = 256, .multiple = 8};
// Far beyond what shared memory holds, and far from overflow.
static constexpr int64_t kMostTileRows = 4096;
static constexpr KeyRange kThreads = {.least = 32, .most = 1024, .multiple = 32};
static constexpr KeyRange kStages = {.least = 2, .most = 8};
static constexpr KeyRange kRescaleThreshold = {.most = static_cast<int64_t>(kMostRescaleThreshold)};

static constexpr KeyRange partOf(int64_t multiple) {
  return {.least = multiple, .multiple = multiple, .zero = "all"};
}

ScheduleKeys WarpgroupSchedule::keys() {
  return {{"groups", &groups, {.least = 1, .most = 4}},
          {"stream_tile", &streamTile, {.least = 16, .most = kMostBoxRows, .multiple = 16}},
          {"stages", &stages, kStages},
          {"row_stages", &rowStages},
          {"producer_registers", &producerRegisters, kRegisters},
          {"consumer_registers", &consumerRegisters, kRegisters},
          {"ping_pong", &pingPong},
          {"persistent", &persistent},
          {"dynamic_scheduler", &dynamicScheduler},
          {"copy_inputs", &copyInputs},
          {"bulk_stores", &bulkStores},
          {"pack", &pack, {.least = INT64_MIN}},
          {"rescale_threshold", &rescaleThreshold, kRescaleThreshold},
          {"head_dim_tile", &headDimTile, partOf(32), true},
          {"depth", &depth, partOf(64), true},
          {"depth_stages", &depthStages, {}, true},
          {"resident_inputs",
           &residentInputs,
           {.least = 64, .most = 512, .multiple = 64, .zero = "tiles that arrive with the stream"},
           true},
          {"seesaw", &seesaw, {}, true},
          {"cluster", &cluster, {}, true},
          {"staged_weights", &stagedWeights, {}, true},
          {"adder_registers",
           &adderRegisters,
           {.least = 24, .most = 256, .multiple = 8, .zero = "no group that adds"},
           true},
          {"accuracy", &accuracy, {}, true}};
}

ScheduleKeys PortableSchedule::keys() {
  return {{"row_tile", &rowTile, {.least = 1, .most = kMostTileRows}},
          {"stream_tile", &streamTile, {.least = 16, .most = kMostTileRows, .multiple = 16}},
          {"warps", &warps, {.least = 1, .most = 32}},
          {"stages", &stages, kStages},
          {"rescale_threshold", &rescaleThreshold, kRescaleThreshold},
          {"min_blocks", &minBlocks, {.least = 1, .most = 16}},
          {"head_dim_tile", &headDimTile, partOf(16), true},
          {"depth", &depth, partOf(16), true},
          {"column_warps", &columnWarps, {.least = 2, .most = 8, .zero = "none"}, true},
          {"column_groups", &columnGroups, {.least = 2, .most = 16, .zero = "none"}, true},
          {"copy_inputs", &copyInputs, {}, true},
          {"halves", &halves, {}, true}};
}

ScheduleKeys RowsSchedule::keys() {
  return {{"threads", &threads, kThreads},
          {"rows", &rows, {.least = 1, .most = 32}},
          {"stream_tile", &streamTile, {.least = 1, .most = 1024}}};
}

ScheduleKeys GenericSchedule::keys() {
  return {{"threads", &threads, kThreads},
          {"cell_dims",
           &cellDims,
           {.least = 1, .most = 16, .zero = "a block has as many elements as threads"},
           true}};
}

ScheduleKeys CpuSchedule::keys() {
  constexpr KeyRange tile = {.least = 1, .most = 1024, .zero = "the compiler's choice"};
  return {{"row_tile", &rowTile, tile, true}, {"stream_tile", &streamTile, tile, true}};
}

//===----------------------------------------------------------------------===//
// What values can be
//===----------------------------------------------------------------------===//

std::string ScheduleKey::check() const {
  const auto &[least, most, multiple, zero] = range;
  if (auto *const *real = std::get_if<double *>(&value))
    return **real >= double(least) && **real <= double(most)
               ? ""
               : llvm::formatv("{0} is {1}; it is {2} to {3}", name, **real, least, most).str();
  auto *const *integer = std::get_if<int64_t *>(&value);
  if (!integer)
    return "";
  int64_t number = **integer;
  if ((number >= least && number <= most && number % multiple == 0) ||
      (!zero.empty() && number == 0))
    return "";
  std::string text = llvm::formatv("{0} is {1}; it is ", name, number);
  if (multiple > 1)
    text += llvm::formatv("a multiple of {0}", multiple);
  if (least != multiple)
    text += (multiple > 1 ? " from " : "") + std::to_string(least);
  if (most != INT64_MAX)
    text +=
        (least == multiple ? multiple > 1 ? " up to " : "1 to " : " to ") + std::to_string(most);
  return zero.empty() ? text : text + ", or 0 for " + zero.str();
}

// The first key that is out of its range.
static std::string checkKeys(const ScheduleKeys &keys) {
  for (const ScheduleKey &key : keys)
    if (std::string why = key.check(); !why.empty())
      return why;
  return "";
}

std::string WarpgroupSchedule::check() const {
  std::string why = checkKeys(WarpgroupSchedule(*this).keys());
  return why.empty() ? conflict() : why;
}

// "a excludes b, c: ...", of those that are set, or "".
static std::string exclusion(StringRef key, ArrayRef<std::pair<StringRef, bool>> excluded) {
  SmallVector<StringRef> found;
  for (auto [name, isSet] : excluded)
    if (isSet)
      found.push_back(name);
  if (found.empty())
    return "";
  return key.str() + " excludes " + llvm::join(found, ", ") + ": leave out the one or the other";
}

std::string WarpgroupSchedule::conflict() const {
  if (seesaw)
    return seesawConflict();
  if (cluster)
    return "cluster needs seesaw";
  if (depth ? depthStages < 2 || depthStages > 16 : depthStages != 0)
    return llvm::formatv("depth_stages is {0}; it is 2 to 16 with a depth, and 0 without",
                         depthStages);
  if (rowStages < 1 || rowStages > 2 || (rowStages == 2 && !persistent))
    return llvm::formatv("row_stages is {0}; it is 1, or 2 where blocks are persistent", rowStages);
  const std::pair<StringRef, bool> notAdding[] = {{"persistent", persistent},
                                                  {"dynamic_scheduler", dynamicScheduler},
                                                  {"depth", depth != 0},
                                                  {"pack", pack != 1},
                                                  {"head_dim_tile", headDimTile != 0},
                                                  {"resident_inputs", residentInputs != 0}};
  if (adderRegisters)
    if (std::string why = exclusion("adder_registers", notAdding); !why.empty())
      return why;
  if (dynamicScheduler && !persistent)
    return "dynamic_scheduler needs persistent: a block of one row tile takes no further "
           "ones";
  if (pingPong && groups == 1)
    return "ping_pong needs 2 groups or more";
  const std::pair<StringRef, bool> notStaged[] = {{"ping_pong", pingPong}, {"depth", depth != 0}};
  if (stagedWeights)
    if (std::string why = exclusion("staged_weights", notStaged); !why.empty())
      return why;
  if (residentInputs)
    if (std::string why = residentConflict(); !why.empty())
      return why;
  // A warp's 16 rows, and a group's 64, are of one index or of all.
  int64_t rows = pack > 0 ? rowIndices() : 0;
  if (pack != 1 && (rows < 16 || rowTile() % pack || (rows % 64 && 64 % rows)))
    return llvm::formatv("pack is {0}; {1} rows can be shared by {2} indices", pack, rowTile(),
                         groups == 3   ? "3, 6 or 12"
                         : groups == 1 ? "2 or 4"
                         : groups == 2 ? "2, 4 or 8"
                                       : "2, 4, 8 or 16");
  return "";
}

// Blocks take row tiles that follow each other, of one cell each, and see all columns of these.
std::string WarpgroupSchedule::residentConflict() const {
  if (!persistent || !copyInputs)
    return llvm::formatv("resident_inputs needs {0}", persistent ? "copy_inputs" : "persistent");
  if (residentInputs % streamTile)
    return llvm::formatv("resident_inputs is {0}; it is a multiple of stream_tile, {1}",
                         residentInputs, streamTile);
  const std::pair<StringRef, bool> excluded[] = {{"dynamic_scheduler", dynamicScheduler},
                                                 {"pack", pack != 1},
                                                 {"head_dim_tile", headDimTile != 0}};
  return exclusion("resident_inputs", excluded);
}

std::string WarpgroupSchedule::seesawConflict() const {
  if (groups != 2)
    return llvm::formatv("groups is {0}; seesaw needs 2", groups);
  const std::pair<StringRef, bool> excluded[] = {{"ping_pong", pingPong},
                                                 {"persistent", persistent},
                                                 {"dynamic_scheduler", dynamicScheduler},
                                                 {"bulk_stores", bulkStores},
                                                 {"pack", pack != 1},
                                                 {"row_stages", rowStages != 1},
                                                 {"depth_stages", depthStages != 0},
                                                 {"resident_inputs", residentInputs != 0},
                                                 {"staged_weights", stagedWeights},
                                                 {"adder_registers", adderRegisters != 0}};
  if (std::string why = exclusion("seesaw", excluded); !why.empty())
    return why;
  if (headDimTile == 0)
    return "seesaw needs head_dim_tile, the columns of each group";
  return "";
}

std::string PortableSchedule::check() const {
  if (warps < 1 || warps > 32 || (warps & (warps - 1)))
    return llvm::formatv("warps is {0}; it can be 1, 2, 4, 8, 16 or 32", warps);
  if (std::string why = checkKeys(PortableSchedule(*this).keys()); !why.empty())
    return why;
  if (columnGroups && (columnWarps || depth))
    return llvm::formatv("column_groups excludes {0}: leave out the one or the other",
                         columnWarps ? "column_warps" : "depth");
  int64_t sharing = warpsOfRows();
  if (warps % sharing)
    return llvm::formatv("{0} is {1}, which does not divide the {2} warps",
                         columnGroups ? "column_groups" : "column_warps", sharing, warps);
  int64_t least = 16 * warps / sharing;
  if (rowTile % least)
    return llvm::formatv(
        "row_tile is {0}; with {1} warps{2} it is a multiple of {3} up to {4}", rowTile, warps,
        sharing > 1 ? llvm::formatv(" of which {0} share rows", sharing).str() : "", least,
        kMostTileRows);
  if (columnWarps && streamTile % (16 * columnWarps))
    return llvm::formatv("stream_tile is {0}; with column_warps {1} it is a multiple of {2}",
                         streamTile, columnWarps, 16 * columnWarps);
  // Parts of both operands take turns in the same slots.
  if (columnWarps && (headDimTile == 0 || depth != headDimTile))
    return llvm::formatv("depth is {0} and head_dim_tile {1}; with column_warps they are equal",
                         depth, headDimTile);
  return "";
}

std::string RowsSchedule::check() const { return checkKeys(RowsSchedule(*this).keys()); }
std::string GenericSchedule::check() const { return checkKeys(GenericSchedule(*this).keys()); }
std::string CpuSchedule::check() const { return checkKeys(CpuSchedule(*this).keys()); }

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

std::optional<Accuracy> accuracyOf(StringRef name) {
  const auto *found = llvm::find(kAccuracyNames, name);
  if (found == std::end(kAccuracyNames))
    return std::nullopt;
  return static_cast<Accuracy>(found - std::begin(kAccuracyNames));
}

std::vector<red::ScheduleValue> printedKeys(const ScheduleKeys &keys) {
  std::vector<red::ScheduleValue> printed;
  for (const ScheduleKey &key : keys)
    std::visit(
        [&](auto *value) {
          if (key.isElided && *value == std::remove_pointer_t<decltype(value)>())
            return;
          if constexpr (std::is_same_v<decltype(value), Accuracy *>)
            printed.push_back({key.name, StringRef(kAccuracyNames[static_cast<int>(*value)])});
          else
            printed.push_back({key.name, *value});
        },
        key.value);
  return printed;
}

// 3, and 2.5 as MLIR prints it.
static void print(AsmPrinter &printer, double value) {
  if (value == std::trunc(value) && std::abs(value) < 0x1p53)
    printer << static_cast<int64_t>(value);
  else
    printer << llvm::APFloat(value);
}

void printKeys(AsmPrinter &printer, const std::vector<red::ScheduleValue> &keys) {
  if (keys.empty())
    return;
  printer << "<";
  llvm::interleaveComma(keys, printer.getStream(), [&](const red::ScheduleValue &key) {
    printer << key.key << " = ";
    if (const auto *integer = std::get_if<int64_t>(&key.value))
      printer << *integer;
    else if (const auto *flag = std::get_if<bool>(&key.value))
      printer << (*flag ? "true" : "false");
    else if (const auto *word = std::get_if<StringRef>(&key.value))
      printer << *word;
    else
      print(printer, std::get<double>(key.value));
  });
  printer << ">";
}

static ParseResult parseValue(AsmParser &parser, const ScheduleKey &key) {
  if (auto *const *integer = std::get_if<int64_t *>(&key.value))
    return parser.parseInteger(**integer);
  if (auto *const *flag = std::get_if<bool *>(&key.value)) {
    StringRef word;
    if (parser.parseOptionalKeyword(&word, {"true", "false"}))
      return parser.emitError(parser.getCurrentLocation()) << key.name << " is true or false";
    **flag = word == "true";
    return success();
  }
  if (auto *const *accuracy = std::get_if<Accuracy *>(&key.value)) {
    StringRef word;
    if (parser.parseKeyword(&word))
      return failure();
    std::optional<Accuracy> named = accuracyOf(word);
    if (!named)
      return parser.emitError(parser.getCurrentLocation())
             << key.name << " is " << llvm::join(ArrayRef(kAccuracyNames), " or ");
    **accuracy = *named;
    return success();
  }
  double &real = *std::get<double *>(key.value);
  int64_t whole;
  if (OptionalParseResult parsed = parser.parseOptionalInteger(whole); parsed.has_value()) {
    real = static_cast<double>(whole);
    return *parsed;
  }
  return parser.parseFloat(real);
}

ParseResult parseKeys(AsmParser &parser, ScheduleKeys keys) {
  if (parser.parseOptionalLess())
    return success();
  return failure(parser.parseCommaSeparatedList([&]() -> ParseResult {
    SMLoc place = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name) || parser.parseEqual())
      return failure();
    ScheduleKey *key = llvm::find_if(keys, [&](const ScheduleKey &k) { return k.name == name; });
    if (key == keys.end()) // unknown, or named before
      return parser.emitError(place) << "has no key '" << name << "', or has it twice";
    if (parseValue(parser, *key))
      return failure();
    keys.erase(key);
    return success();
  }) || parser.parseGreater());
}

llvm::hash_code hashKeys(const ScheduleKeys &keys) {
  llvm::hash_code hash(0);
  for (const ScheduleKey &key : keys)
    std::visit(
        [&](auto *value) {
          if constexpr (std::is_same_v<decltype(value), double *>)
            hash = llvm::hash_combine(hash, llvm::bit_cast<uint64_t>(*value));
          else
            hash = llvm::hash_combine(hash, *value);
        },
        key.value);
  return hash;
}

} // namespace attnc::tile
