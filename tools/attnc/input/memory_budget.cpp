#include "tools/attnc/input/memory_budget.h"
#include "runtime/program/byte_count.h"
#include "tools/attnc/output/failure.h"

namespace attnc::cli {

void addMemoryBudget(CLI::App &app, std::string &text) {
  app.add_option("--memory-budget", text,
                 "Most that may go through memory between kernels, e.g. 512MiB, 2GiB, 0.5TB or 0 "
                 "(bytes without a unit); a shape that needs more is refused before anything is "
                 "allocated. Without it, what the device has")
      ->type_name("BYTES");
}

std::optional<std::int64_t> readMemoryBudget(const std::string &text) {
  if (text.empty())
    return std::nullopt;
  Result<std::int64_t> bytes = parseBytes(text);
  if (!bytes)
    throw Failure(Usage, "--memory-budget: " + bytes.error().message, bytes.error().remedy);
  return *bytes;
}

} // namespace attnc::cli
