// --memory-budget: how many bytes may go through memory between kernels.
#ifndef ATTNC_TOOLS_ATTNC_INPUT_MEMORY_BUDGET_H
#define ATTNC_TOOLS_ATTNC_INPUT_MEMORY_BUDGET_H

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace attnc::cli {

/// Adds the option; its text goes to `text`, which stays empty without it.
void addMemoryBudget(CLI::App &app, std::string &text);

/// The bytes that `text` says; nothing for an empty one. Failure (Usage): it is no number of bytes.
std::optional<std::int64_t> readMemoryBudget(const std::string &text);

} // namespace attnc::cli

#endif
