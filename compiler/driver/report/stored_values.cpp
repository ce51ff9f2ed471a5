#include "compiler/driver/report/stored_values.h"
#include "compiler/driver/report/program_place.h"
#include "compiler/schedule/nest/signature.h"
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

// Dims known only at run time.
SmallVector<StringAttr> dynamicDims(attn::ProgramOp program, ArrayRef<StringAttr> dims) {
  SmallVector<StringAttr> result;
  llvm::copy_if(dims, std::back_inserter(result),
                [&](StringAttr dim) { return !program.lookupDim(dim).isStatic(); });
  return result;
}

// What a nest without a row dim is parallel over, though not all that it streams has it.
SmallVector<StringAttr> broadcastDims(red::NestOp nest, ArrayRef<StringAttr> stream) {
  SmallVector<attn::ReadOp> streamed;
  for (auto read : nest.getBodyBlock()->getOps<attn::ReadOp>())
    if (llvm::any_of(stream, [&](StringAttr dim) { return read.getType().hasDim(dim); }))
      streamed.push_back(read);
  SmallVector<StringAttr> dims = attn::dimNames(nest.getGrid());
  llvm::erase_if(dims, [&](StringAttr dim) {
    unsigned have =
        llvm::count_if(streamed, [&](attn::ReadOp read) { return read.getType().hasDim(dim); });
    return have == 0 || have == streamed.size();
  });
  return dims;
}

// Positions in sequences: what nests stream, and the rows that they do it for.
struct SequenceDims {
  llvm::SetVector<StringAttr> streams, all;

  explicit SequenceDims(attn::ProgramOp program) {
    for (auto nest : program.getBodyBlock()->getOps<red::NestOp>()) {
      SmallVector<StringAttr> stream = dynamicDims(program, attn::dimNames(nest.getStream()));
      SmallVector<StringAttr> rows =
          dynamicDims(program, nest.getRow().empty() ? broadcastDims(nest, stream)
                                                     : attn::dimNames(nest.getRow()));
      if (stream.empty() || rows.empty())
        continue;
      streams.insert_range(stream);
      all.insert_range(stream);
      all.insert_range(rows);
    }
  }
};

// "; one for each pair of i and j: N x N values", for a value that grows with the product of two
// lengths.
std::string pairText(Value result) {
  auto type = cast<attn::ArrayType>(result.getType());
  SequenceDims sequences(attn::programOf(result.getDefiningOp()));
  SmallVector<StringRef> dims;
  for (StringAttr dim : type.getDims())
    if (sequences.all.contains(dim))
      dims.push_back(dim.getValue());
  if (dims.size() < 2 ||
      llvm::none_of(sequences.streams, [&](StringAttr dim) { return type.hasDim(dim); }))
    return "";
  return "; one for each " + std::string(dims.size() == 2 ? "pair" : "combination") + " of " +
         llvm::join(ArrayRef(dims).drop_back(), ", ") + " and " + dims.back().str() +
         (dims.size() == 2 ? ": N x N values" : ": N x N x N values");
}

std::string readersOf(Value result) {
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
    std::string place = placeIn(attn::programOf(elsewhere), elsewhere.getLoc());
    return resultsOf(elsewhere->getParentOfType<red::NestOp>()) +
           " reads it at subscripts of its own" + (place.empty() ? "" : ", " + place);
  }
  std::string needed =
      listed(readers.getArrayRef()) + (readers.size() == 1 ? " needs it" : " need it");
  ArrayAttr stream = result.getDefiningOp<red::NestOp>().getStream();
  return stream.empty() ? needed : needed + " once the pass over " + joined(stream) + " has ended";
}

} // namespace

std::string whyStored(Value result) {
  std::string readers = readersOf(result);
  return readers.empty() ? "" : readers + pairText(result);
}

} // namespace attnc::driver
