#include "compiler/driver/report/program_place.h"

using namespace mlir;

namespace attnc::driver {

std::string placeIn(attn::ProgramOp program, Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  if (!place)
    return "";
  return (program.getSymName() + ":" + Twine(place.getLine()) + ":" + Twine(place.getColumn()))
      .str();
}

} // namespace attnc::driver
