#include "compiler/driver/stored_values.h"
#include "compiler/schedule/signature.h"
#include "dialects/Attn/SpecLocation.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace attnc::driver {
namespace {

// "o, lse": what a nest stores.
std::string resultsOf(red::NestOp nest) {
  return llvm::join(llvm::map_range(nest.getResults(),
                                    [](Value value) { return schedule::tensorOf(value).name; }),
                    ", ");
}

std::string joined(ArrayAttr dims) {
  return llvm::join(
      llvm::map_range(dims.getAsRange<StringAttr>(), [](StringAttr dim) { return dim.getValue(); }),
      ", ");
}

// "the pass over i, j that gives c" or, of a nest without a stream, "o".
std::string readerText(red::NestOp nest) {
  std::string results = resultsOf(nest);
  return nest.getStream().empty()
             ? results
             : "the pass over " + joined(nest.getStream()) + " that gives " + results;
}

// "o", "o and y", "o, y and 3 more"
std::string listed(ArrayRef<red::NestOp> nests) {
  std::string text = readerText(nests[0]);
  if (nests.size() == 2)
    return text + " and " + readerText(nests[1]);
  return nests.size() == 1 ? text
                           : text + ", " + readerText(nests[1]) + " and " +
                                 std::to_string(nests.size() - 2) + " more";
}

// True if an element is read by another nest at the indices at which it is computed.
bool isInPlace(attn::ReadOp read) {
  return read.isPlain() && llvm::equal(attn::dimNames(read.getSubscripts()),
                                       cast<attn::ArrayType>(read.getSource().getType()).getDims());
}

} // namespace

std::string whyStored(Value result) {
  llvm::SetVector<red::NestOp> readers;
  attn::ReadOp elsewhere;
  for (Operation *user : result.getUsers())
    if (auto read = dyn_cast<attn::ReadOp>(user)) {
      readers.insert(read->getParentOfType<red::NestOp>());
      if (!isInPlace(read) && !elsewhere)
        elsewhere = read;
    }
  if (readers.empty())
    return "";
  if (elsewhere) {
    std::string place = attn::specPlace(elsewhere.getLoc());
    return resultsOf(elsewhere->getParentOfType<red::NestOp>()) +
           " reads it at subscripts of its own" + (place.empty() ? "" : ", " + place);
  }
  std::string needed =
      listed(readers.getArrayRef()) + (readers.size() == 1 ? " needs it" : " need it");
  ArrayAttr stream = result.getDefiningOp<red::NestOp>().getStream();
  return stream.empty() ? needed : needed + " once the pass over " + joined(stream) + " has ended";
}

} // namespace attnc::driver
