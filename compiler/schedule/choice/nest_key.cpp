#include "compiler/schedule/choice/nest_key.h"
#include "compiler/schedule/nest/signature.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <set>

using namespace mlir;

namespace attnc::schedule {
namespace {

/// Writes a nest with numbers for names.
class NestWriter {
public:
  explicit NestWriter(red::NestOp nest) : nest(nest), program(attn::programOf(nest)), os(text) {}

  std::string write() {
    // The version of this form: a change of it must not find entries of the old one.
    os << "nest 1\n";
    writeRole("grid", nest.getGrid());
    writeRole("row", nest.getRow());
    writeRole("stream", nest.getStream());
    writeRole("inner", nest.getInner());
    for (Value capture : nest.captures())
      writeCapture(capture);
    writeBlock(*nest.getBodyBlock());
    if (Block *domain = nest.getDomainBlock())
      writeBlock(*domain);
    for (Value result : nest.getResults())
      writeTensor(packOf(result) ? "packed" : "result", result);
    return text;
  }

private:
  std::string dim(StringAttr name) {
    return "d" + std::to_string(dims.try_emplace(name, dims.size()).first->second);
  }

  void writeRole(StringRef role, ArrayAttr names) {
    os << role;
    for (StringAttr name : names.getAsRange<StringAttr>()) {
      os << ' ' << dim(name);
      if (attn::DimAttr declared = program.lookupDim(name); declared.isStatic())
        os << '=' << declared.getExtent();
    }
    os << '\n';
  }

  void writeDims(ArrayRef<StringAttr> names) {
    os << '[';
    for (StringAttr name : names)
      os << dim(name) << ' ';
    os << ']';
  }

  // The order of a computed array's dims is the program's, which depends on the order of inputs.
  void writeType(Type type) {
    if (auto array = dyn_cast<attn::ArrayType>(type)) {
      std::set<std::string> sorted;
      for (StringAttr name : array.getDims())
        sorted.insert(dim(name));
      os << '[' << llvm::join(sorted, " ") << ']';
      os << array.getElementType();
    } else {
      os << type;
    }
  }

  void writeTensor(StringRef what, Value value) {
    Tensor tensor = tensorOf(value);
    os << what << ' ' << tensor.element;
    writeDims(tensor.dims);
    os << '\n';
  }

  // A param's range decides whether it can be folded into exponents.
  void writeCapture(Value value) {
    number(value);
    if (auto param = value.getDefiningOp<attn::ParamOp>()) {
      os << "param ";
      writeType(param.getResult().getType());
      for (Attribute bound :
           {Attribute(param.getLowerAttr()), Attribute(param.getUpperAttr()),
            Attribute(param.getLowerOpenAttr()), Attribute(param.getUpperOpenAttr())})
        os << ' ' << bound;
      os << '\n';
    } else {
      writeTensor("tensor", value);
    }
  }

  std::string number(Value value) {
    return "%" + std::to_string(values.try_emplace(value, values.size()).first->second);
  }

  // Strings that name dims of the program are dims: roles, subscripts, folded dims.
  void writeAttribute(Attribute attribute) {
    if (auto list = dyn_cast<ArrayAttr>(attribute)) {
      for (Attribute item : list)
        writeAttribute(item);
    } else if (auto string = dyn_cast<StringAttr>(attribute); string && program.lookupDim(string)) {
      os << dim(string) << ' ';
    } else {
      os << attribute << ' ';
    }
  }

  void writeBlock(Block &block) {
    os << "{\n";
    for (BlockArgument argument : block.getArguments()) {
      os << number(argument) << ' ';
      writeType(argument.getType());
      os << '\n';
    }
    for (Operation &op : block)
      writeOp(op);
    os << "}\n";
  }

  // A fold that is no moment has its segments without those of moments: keys are stored, and those
  // of programs without moments stay what they were.
  static Attribute plainSegments(Operation &op, NamedAttribute attribute) {
    auto fold = dyn_cast<red::FoldOp>(op);
    if (!fold || fold.getBase() || attribute.getName() != fold.getOperandSegmentSizesAttrName())
      return attribute.getValue();
    auto sizes = cast<DenseI32ArrayAttr>(attribute.getValue()).asArrayRef();
    return DenseI32ArrayAttr::get(op.getContext(), sizes.take_front(3));
  }

  void writeOp(Operation &op) {
    for (Value result : op.getResults())
      os << number(result) << ' ';
    os << op.getName().getStringRef() << '(';
    for (Value operand : op.getOperands())
      os << number(operand) << ' ';
    os << ')';
    for (NamedAttribute attribute : op.getAttrDictionary()) {
      if (auto bounds = dyn_cast<red::BoundsOp>(op); // its operands say as much
          bounds && attribute.getName() == bounds.getOperandSegmentSizesAttrName())
        continue;
      os << ' ' << attribute.getName().getValue() << '=';
      writeAttribute(plainSegments(op, attribute));
    }
    for (Value result : op.getResults()) {
      os << ' ';
      writeType(result.getType());
    }
    os << '\n';
    if (isa<red::FoldOp>(op)) // its update follows from its operands
      return;
    for (Region &region : op.getRegions())
      for (Block &block : region)
        writeBlock(block);
  }

  red::NestOp nest;
  attn::ProgramOp program;
  std::string text;
  llvm::raw_string_ostream os;
  llvm::DenseMap<StringAttr, size_t> dims;
  llvm::DenseMap<Value, size_t> values;
};

} // namespace

std::string canonicalNest(red::NestOp nest) { return NestWriter(nest).write(); }

std::string nestKey(red::NestOp nest) {
  llvm::SHA256 hash;
  hash.update(canonicalNest(nest));
  return llvm::toHex(hash.final(), /*LowerCase=*/true).substr(0, 32);
}

} // namespace attnc::schedule
