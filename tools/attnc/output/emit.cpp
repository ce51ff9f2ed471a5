#include "tools/attnc/output/emit.h"
#include "compiler/driver/pipeline.h"
#include "compiler/frontend/text/suggest.h"
#include "tools/attnc/output/failure.h"

#include <algorithm>
#include <fmt/format.h>

namespace attnc::cli {

using driver::Stage;

static constexpr Emit emits[] = {
    {"attn", Stage::Attn, Emit::Anywhere, false},
    {"red", Stage::Red, Emit::Anywhere, false},
    {"tile", Stage::Tile, Emit::Gpu, false},
    {"cuda", Stage::Cuda, Emit::Gpu, false},
    {"ptx", Stage::Cubin, Emit::Gpu, false},
    {"cubin", Stage::Cubin, Emit::Gpu, true},
    {"program", Stage::Cubin, Emit::Anywhere, true},
    {"manifest", Stage::Cubin, Emit::Anywhere, false},
    {"llvm", Stage::Llvm, Emit::Cpu, false},
};

bool knowsLines(std::string_view emit) {
  constexpr std::string_view known[] = {"attn", "red", "tile", "cuda", "ptx"};
  return std::find(std::begin(known), std::end(known), emit) != std::end(known);
}

std::vector<std::string> emitNames() {
  std::vector<std::string> names;
  for (const Emit &emit : emits)
    names.push_back(emit.name);
  return names;
}

std::vector<std::string> passNames() {
  std::vector<std::string> names;
  for (const driver::Step &step : driver::pipelineSteps())
    names.push_back(step.name);
  return names;
}

const Emit &findEmit(const std::string &name) {
  for (const Emit &emit : emits)
    if (emit.name == name)
      return emit;
  throw Failure(
      Usage, fmt::format("--emit: there is no '{}'", name),
      didYouMean(name, emitNames(), fmt::format("one of {}", fmt::join(emitNames(), ", "))));
}

} // namespace attnc::cli
