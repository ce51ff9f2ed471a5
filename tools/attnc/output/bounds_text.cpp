#include "tools/attnc/output/bounds_text.h"
#include "compiler/driver/checks/check.h"
#include "tools/attnc/output/failure.h"
#include "tools/attnc/output/terminal.h"

namespace attnc::cli {

std::vector<evaluator::OutsideRead> findOutsideReads(const Spec &spec,
                                                     const evaluator::EvalInputs &inputs) {
  auto reads = evaluator::findOutsideReads(driver::programOf(spec), inputs);
  if (!reads)
    throw Failure(Usage, llvm::toString(reads.takeError()));
  return std::move(*reads);
}

void noteOutsideReads(const std::vector<evaluator::OutsideRead> &reads, bool fails) {
  if (reads.empty())
    note("--check-bounds: no subscript that comes from data falls outside");
  for (const evaluator::OutsideRead &read : reads)
    if (fails)
      Failure(CheckFailed, "--check-bounds: " + read.text()).print(colourOnStderr());
    else
      note("--check-bounds: " + read.text());
}

nlohmann::ordered_json toJson(const std::vector<evaluator::OutsideRead> &reads) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const evaluator::OutsideRead &read : reads) {
    nlohmann::ordered_json at = nlohmann::ordered_json::object();
    for (const auto &[dim, index] : read.at)
      at[dim] = index;
    const char *kinds[] = {"read", "length", "sequence"};
    list.push_back({{"kind", kinds[read.kind]},
                    {"place", read.place},
                    {"tensor", read.tensor},
                    {"axis", read.dim},
                    {"subscript", read.subscript},
                    {"value", read.value},
                    {"extent", read.extent},
                    {"at", at},
                    {"outside", read.outside},
                    {"of", read.all},
                    {"otherwise", read.otherwise}});
  }
  return list;
}

} // namespace attnc::cli
