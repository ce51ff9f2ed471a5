#include "compiler/schedule/choice/short_sequences.h"
#include "compiler/schedule/encode/encoded_operands.h"
#include "compiler/schedule/forms/keyed_form.h"
#include "compiler/schedule/model/schedule_ranking.h"
#include "compiler/schedule/nest/domain_slice.h"
#include "compiler/schedule/portable/lower_portable.h"
#include "compiler/schedule/slab/multipliers.h"
#include "compiler/schedule/slab/store_weights.h"
#include "compiler/schedule/slab/tile_weights.h"
#include <fmt/format.h>

namespace attnc::schedule {
namespace {

using Json = nlohmann::json;

// What portable kernels reach of the tensor cores' peak where nothing is skipped, at least
// (bench/results/portable-h100.json, backward-h100.json).
constexpr double kPortableShare = 0.25;

// Of a stream in one tile nothing is rescaled, and no tile waits for what the one before has begun:
// the model predicts less for it than it does. Measured of 64 f32 keys, D128: 0.84 of the time of
// two tiles (not recorded).
constexpr double kAsGoodWhole = 0.8;

// Where data decide which tiles matter, rows see a part of the stream, such as a document in
// a packed sequence, and not all as much: row tiles are drawn. Measured of four documents in 4096
// elements, D64: 0.22 ms in equal strides and 0.205 drawn with 3 groups and tiles of 48, 0.19 and
// 0.16 with 2 and 64 (not recorded).
constexpr ReferenceExtents kWhereDataDecide[] = {{1024, 1024, 256}};

// What a launch for one slab has, at lengths of which some cells fit.
std::vector<ReferenceExtents> extentsInSlab(red::NestOp nest) {
  auto bytes = nest->getAttrOfType<mlir::IntegerAttr>(kSlabAttr);
  if (!bytes)
    return {};
  constexpr int64_t kBytesOfPair = 4; // two weights
  std::vector<ReferenceExtents> all;
  for (int64_t length : {2048, 4096})
    all.push_back(
        {length, length, std::max<int64_t>(1, bytes.getInt() / (kBytesOfPair * length * length))});
  return all;
}

// One group with nothing beside it to do while it waits. Predictions of such are too good, too.
bool isAlone(const RankedSchedule &ranked) {
  return ranked.step.limit().clocks <= ranked.step.chain &&
         ranked.step.tensorShare < kPortableShare;
}

// True if the schedule has what `values` asks for, apart from what follows from the rest
// (registers, whether results fit in shared memory) and what the ranking does not vary.
bool agrees(WarpgroupSchedule schedule, const Json &values) {
  for (const tile::ScheduleKey &key : schedule.keys()) {
    llvm::StringRef name = key.name;
    auto asked = values.find(name.str());
    if (asked == values.end() || name.ends_with("_registers") || name == "bulk_stores" ||
        name == "row_stages" || name == "pack" || name == "rescale_threshold" ||
        name == "resident_inputs")
      continue;
    if (auto *const *integer = std::get_if<int64_t *>(&key.value); integer && *asked != **integer)
      return false;
    if (auto *const *flag = std::get_if<bool *>(&key.value); flag && *asked != **flag)
      return false;
  }
  return true;
}

// True if `values` name all that the schedule says of itself: nothing is left to choose.
bool saysAll(red::Schedule schedule, const Json &values) {
  return llvm::all_of(schedule.getKeys(), [&](const red::ScheduleValue &key) {
    return values.contains(key.key.str());
  });
}

class WarpgroupsForm : public KeyedForm<WarpgroupSchedule> {
public:
  bool hasTiles() const override { return true; }

  std::vector<Candidate> candidates(PlannedNest &nest, const GpuModel &machine,
                                    std::string &why) const override {
    return attributes(nest, ranking(nest, machine, why));
  }

  red::Schedule choose(PlannedNest &nest, const GpuModel &machine,
                       std::string &why) const override {
    if (why = lackOf(nest, machine); why.empty()) {
      if (why = whyVainlyEncoded(nest.op(), *nest.ofHalves()); !why.empty())
        return {};
      if (auto schedule = scheduleIfAlwaysShort(nest.op(), *nest.ofHalves(), machine))
        return attrOf(nest, *schedule);
    }
    std::vector<RankedSchedule> ranked = ranking(nest, machine, why);
    if (ranked.empty())
      return {};
    if (!isOfWarpgroupsOnly(nest.op()) && isAlone(ranked.front())) {
      why = fmt::format("the best schedule waits for one group at a time: {:.0f} % of the tensor "
                        "cores' peak by prediction",
                        100 * ranked.front().step.tensorShare);
      return {};
    }
    return attrOf(nest, withNextRows(nest, machine, withWholeStream(nest, ranked).schedule));
  }

  std::vector<Candidate> tuneSpace(PlannedNest &nest, const GpuModel &machine,
                                   size_t count) const override {
    std::string why;
    bool masked = nest.op().getDomainBlock() != nullptr; // else all row tiles take as long
    return attributes(nest, pickCandidates(ranking(nest, machine, why, masked), count));
  }

  // What the keys do not name: as in the best schedule that has what they do name. If none has, the
  // check says why.
  Result<red::Schedule> withKeys(PlannedNest &nest, const GpuModel &machine,
                                 const Json &keys) const override {
    WarpgroupSchedule schedule = defaultFor(nest);
    // The keys are checked before anything is made of them.
    if (Status status = setKeys(schedule.keys(), name(), keys); !status)
      return status.error();
    std::string why = lack(nest, machine);
    if (why.empty()) {
      if (!saysAll(attrOf(nest, schedule), keys))
        schedule = completed(nest, machine, keys);
      why = checkSchedule(nest.op(), *nest.ofHalves(), schedule, machine);
    }
    if (!why.empty())
      return refusal(why);
    return attrOf(nest, schedule);
  }

  // The next of the ranking whose groups have more registers to spare, else a portable one.
  red::Schedule smaller(PlannedNest &nest, const GpuModel &machine) const override {
    auto spare = [&](const WarpgroupSchedule &schedule) {
      return schedule.consumerRegisters - consumerRegisters(*nest.ofHalves(), schedule);
    };
    WarpgroupSchedule now = scheduleOf(nest.op());
    int64_t spareNow = spare(now);
    std::string why;
    std::vector<RankedSchedule> ranked = ranking(nest, machine, why);
    auto position =
        llvm::find_if(ranked, [&](const RankedSchedule &each) { return each.schedule == now; });
    if (position == ranked.end())
      position = ranked.begin();
    for (; position != ranked.end(); ++position)
      if (spare(position->schedule) > spareNow)
        return attrOf(nest, position->schedule);
    return isOfWarpgroupsOnly(nest.op()) ? red::Schedule()
                                         : portableForm().choose(nest, machine, why);
  }

  llvm::FailureOr<tile::KernelOp> lower(PlannedNest &nest,
                                        mlir::OpBuilder &builder) const override {
    return lowerWarpgroupNest(nest, builder);
  }

  void report(PlannedNest &nest, const GpuModel &machine, ScheduleReport &into) const override {
    schedule::report(nest, scheduleOf(nest.op()), machine, into);
  }

  llvm::StringRef source() const override { return "cost model"; }

protected:
  std::string checkFor(PlannedNest &nest, const WarpgroupSchedule &schedule,
                       const GpuModel &machine) const override {
    std::string why = lack(nest, machine);
    return why.empty() ? checkSchedule(nest.op(), *nest.ofHalves(), schedule, machine) : why;
  }

  std::string shortOf(const WarpgroupSchedule &s) const override {
    return fmt::format("{} groups, stream_tile {}, {} stages{}{}", s.groups, s.streamTile, s.stages,
                       s.cluster         ? ", seesaw of a cluster"
                       : s.seesaw        ? ", seesaw"
                       : s.stagedWeights ? ", staged weights"
                       : s.pingPong      ? ", ping-pong"
                                         : "",
                       s.dynamicScheduler ? ", dynamic scheduler"
                       : s.persistent     ? ", persistent"
                                          : "");
  }

private:
  // What stands for keys that nobody says where no candidate has those that somebody does.
  static WarpgroupSchedule defaultFor(PlannedNest &nest) {
    WarpgroupSchedule schedule;
    if (!nest.ofHalves())
      return schedule;
    bool storesPairs = !nest.ofHalves()->pairs.empty();
    schedule.bulkStores = storesPairs;
    schedule.adderRegisters = adderRegisters(*nest.ofHalves());
    schedule.stagedWeights = schedule.adderRegisters != 0;
    schedule.persistent = !schedule.stagedWeights;
    schedule.pingPong =
        !storesPairs && !schedule.stagedWeights && !multipliesTiles(*nest.ofHalves());
    return schedule;
  }

  // What the machine or the nest lacks, whatever the schedule, or "".
  static std::string lackOf(PlannedNest &nest, const GpuModel &machine) {
    std::string why;
    if (!nest.ofHalves())
      return nest.whyNoStream();
    if (!machine.warpgroups)
      return checkSchedule(nest.op(), *nest.ofHalves(), WarpgroupSchedule(), machine);
    return canUseWarpgroups(*nest.ofHalves(), why) ? "" : why;
  }

  // The same for who asks for the form.
  static std::string lack(PlannedNest &nest, const GpuModel &machine) {
    std::string why = lackOf(nest, machine);
    bool isOfNest = !nest.ofHalves() || machine.warpgroups;
    return why.empty() || !isOfNest ? why
                                    : kernelName(nest.op()) + " cannot use warpgroups: " + why;
  }

  // True if data decide which tiles matter.
  static bool isUnequal(PlannedNest &nest) {
    mlir::Value live = liveCondition(nest.op());
    return live && readsTensors(nest.op(), live);
  }

  static std::vector<RankedSchedule> rankAll(PlannedNest &nest, const GpuModel &machine,
                                             bool dynamicScheduler,
                                             tile::Accuracy accuracy = tile::Accuracy::F32) {
    bool unequal = isUnequal(nest);
    std::vector<ReferenceExtents> inSlab = extentsInSlab(nest.op());
    llvm::ArrayRef<ReferenceExtents> references =
        unequal ? llvm::ArrayRef(kWhereDataDecide)
                : (inSlab.empty() ? referenceExtents() : llvm::ArrayRef(inSlab));
    return rankSchedules(nest.op(), *nest.ofHalves(), machine, dynamicScheduler || unequal,
                         references, accuracy);
  }

  static std::vector<RankedSchedule> ranking(PlannedNest &nest, const GpuModel &machine,
                                             std::string &why, bool dynamicScheduler = false) {
    why = lackOf(nest, machine);
    if (!why.empty())
      return {};
    std::vector<RankedSchedule> all = rankAll(nest, machine, dynamicScheduler);
    auto draws = [](const RankedSchedule &each) { return each.schedule.dynamicScheduler; };
    if (isUnequal(nest) && llvm::any_of(all, draws))
      llvm::erase_if(all, [&](const RankedSchedule &each) { return !draws(each); });
    auto together = decidedTogether(nest.op());
    auto knows = [&](const RankedSchedule &each) {
      return together && together->fills(each.schedule.rowTile(), each.schedule.streamTile);
    };
    if (llvm::any_of(all, knows))
      llvm::erase_if(all, [&](const RankedSchedule &each) { return !knows(each); });
    // Whoever asks of tiles waits for data, too, which the model does not know.
    if (isUnequal(nest) && !llvm::all_of(all, isAlone))
      llvm::erase_if(all, isAlone);
    if (all.empty())
      why = "no schedule fits the shared memory and the registers of a block";
    return all;
  }

  static std::vector<Candidate> attributes(PlannedNest &nest,
                                           const std::vector<RankedSchedule> &ranked) {
    std::vector<Candidate> all;
    for (const RankedSchedule &each : ranked)
      all.push_back({attrOf(nest, each.schedule), each.share, each.step.clocks});
    return all;
  }

  // The best, or the best that has all of a stream of known extent in one tile, if that is nearly
  // as good.
  static const RankedSchedule &withWholeStream(PlannedNest &nest,
                                               const std::vector<RankedSchedule> &ranked) {
    attn::DimAttr stream = attn::programOf(nest.op()).lookupDim(nest.ofHalves()->stream);
    auto isWhole = [&](const RankedSchedule &each) {
      return stream.isStatic() && each.schedule.streamTile >= stream.getExtent() &&
             each.share >= kAsGoodWhole * ranked.front().share;
    };
    auto whole = llvm::find_if(ranked, isWhole);
    return whole == ranked.end() ? ranked.front() : *whole;
  }

  // Who asks of tiles waits for data at the start of a row tile: its rows arrive while those before
  // are computed.
  static WarpgroupSchedule withNextRows(PlannedNest &nest, const GpuModel &machine,
                                        WarpgroupSchedule schedule) {
    if (!isUnequal(nest) || !schedule.persistent)
      return schedule;
    WarpgroupSchedule more = schedule;
    more.rowStages = 2;
    bool fits = checkSchedule(nest.op(), *nest.ofHalves(), more, machine).empty();
    return fits ? more : schedule;
  }

  WarpgroupSchedule completed(PlannedNest &nest, const GpuModel &machine, const Json &keys) const {
    const StreamPlan &plan = *nest.ofHalves();
    auto fitting = [&](const WarpgroupSchedule &schedule) {
      return checkSchedule(nest.op(), plan, schedule, machine).empty();
    };
    auto rowsAhead = [&](const WarpgroupSchedule &schedule) {
      return keys.contains("row_stages") ? schedule : withNextRows(nest, machine, schedule);
    };
    WarpgroupSchedule asked = defaultFor(nest);
    (void)setKeys(asked.keys(), name(), keys);
    std::vector<RankedSchedule> all =
        rankAll(nest, machine, asked.dynamicScheduler, asked.accuracy);
    if (isUnequal(nest)) { // those that draw come first
      std::vector<RankedSchedule> others;
      for (const RankedSchedule &each : std::exchange(all, {}))
        (each.schedule.dynamicScheduler ? all : others).push_back(each);
      llvm::append_range(all, others);
    }
    for (const RankedSchedule &ranked : all) {
      WarpgroupSchedule schedule = ranked.schedule;
      (void)setKeys(schedule.keys(), name(), keys);
      if (!agrees(ranked.schedule, keys))
        continue;
      if (fitting(schedule))
        return rowsAhead(schedule);
      // What the keys ask for may take the room of results on their way out.
      schedule.bulkStores &= keys.contains("bulk_stores");
      if (fitting(schedule))
        return rowsAhead(schedule);
    }
    WarpgroupSchedule schedule = asked;
    RegisterBudget budget = registerBudget(nest.op(), plan, schedule);
    schedule.producerRegisters = budget.load;
    schedule.consumerRegisters = budget.group;
    schedule.pingPong = schedule.groups > 1 && !schedule.seesaw && !schedule.stagedWeights;
    schedule.persistent = !schedule.seesaw && !schedule.adderRegisters;
    (void)setKeys(schedule.keys(), name(), keys);
    return schedule;
  }
};

} // namespace

const Form &warpgroupsForm() {
  static const WarpgroupsForm form;
  return form;
}

} // namespace attnc::schedule
