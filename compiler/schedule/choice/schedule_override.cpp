#include "compiler/schedule/choice/schedule_override.h"
#include "compiler/schedule/choice/choose_schedule.h"
#include "compiler/schedule/choice/schedule_json.h"

using namespace mlir;

namespace attnc::schedule {

using Json = nlohmann::json;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

static SmallVector<const Form *> formsWith(StringRef key) {
  SmallVector<const Form *> with;
  for (const Form *form : forms())
    if (llvm::is_contained(form->keys(), key))
      with.push_back(form);
  return with;
}

// The key is one of some form, and the value of its kind.
static Status checkKey(const std::string &key, const Json &value) {
  if (SmallVector<const Form *> with = formsWith(key); !with.empty())
    return with.front()->checkKind(key, value);
  llvm::SetVector<StringRef> known;
  for (const Form *form : forms())
    known.insert_range(form->keys());
  return unknownKey(key, "keys are form, " + llvm::join(known, ", "));
}

static Status checkForm(const Json &value) {
  if (value.is_string() && findForm(value.get_ref<const std::string &>()))
    return {};
  if (value == "stream")
    return refusal("form \"stream\" is called \"portable\"");
  return refusal("form is " + formNames() + ", not " + written(value));
}

static Status checkKeys(const Json &keys) {
  for (const auto &[key, value] : keys.items())
    if (Status status = key == "form" ? checkForm(value) : checkKey(key, value); !status)
      return status;
  return {};
}

// The forms that keys are for, without "form": the one that alone has a key, or those without tiles
// that share one, and the key.
struct Meant {
  SmallVector<const Form *> forms;
  StringRef key;

  // The last one takes every nest.
  const Form *form() const { return forms.empty() ? nullptr : forms.back(); }
};

static Meant meantBy(const Json &keys) {
  Meant meant;
  for (const auto &item : keys.items()) {
    SmallVector<const Form *> with = formsWith(item.key());
    bool names = with.size() == 1 || (!with.empty() && !with.front()->hasTiles());
    if (names && (meant.forms.empty() || with.size() < meant.forms.size()))
      meant = {with, item.key()};
  }
  return meant;
}

Result<red::Schedule> overriddenSchedule(PlannedNest &nest, const GpuModel &machine,
                                         const Json &keys) {
  if (!keys.is_object())
    return refusal("it is an object of keys, not " + written(keys));
  const Form *own = &formOf(nest.op()), *form = own;
  if (auto named = keys.find("form"); named != keys.end()) {
    if (Status status = checkForm(*named); !status)
      return status.error();
    form = findForm(named->get_ref<const std::string &>());
  } else if (Meant meant = meantBy(keys); !llvm::is_contained(meant.forms, own) && meant.form()) {
    form = meant.form();
  }
  return form->withKeys(nest, machine, keys);
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static Status overrideByUser(red::NestOp nest, const GpuModel &machine, const Json &keys) {
  PlannedNest planned(nest);
  Result<red::Schedule> schedule = overriddenSchedule(planned, machine, keys);
  if (!schedule)
    return schedule.error();
  nest.setScheduleAttr(*schedule);
  nest->setAttr(kScheduleSourceAttr, StringAttr::get(nest.getContext(), "as asked for"));
  return {};
}

// The form that keys ask for by its name, or null.
static const Form *askedForm(const Json &keys) {
  auto named = keys.find("form");
  return named != keys.end() && named->is_string() ? findForm(named->get_ref<const std::string &>())
                                                   : nullptr;
}

// Whether the nest has a schedule of the form.
static bool suits(const Form &form, red::NestOp nest, const GpuModel &machine) {
  PlannedNest planned(nest);
  std::string why;
  return !form.candidates(planned, machine, why).empty();
}

// An override without a kernel's name: what asks for tiles is meant for the nests that have them, a
// form for those that can have it, or for all, which says why not.
static Status overrideAll(ArrayRef<red::NestOp> nests, const GpuModel &machine, const Json &keys) {
  bool applied = false;
  Meant meant = meantBy(keys);
  bool forTiles = !meant.form() || meant.form()->hasTiles();
  const Form *asked = askedForm(keys);
  auto isSuited = [&](red::NestOp nest) { return asked && suits(*asked, nest, machine); };
  bool forAll = keys.contains("form") && llvm::none_of(nests, isSuited);
  auto isMeant = [&](red::NestOp nest) {
    if (keys.contains("form"))
      return forAll || isSuited(nest);
    return forTiles ? hasTiles(nest) : llvm::is_contained(meant.forms, &formOf(nest));
  };
  for (red::NestOp nest : nests) {
    if (!isMeant(nest))
      continue;
    applied = true;
    if (Status status = overrideByUser(nest, machine, keys); !status)
      return status;
  }
  if (applied)
    return {};
  if (forTiles)
    return refusal("no kernel has a form with tiles, which the keys are for");
  std::string name = meant.form()->name().str();
  return refusal("no kernel has the " + name + " form, which " + meant.key.str() + " is for" +
                 (meant.forms.size() > 1 ? "; \"form\": \"" + name + "\" gives it to all" : ""));
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
    return refusal("it is an object of keys, not " + written(overrides));
  Json common = Json::object();
  for (const auto &item : overrides.items()) {
    const std::string &key = item.key();
    if (!item.value().is_object()) {
      common[key] = item.value();
      continue;
    }
    if (llvm::none_of(nests, [&](red::NestOp nest) { return kernelName(nest) == key; }))
      return refusal("there is no kernel '" + key + "'; there is " + kernelNames(nests));
    if (Status status = checkKeys(item.value()); !status)
      return ofKernel(key, status.error());
  }
  return checkKeys(common);
}

Status applyOverrides(ArrayRef<red::NestOp> nests, const GpuModel &machine, const Json &overrides) {
  if (overrides.is_null())
    return {};
  if (!overrides.is_object())
    return refusal("it is an object of keys, not " + written(overrides));
  auto named = [&](const std::string &kernel) {
    return llvm::find_if(nests, [&](red::NestOp nest) { return kernelName(nest) == kernel; });
  };
  Json common = Json::object();
  for (const auto &item : overrides.items()) {
    if (item.value().is_object())
      continue;
    if (named(item.key()) != nests.end())
      return refusal(item.key(), item.value(), "an object of keys");
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
      return refusal("there is no kernel '" + item.key() + "'; there is " + kernelNames(nests));
    if (Status status = overrideByUser(*nest, machine, item.value()); !status)
      return ofKernel(item.key(), status.error());
  }
  return {};
}

} // namespace attnc::schedule
