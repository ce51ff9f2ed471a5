#include "compiler/driver/report/program_place.h"

#include "llvm/Support/Path.h"

using namespace mlir;

namespace attnc::driver {

std::string placeIn(attn::ProgramOp program, Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  if (!place)
    return "";
  auto own = program.getLoc()->findInstanceOf<FileLineColLoc>();
  StringRef file = !own || own.getFilename() == place.getFilename()
                       ? program.getSymName()
                       : llvm::sys::path::stem(place.getFilename());
  return (file + ":" + Twine(place.getLine()) + ":" + Twine(place.getColumn())).str();
}

} // namespace attnc::driver
