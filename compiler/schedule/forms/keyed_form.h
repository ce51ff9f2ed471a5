// What all forms have in common, whatever their keys are.
#ifndef ATTNC_COMPILER_SCHEDULE_FORMS_KEYED_FORM_H
#define ATTNC_COMPILER_SCHEDULE_FORMS_KEYED_FORM_H

#include "compiler/schedule/choice/schedule_json.h"
#include "compiler/schedule/forms/form.h"
#include "compiler/schedule/nest/signature.h"

namespace attnc::schedule {

/// A form whose keys are those of the struct T (dialects/Tile/Schedules.h).
template <tile::ScheduleStruct T> class KeyedForm : public Form {
public:
  llvm::StringRef name() const override { return T::Attr::getMnemonic(); }
  std::vector<llvm::StringRef> keys() const override {
    T schedule;
    std::vector<llvm::StringRef> names;
    for (const tile::ScheduleKey &key : schedule.keys())
      names.push_back(key.name);
    return names;
  }
  Status checkKind(llvm::StringRef name, const nlohmann::json &value) const override {
    T schedule;
    for (const tile::ScheduleKey &key : schedule.keys())
      if (key.name == name)
        return setKey(key, value);
    return {};
  }
  std::string check(PlannedNest &nest, red::Schedule schedule,
                    const GpuModel &machine) const override {
    return checkFor(nest, mlir::cast<typename T::Attr>(schedule).getValue(), machine);
  }
  Result<red::Schedule> withKeys(PlannedNest &nest, const GpuModel &machine,
                                 const nlohmann::json &keys) const override {
    T schedule;
    if (Status status = setKeys(schedule.keys(), name(), keys); !status)
      return status.error();
    std::string why;
    if (auto now = tile::scheduleAs<T>(nest.op().getScheduleAttr()))
      schedule = *now;
    else
      schedule = startFor(nest, machine);
    (void)setKeys(schedule.keys(), name(), keys);
    if (why = checkFor(nest, schedule, machine); !why.empty())
      return refusal(why);
    return attrOf(nest, schedule);
  }
  std::string describe(const nlohmann::json &keys) const override {
    T schedule;
    (void)setKeys(schedule.keys(), name(), keys);
    return shortOf(schedule);
  }

protected:
  /// `check` of the values; also says what the nest lacks for the form.
  virtual std::string checkFor(PlannedNest &nest, const T &schedule,
                               const GpuModel &machine) const = 0;
  /// What keys that are not named become, of a nest that has another form.
  virtual T startFor(PlannedNest &, const GpuModel &) const { return {}; }
  virtual std::string shortOf(const T &schedule) const = 0;

  static red::Schedule attrOf(PlannedNest &nest, const T &schedule) {
    return T::Attr::get(nest.op().getContext(), schedule);
  }
  /// The nest's schedule, which is of the form.
  static T scheduleOf(red::NestOp nest) {
    return mlir::cast<typename T::Attr>(nest.getScheduleAttr()).getValue();
  }
};

/// Whether the nest streams the parts of another's stream (split.h), of which there are few.
bool streamsSplits(red::NestOp nest);

/// The forms, one of each; for forms().
const Form &warpgroupsForm();
const Form &portableForm();
const Form &rowsForm();
const Form &genericForm();

} // namespace attnc::schedule

#endif
