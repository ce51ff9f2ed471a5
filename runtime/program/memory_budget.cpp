#include "runtime/program/memory_budget.h"

#include "runtime/program/byte_count.h"
#include "runtime/program/disjoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace attnc {

namespace {

constexpr const char *remedy =
    "use a smaller shape, allow more memory, or change what keeps the values from being fused";

/// Cannot exceed 2^63: planWorkspace has found room for more.
std::int64_t sumOf(const std::vector<StoredValue> &values) {
  std::int64_t sum = 0;
  for (const StoredValue &value : values)
    sum += value.bytes;
  return sum;
}

std::string lineOf(const StoredValue &value) {
  const TensorDecl &tensor = *value.tensor;
  return fmt::format("\n    {}: {}[{}], {}{}{}{}{}", tensor.name, dtypeName(tensor.dtype),
                     fmt::join(tensor.dims, ", "), bytesText(static_cast<double>(value.bytes)),
                     tensor.place.empty() ? "" : ", ", tensor.place,
                     tensor.reason.empty() ? "" : ": ", tensor.reason);
}

} // namespace

std::vector<StoredValue> storedValues(const Manifest &manifest, const Workspace &workspace,
                                      const Scope &scope) {
  std::vector<StoredValue> values;
  for (const TensorDecl &tensor : manifest.intermediates) {
    if (!workspace.offsets.count(tensor.name))
      continue;
    Result<TensorRef> placed = intermediateAt(nullptr, tensor, scope);
    Result<std::int64_t> bytes =
        placed ? intermediateBytes(tensor, *placed, scope) : Result<std::int64_t>(placed.error());
    values.push_back({&tensor, bytes ? *bytes : 0});
  }
  std::sort(values.begin(), values.end(), [](const StoredValue &a, const StoredValue &b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.tensor < b.tensor; // as declared
  });
  return values;
}

std::string describe(const std::vector<StoredValue> &values) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t index = 0; index < std::min(values.size(), most); ++index)
    text += lineOf(values[index]);
  if (values.size() > most)
    text += fmt::format("\n    and {} more: {}", values.size() - most,
                        bytesText(static_cast<double>(
                            sumOf({values.begin() + static_cast<long>(most), values.end()}))));
  return text;
}

std::string shapeText(const Manifest &manifest, const Scope &scope) {
  std::string text;
  for (const DimDecl &dim : manifest.dims)
    if (auto size = scope.sizes.find(dim.name); size != scope.sizes.end() && !dim.extent)
      text += fmt::format("{}{}={}", text.empty() ? "" : ", ", dim.name, size->second);
  return text.empty() ? "the spec's own extents" : text;
}

Status checkMemoryBudget(const Manifest &manifest, const Workspace &workspace,
                         const Binding &binding) {
  if (!binding.memoryBudget)
    return {};
  std::vector<StoredValue> values = storedValues(manifest, workspace, binding.scope);
  std::int64_t sum = sumOf(values);
  if (sum <= *binding.memoryBudget)
    return {};
  std::string wanted = bytesText(static_cast<double>(sum));
  std::string allowed = bytesText(static_cast<double>(*binding.memoryBudget));
  if (wanted == allowed) { // rounded alike
    wanted = fmt::format("{} bytes", sum);
    allowed = fmt::format("{} bytes", *binding.memoryBudget);
  }
  return invalidArgument(
      fmt::format("{} go through memory between kernels at {}; the memory budget is {}{}", wanted,
                  shapeText(manifest, binding.scope), allowed, describe(values)),
      remedy);
}

Error noMemoryFor(const Manifest &manifest, const Workspace &workspace, const Scope &scope,
                  const Error &cause) {
  std::vector<StoredValue> values = storedValues(manifest, workspace, scope);
  return {cause.kind,
          fmt::format("there is no memory for what goes between kernels, {} at {}: {}{}",
                      bytesText(static_cast<double>(sumOf(values))), shapeText(manifest, scope),
                      cause.message, describe(values)),
          remedy};
}

} // namespace attnc
