#include "compiler/schedule/forms/keyed_form.h"
#include "compiler/schedule/threads/generic_points.h"
#include "compiler/schedule/threads/lower_generic.h"
#include "compiler/schedule/threads/lower_rows.h"
#include <fmt/format.h>

using namespace mlir;

namespace attnc::schedule {
namespace {

// Sums over dims of known extent, which tiles of other nests may compute as well, one term after
// the other: exp(s - m) is a weight of at most 1 only if all of them get the same bits for s.
bool mayBeSummedElsewhere(red::NestOp nest) {
  attn::ProgramOp program = attn::programOf(nest);
  return llvm::all_of(nest.getStream().getAsRange<StringAttr>(),
                      [&](StringAttr dim) { return program.lookupDim(dim).isStatic(); }) &&
         llvm::all_of(nest.states(), [](red::FoldOp state) {
           return state.getKind() == red::FoldKind::Add && !state.getExponent();
         });
}

class RowsForm : public KeyedForm<RowsSchedule> {
public:
  bool hasTiles() const override { return false; }

  std::vector<Candidate> candidates(PlannedNest &nest, const GpuModel &,
                                    std::string &why) const override {
    std::vector<Candidate> all;
    why = nest.whyNoRows();
    if (nest.rows() && chooseRows(nest.op(), *nest.rows(), why))
      for (const RowsSchedule &schedule : rowsCandidates(nest.op(), *nest.rows()))
        all.push_back({attrOf(nest, schedule)});
    return all;
  }

  red::Schedule choose(PlannedNest &nest, const GpuModel &machine,
                       std::string &why) const override {
    // A stream of parts is short: a thread for each element has less to wait for than a block.
    if (streamsSplits(nest.op())) {
      why = "it merges the elements of a few parts";
      return {};
    }
    if (mayBeSummedElsewhere(nest.op())) {
      why = "others may compute the same sums, term by term, and have to get "
            "the same bits";
      return {};
    }
    return Form::choose(nest, machine, why);
  }

  // In a smaller tile a thread computes fewer scalars together; fewer rows have fewer elements of
  // states a thread.
  red::Schedule smaller(PlannedNest &nest, const GpuModel &machine) const override {
    RowsSchedule schedule = scheduleOf(nest.op());
    auto [rows, columns] = scalarsTogether(*nest.rows(), schedule);
    (rows * columns > 1 ? schedule.streamTile : schedule.rows) /= 2;
    return checkFor(nest, schedule, machine).empty() ? attrOf(nest, schedule) : red::Schedule();
  }

  FailureOr<tile::KernelOp> lower(PlannedNest &nest, OpBuilder &builder) const override {
    return lowerRowsNest(nest, builder);
  }

  void report(PlannedNest &nest, const GpuModel &, ScheduleReport &into) const override {
    schedule::report(nest, scheduleOf(nest.op()), into);
  }

  StringRef source() const override { return "the states of a row and the threads for them"; }

protected:
  std::string checkFor(PlannedNest &nest, const RowsSchedule &schedule,
                       const GpuModel &) const override {
    if (!nest.rows())
      return kernelName(nest.op()) + " has no rows form: " + nest.whyNoRows();
    return checkRows(*nest.rows(), schedule);
  }

  RowsSchedule startFor(PlannedNest &nest, const GpuModel &) const override {
    std::string why;
    return nest.rows() ? chooseRows(nest.op(), *nest.rows(), why).value_or(RowsSchedule())
                       : RowsSchedule();
  }

  std::string shortOf(const RowsSchedule &s) const override {
    return fmt::format("{} rows, stream_tile {}, {} threads", s.rows, s.streamTile, s.threads);
  }
};

class GenericForm : public KeyedForm<tile::GenericSchedule> {
public:
  bool hasTiles() const override { return false; }

  std::vector<Candidate> candidates(PlannedNest &nest, const GpuModel &,
                                    std::string &) const override {
    return {{attrOf(nest, {})}};
  }

  // Nobody measures them: where other numbers of threads matter, the nest has another form.
  std::vector<Candidate> tuneSpace(PlannedNest &, const GpuModel &, size_t) const override {
    return {};
  }

  FailureOr<tile::KernelOp> lower(PlannedNest &nest, OpBuilder &builder) const override {
    return lowerGenericNest(nest, builder);
  }

  StringRef source() const override { return "no tiles to choose"; }

protected:
  std::string checkFor(PlannedNest &nest, const tile::GenericSchedule &schedule,
                       const GpuModel &) const override {
    if (std::string why = schedule.check(); !why.empty())
      return why;
    int64_t dims = pointDims(nest.op()).size();
    return schedule.cellDims <= dims
               ? ""
               : fmt::format("cell_dims is {}; the results have {} dims", schedule.cellDims, dims);
  }

  std::string shortOf(const tile::GenericSchedule &s) const override {
    return fmt::format("{} threads{}", s.threads,
                       s.cellDims ? fmt::format(", cell_dims {}", s.cellDims) : "");
  }
};

} // namespace

const Form &rowsForm() {
  static const RowsForm form;
  return form;
}

const Form &genericForm() {
  static const GenericForm form;
  return form;
}

} // namespace attnc::schedule
