#include "compiler/driver/equal_kernels.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

using namespace mlir;

namespace attnc::driver {

std::string namelessText(tile::KernelOp kernel) {
  auto copy = cast<tile::KernelOp>(kernel->clone());
  Builder b(kernel.getContext());
  copy.setSymName("kernel");
  SmallVector<std::string> names;
  for (size_t i = 0; i < copy.getArgNames().size(); ++i)
    names.push_back("x" + std::to_string(i));
  SmallVector<StringRef> views(names.begin(), names.end());
  copy.setArgNamesAttr(b.getStrArrayAttr(views));
  std::string text;
  llvm::raw_string_ostream os(text);
  copy->print(os, OpPrintingFlags().printGenericOpForm().assumeVerified());
  copy->erase();
  return text;
}

std::vector<size_t> firstEqual(const std::vector<std::string> &texts) {
  std::map<std::string, size_t> known;
  std::vector<size_t> first;
  for (const std::string &text : texts)
    first.push_back(known.emplace(text, first.size()).first->second);
  return first;
}

} // namespace attnc::driver
