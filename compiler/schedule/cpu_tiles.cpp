#include "compiler/schedule/cpu_tiles.h"
#include "compiler/schedule/schedule_override.h"
#include "compiler/schedule/signature.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace attnc::schedule {

using Json = nlohmann::json;

static constexpr int64_t kLargestTile = 1024;

static bool isForCpu(const Json &keys) {
  if (!keys.is_object())
    return false;
  auto form = keys.find("form");
  return form != keys.end() && *form == "cpu";
}

static Status setTiles(red::NestOp nest, const Json &keys) {
  Builder b(nest.getContext());
  NamedAttrList tiles;
  for (const auto &[key, value] : keys.items()) {
    if (key == "form") {
      tiles.set(key, b.getStringAttr("cpu"));
      continue;
    }
    if (value.is_object()) // keys of one kernel
      continue;
    if (key != "row_tile" && key != "stream_tile")
      return invalidArgument("schedule: unknown key '" + key +
                             "'; the cpu form has row_tile, stream_tile");
    if (!value.is_number_integer() || value < 1 || value > kLargestTile)
      return invalidArgument("schedule: " + key + " is " + value.dump() +
                             "; of the cpu form it is a whole number from 1 to " +
                             std::to_string(kLargestTile));
    tiles.set(key, b.getI64IntegerAttr(value.get<int64_t>()));
  }
  nest.setScheduleAttr(tiles.getDictionary(nest.getContext()));
  return {};
}

Status setCpuTiles(ArrayRef<red::NestOp> nests, const Json &overrides) {
  Json others = Json::object();
  if (!overrides.is_object())
    return checkOverrides(nests, overrides);
  if (isForCpu(overrides))
    for (red::NestOp nest : nests)
      if (Status status = setTiles(nest, overrides); !status)
        return status;
  for (const auto &[key, value] : overrides.items()) {
    if (isForCpu(overrides) && !value.is_object())
      continue;
    const auto *nest =
        llvm::find_if(nests, [&](red::NestOp nest) { return kernelName(nest) == key; });
    if (!isForCpu(value) || nest == nests.end())
      others[key] = value;
    else if (Status status = setTiles(*nest, value); !status)
      return status;
  }
  return checkOverrides(nests, others);
}

} // namespace attnc::schedule
