#include "dialects/Attn/SpecLocation.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace attnc::attn {

Location specLocation(MLIRContext *context, StringRef file, unsigned line, unsigned column,
                      StringRef statement, StringRef name) {
  Location place = FileLineColLoc::get(context, file, line, column);
  if (!statement.empty())
    place = FusedLoc::get(context, {place}, StringAttr::get(context, statement));
  return name.empty() ? place : NameLoc::get(StringAttr::get(context, name), place);
}

Location renamed(Location loc, StringRef name) {
  if (auto named = dyn_cast<NameLoc>(loc))
    loc = named.getChildLoc();
  return NameLoc::get(StringAttr::get(loc.getContext(), name), loc);
}

StringRef specName(Location loc) {
  if (auto named = dyn_cast<NameLoc>(loc)) // nearly always, and walks are slow
    return named.getName().getValue();
  auto named = loc->findInstanceOf<NameLoc>();
  return named ? named.getName().getValue() : StringRef();
}

StringRef specStatement(Location loc) {
  auto fused = loc->findInstanceOf<FusedLocWith<StringAttr>>();
  return fused ? fused.getMetadata().getValue() : StringRef();
}

std::string specPlace(Location loc) {
  auto place = loc->findInstanceOf<FileLineColLoc>();
  if (!place)
    return "";
  return (place.getFilename().getValue() + ":" + Twine(place.getLine()) + ":" +
          Twine(place.getColumn()))
      .str();
}

} // namespace attnc::attn
