#include "compiler/schedule/schedule_override.h"
#include "compiler/schedule/choose_schedule.h"
#include "compiler/schedule/rows_plan.h"
#include "compiler/schedule/schedule_ranking.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;

namespace attnc::schedule {

using Json = nlohmann::json;

static Status refuse(const std::string &text) { return invalidArgument("schedule: " + text); }

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

// The value as it is written; of a long one the beginning.
static std::string written(const Json &value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr size_t most = 60;
  if (text.size() <= most)
    return text;
  size_t end = most;
  while ((text[end] & 0xC0) == 0x80) // not in the middle of a character
    --end;
  return text.substr(0, end) + "...";
}

static Status refuseValue(const std::string &key, const Json &value, const std::string &kind) {
  return refuse(key + " is " + kind + ", not " + written(value));
}

static Status refuseForm(const Json &value) {
  return refuse("form is \"warpgroups\", \"stream\", \"rows\" or \"generic\", not " +
                written(value));
}

// Integers that int64_t cannot hold: some JSON parsers give them as unsigned, others as floats.
static bool isBeyond64Bits(const Json &value) {
  if (value.is_number_unsigned())
    return value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  return value.is_number_float() && std::abs(value.get<double>()) >= 0x1p63;
}

static Status setField(const std::string &key, const ScheduleField &field, const Json &value) {
  if (auto *const *integer = std::get_if<int64_t *>(&field)) {
    if (isBeyond64Bits(value))
      return refuse(key + " is an integer of 64 bits, and the number is larger");
    if (!value.is_number_integer())
      return refuseValue(key, value, "an integer");
    **integer = value.get<int64_t>();
  } else if (auto *const *flag = std::get_if<bool *>(&field)) {
    if (!value.is_boolean())
      return refuseValue(key, value, "true or false");
    **flag = value.get<bool>();
  } else {
    if (!value.is_number())
      return refuseValue(key, value, "a number");
    *std::get<double *>(field) = value.get<double>();
  }
  return {};
}

// Sets what `keys` names.
static Status setFields(const ScheduleFields &fields, StringRef form, const Json &keys) {
  for (const auto &item : keys.items()) {
    const std::string &key = item.key();
    if (key == "form")
      continue;
    auto known = llvm::find_if(fields, [&](auto &field) { return field.first == key; });
    if (known == fields.end()) {
      std::string names;
      for (const auto &field : fields)
        names += (names.empty() ? "" : ", ") + field.first.str();
      return refuse("unknown key '" + key + "'; the " + form.str() + " form has " + names);
    }
    if (Status status = setField(key, known->second, item.value()); !status)
      return status;
  }
  return {};
}

// The key is one of some form, and the value of its kind.
static Status checkKey(const std::string &key, const Json &value) {
  StreamSchedule stream;
  WarpgroupSchedule warpgroups;
  RowsSchedule rows;
  ScheduleFields all = stream.fields();
  llvm::append_range(all, warpgroups.fields());
  llvm::append_range(all, rows.fields());
  std::string names = "form";
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].first == key)
      return setField(key, all[i].second, value);
    auto before = ArrayRef(all).take_front(i);
    if (llvm::none_of(before, [&](const auto &field) { return field.first == all[i].first; }))
      names += ", " + all[i].first.str();
  }
  return refuse("unknown key '" + key + "'; the keys are " + names);
}

static bool isForm(const Json &value) {
  return value == "warpgroups" || value == "stream" || value == "rows" || value == "generic";
}

static Status checkKeys(const Json &keys) {
  for (const auto &item : keys.items()) {
    if (item.key() == "form") {
      if (!isForm(item.value()))
        return refuseForm(item.value());
    } else if (Status status = checkKey(item.key(), item.value()); !status) {
      return status;
    }
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

static Status overrideGeneric(red::NestOp nest, const Json &keys) {
  int64_t threads = 128;
  if (scheduleForm(nest) == "generic" && nest.getScheduleAttr())
    if (auto set = nest.getScheduleAttr().getAs<IntegerAttr>("threads"))
      threads = set.getInt();
  for (const auto &[key, value] : keys.items()) {
    if (key == "form")
      continue;
    if (key != "threads")
      return refuse("unknown key '" + key + "'; the generic form has threads");
    if (Status status = setField(key, &threads, value); !status)
      return status;
    if (threads < 32 || threads > 1024 || threads % 32)
      return refuse("threads is " + std::to_string(threads) +
                    "; it is a multiple of 32 up to 1024");
  }
  setGenericSchedule(nest, threads);
  return {};
}

static Status overrideRows(red::NestOp nest, const Json &keys) {
  std::string why;
  FailureOr<RowsPlan> plan = planRows(nest, why);
  if (failed(plan))
    return refuse(kernelName(nest) + " has no rows form: " + why);
  RowsSchedule schedule;
  if (scheduleForm(nest) == "rows")
    schedule = RowsSchedule::from(nest.getScheduleAttr());
  else if (std::optional<RowsSchedule> usual = chooseRows(nest, *plan, why))
    schedule = *usual;
  if (Status status = setFields(schedule.fields(), "rows", keys); !status)
    return status;
  if (why = checkRows(*plan, schedule); !why.empty())
    return refuse(why);
  nest.setScheduleAttr(schedule.toAttr(nest.getContext()));
  return {};
}

static Status overrideStream(red::NestOp nest, const StreamPlan &plan, const Machine &machine,
                             const Json &keys) {
  StreamSchedule schedule;
  if (scheduleForm(nest) == "stream")
    schedule = StreamSchedule::from(nest.getScheduleAttr());
  if (Status status = setFields(schedule.fields(), "stream", keys); !status)
    return status;
  if (std::string why = checkSchedule(nest, plan, schedule, machine); !why.empty())
    return refuse(why);
  nest.setScheduleAttr(schedule.toAttr(nest.getContext()));
  return {};
}

// True if the schedule has what `keys` asks for, apart from what follows from the rest (registers,
// whether results fit in shared memory) and what the ranking does not vary.
static bool agrees(WarpgroupSchedule schedule, const Json &keys) {
  for (const auto &[name, field] : schedule.fields()) {
    auto asked = keys.find(name.str());
    if (asked == keys.end() || name.ends_with("_registers") || name == "bulk_stores" ||
        name == "row_stages" || name == "pack" || name == "slack")
      continue;
    if (auto *const *integer = std::get_if<int64_t *>(&field); integer && *asked != **integer)
      return false;
    if (auto *const *flag = std::get_if<bool *>(&field); flag && *asked != **flag)
      return false;
  }
  return true;
}

// What the keys do not name: as in the best schedule that has what they do name. If none has, the
// check says why.
static WarpgroupSchedule completed(red::NestOp nest, const StreamPlan &plan, const Machine &machine,
                                   const Json &keys) {
  bool draws = keys.value("draws", false);
  for (const RankedSchedule &ranked : rankSchedules(nest, plan, machine, draws)) {
    WarpgroupSchedule schedule = ranked.schedule;
    (void)setFields(schedule.fields(), "warpgroups", keys);
    if (!agrees(ranked.schedule, keys))
      continue;
    if (checkSchedule(nest, plan, schedule, machine).empty())
      return schedule;
    // What the keys ask for may take the room of results on their way out.
    schedule.bulkStores &= keys.contains("bulk_stores");
    if (checkSchedule(nest, plan, schedule, machine).empty())
      return schedule;
  }
  WarpgroupSchedule schedule;
  (void)setFields(schedule.fields(), "warpgroups", keys);
  RegisterBudget budget = registerBudget(schedule.groups, groupRegisters(nest, plan, schedule));
  schedule.loadRegisters = budget.load;
  schedule.groupRegisters = budget.group;
  schedule.alternate = schedule.groups > 1;
  (void)setFields(schedule.fields(), "warpgroups", keys);
  return schedule;
}

static Status overrideWarpgroups(red::NestOp nest, const StreamPlan &plan, const Machine &machine,
                                 const Json &keys) {
  WarpgroupSchedule schedule;
  // The keys are checked before anything is made of them.
  if (Status status = setFields(schedule.fields(), "warpgroups", keys); !status)
    return status;
  if (!machine.warpgroups)
    return refuse(checkSchedule(nest, plan, schedule, machine));
  std::string why;
  if (!canUseWarpgroups(nest, plan, why))
    return refuse(kernelName(nest) + " cannot use warpgroups: " + why);
  schedule = completed(nest, plan, machine, keys);
  why = checkSchedule(nest, plan, schedule, machine);
  if (!why.empty())
    return refuse(why);
  nest.setScheduleAttr(schedule.toAttr(nest.getContext()));
  return {};
}

// The form that keys are for, without "form" that which a key names, or "". A "form" that is no
// string names none.
static std::string formNamed(const Json &keys) {
  if (auto named = keys.find("form"); named != keys.end())
    return named->is_string() ? named->get<std::string>() : "";
  if (keys.contains("rows"))
    return "rows";
  if (keys.contains("threads"))
    return "generic";
  auto names = [&](const ScheduleFields &fields, const ScheduleFields &others) {
    return llvm::any_of(fields, [&](const auto &field) {
      bool isShared =
          llvm::any_of(others, [&](const auto &other) { return other.first == field.first; });
      return !isShared && keys.contains(field.first.str());
    });
  };
  StreamSchedule stream;
  WarpgroupSchedule warpgroups;
  if (names(stream.fields(), warpgroups.fields()))
    return "stream";
  if (names(warpgroups.fields(), stream.fields()))
    return "warpgroups";
  return "";
}

Status overrideSchedule(red::NestOp nest, const Machine &machine, const Json &keys) {
  if (!keys.is_object())
    return refuse("it is an object of keys, not " + written(keys));
  std::string form = formNamed(keys);
  auto named = keys.find("form");
  if (named != keys.end() && !isForm(*named))
    return refuseForm(*named);
  // Both scalar forms have threads.
  bool keepsForm = form == "generic" && named == keys.end() && scheduleForm(nest) == "rows";
  if (form.empty() || keepsForm)
    form = scheduleForm(nest).str();
  if (form == "generic")
    return overrideGeneric(nest, keys);
  if (form == "rows")
    return overrideRows(nest, keys);
  std::string why;
  FailureOr<StreamPlan> plan = planStream(nest, why);
  if (failed(plan))
    return refuse(kernelName(nest) + " has no stream form: " + why);
  return form == "stream" ? overrideStream(nest, *plan, machine, keys)
                          : overrideWarpgroups(nest, *plan, machine, keys);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static Status overrideByUser(red::NestOp nest, const Machine &machine, const Json &keys) {
  Status status = overrideSchedule(nest, machine, keys);
  if (status)
    nest->setAttr(kScheduleSourceAttr, StringAttr::get(nest.getContext(), "as asked for"));
  return status;
}

// An override without a kernel's name: what asks for tiles is meant for the nests that have them.
static Status overrideAll(ArrayRef<red::NestOp> nests, const Machine &machine, const Json &keys) {
  bool applied = false;
  std::string form = formNamed(keys);
  bool forScalars = form == "generic" || form == "rows";
  auto isMeant = [&](red::NestOp nest) {
    return hasTiles(nest) != forScalars && (form != "rows" || scheduleForm(nest) == "rows");
  };
  for (red::NestOp nest : nests) {
    if (!keys.contains("form") && !isMeant(nest))
      continue;
    applied = true;
    if (Status status = overrideByUser(nest, machine, keys); !status)
      return status;
  }
  if (!applied)
    return refuse(form == "rows" ? "no kernel has the rows form, which rows is for"
                  : forScalars   ? "no kernel has the generic form, which threads is for; "
                                   "\"form\": \"generic\" gives it to all"
                                 : "no kernel has a form with tiles, which the keys are for");
  return {};
}

static std::string kernelNames(ArrayRef<red::NestOp> nests) {
  std::string names;
  for (red::NestOp nest : nests)
    names += (names.empty() ? "" : ", ") + kernelName(nest);
  return names;
}

// The error says which kernel's keys it is about, unless it begins with that.
static Error ofKernel(const std::string &kernel, Error error) {
  StringRef what = error.message;
  if (what.consume_front("schedule: ") && !what.starts_with(kernel + " "))
    error.message = "schedule: " + kernel + ": " + what.str();
  return error;
}

Status checkOverrides(ArrayRef<red::NestOp> nests, const Json &overrides) {
  if (overrides.is_null())
    return {};
  if (!overrides.is_object())
    return refuse("it is an object of keys, not " + written(overrides));
  Json common = Json::object();
  for (const auto &item : overrides.items()) {
    const std::string &key = item.key();
    if (!item.value().is_object()) {
      common[key] = item.value();
      continue;
    }
    if (llvm::none_of(nests, [&](red::NestOp nest) { return kernelName(nest) == key; }))
      return refuse("there is no kernel '" + key + "'; there is " + kernelNames(nests));
    if (Status status = checkKeys(item.value()); !status)
      return ofKernel(key, status.error());
  }
  return checkKeys(common);
}

Status applyOverrides(ArrayRef<red::NestOp> nests, const Machine &machine, const Json &overrides) {
  if (overrides.is_null())
    return {};
  if (!overrides.is_object())
    return refuse("it is an object of keys, not " + written(overrides));
  auto named = [&](const std::string &kernel) {
    return llvm::find_if(nests, [&](red::NestOp nest) { return kernelName(nest) == kernel; });
  };
  Json common = Json::object();
  for (const auto &item : overrides.items()) {
    if (item.value().is_object())
      continue;
    if (named(item.key()) != nests.end())
      return refuseValue(item.key(), item.value(), "an object of keys");
    common[item.key()] = item.value();
  }
  if (!common.empty())
    if (Status status = overrideAll(nests, machine, common); !status)
      return status;
  for (const auto &item : overrides.items()) {
    if (!item.value().is_object())
      continue;
    const auto *nest = named(item.key());
    if (nest == nests.end())
      return refuse("there is no kernel '" + item.key() + "'; there is " + kernelNames(nests));
    if (Status status = overrideByUser(*nest, machine, item.value()); !status)
      return ofKernel(item.key(), status.error());
  }
  return {};
}

} // namespace attnc::schedule
