#include "compiler/jit/spec_digest.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace attnc {

// A place in the spec, whatever its file `own` is called.
static void printPlace(Location location, StringRef own, llvm::raw_ostream &out) {
  if (auto place = dyn_cast<FileLineColRange>(location))
    out << (place.getFilename() == own ? "" : place.getFilename().strref()) << place.getStartLine()
        << ':' << place.getStartColumn() << '-' << place.getEndLine() << ':'
        << place.getEndColumn();
  else if (auto name = dyn_cast<NameLoc>(location)) {
    out << name.getName() << '(';
    printPlace(name.getChildLoc(), own, out);
    out << ')';
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    out << '[' << fused.getMetadata();
    for (Location part : fused.getLocations()) {
      out << ' ';
      printPlace(part, own, out);
    }
    out << ']';
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    printPlace(call.getCallee(), own, out);
    out << " at ";
    printPlace(call.getCaller(), own, out);
  } else {
    out << '?';
  }
}

std::string specDigest(const Spec &spec) {
  std::string text;
  llvm::raw_string_ostream out(text);
  ModuleOp module = spec.module.get();
  module->print(out, OpPrintingFlags().printGenericOpForm());
  auto whole = module->getLoc()->findInstanceOf<FileLineColLoc>();
  StringRef own = whole ? whole.getFilename().strref() : "";
  module->walk([&](Operation *op) {
    out << '\n';
    printPlace(op->getLoc(), own, out);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments()) {
          out << ' ';
          printPlace(argument.getLoc(), own, out);
        }
  });
  out << '\n' << spec.name << '\n' << spec.doc << '\n' << spec.schedule.dump() << '\n';
  out << spec.reference.dump() << '\n' << llvm::join(spec.grad, ",") << spec.savesLess;
  return text;
}

} // namespace attnc
