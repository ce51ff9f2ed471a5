#include "compiler/schedule/choice/cpu_tiles.h"
#include "compiler/schedule/choice/schedule_json.h"
#include "compiler/schedule/choice/schedule_override.h"
#include "compiler/schedule/nest/signature.h"

using namespace mlir;

namespace attnc::schedule {

using Json = nlohmann::json;

bool isForCpu(const Json &keys) {
  return keys.is_object() && keys.value("form", Json()) == tile::CpuAttr::getMnemonic().str();
}

static Status setTiles(red::NestOp nest, const Json &keys) {
  Json own = Json::object();
  for (const auto &[key, value] : keys.items())
    if (!value.is_object()) // keys of one kernel
      own[key] = value;
  tile::CpuSchedule tiles;
  if (Status status = setKeys(tiles.keys(), tile::CpuAttr::getMnemonic(), own); !status)
    return status;
  if (std::string why = tiles.check(); !why.empty())
    return refusal(why);
  nest.setScheduleAttr(tile::CpuAttr::get(nest.getContext(), tiles));
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
