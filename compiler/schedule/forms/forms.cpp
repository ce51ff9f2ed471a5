#include "compiler/schedule/forms/keyed_form.h"

namespace attnc::schedule {

llvm::ArrayRef<const Form *> forms() {
  static const Form *const all[] = {&warpgroupsForm(), &portableForm(), &rowsForm(),
                                    &genericForm()};
  return all;
}

const Form *findForm(llvm::StringRef name) {
  const auto *found =
      llvm::find_if(forms(), [&](const Form *form) { return form->name() == name; });
  return found == forms().end() ? nullptr : *found;
}

const Form &formOf(red::NestOp nest) {
  red::Schedule schedule = nest.getScheduleAttr();
  const Form *form = schedule ? findForm(schedule.getForm()) : nullptr;
  return form ? *form : *forms().back();
}

std::string formNames() {
  std::string names;
  for (const Form *form : forms())
    names += (names.empty()            ? "\""
              : form == forms().back() ? " or \""
                                       : ", \"") +
             form->name().str() + "\"";
  return names;
}

red::Schedule Form::choose(PlannedNest &nest, const GpuModel &machine, std::string &why) const {
  std::vector<Candidate> all = candidates(nest, machine, why);
  return all.empty() ? red::Schedule() : all.front().schedule;
}

std::vector<Candidate> Form::tuneSpace(PlannedNest &nest, const GpuModel &machine,
                                       size_t count) const {
  std::string why;
  std::vector<Candidate> all = candidates(nest, machine, why);
  all.resize(std::min(all.size(), count));
  return all;
}

} // namespace attnc::schedule
