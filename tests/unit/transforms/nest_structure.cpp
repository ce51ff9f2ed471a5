#include "tests/unit/transforms/nest_structure.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <algorithm>

using namespace mlir;

namespace attnc {
namespace {

/// Texts of values. Long ones are hashed, since what is shared would repeat.
class Texts {
public:
  explicit Texts(attn::ProgramOp program) : program(program) {}

  std::string of(Value value) {
    auto [known, isNew] = texts.try_emplace(value);
    if (!isNew)
      return known->second;
    std::string text = shortened(ofOp(value));
    return texts[value] = text;
  }

  std::string ofFold(red::FoldOp fold) {
    std::vector<std::string> factors;
    for (Value factor : fold.getFactors())
      factors.push_back(of(factor));
    std::sort(factors.begin(), factors.end());
    std::string text = print(fold.getKindAttr()) + " over " + print(fold.getDims()) + " of " +
                       llvm::join(factors, " * ");
    if (fold.getExponent())
      text += " exp(" + of(fold.getExponent()) + " - " + of(fold.getReference()) + ")";
    if (fold.getBase())
      text += " (" + of(fold.getBase()) + " - " + of(fold.getCentre()) + ") to the power " +
              std::to_string(fold.degree());
    return text;
  }

private:
  static constexpr size_t kLongest = 400;

  static std::string shortened(const std::string &text) {
    if (text.size() <= kLongest)
      return text;
    llvm::SHA256 hash;
    hash.update(text);
    return "#" + llvm::toHex(hash.final()).substr(0, 16);
  }

  static std::string print(Attribute attribute) {
    std::string text;
    llvm::raw_string_ostream(text) << attribute;
    return text;
  }

  std::string ofOp(Value value) {
    auto result = cast<OpResult>(value);
    Operation *op = value.getDefiningOp();
    if (auto nest = dyn_cast<red::NestOp>(op))
      return of(cast<red::YieldOp>(nest.getBodyBlock()->getTerminator())
                    .getValues()[result.getResultNumber()]);
    if (auto fold = dyn_cast<red::FoldOp>(op))
      return ofFold(fold);
    if (auto map = dyn_cast<attn::MapOp>(op))
      return ofScalar(map, map.getYielded());
    return ofOthers(op);
  }

  // Reads, inputs, indices, sizes: the op with its attributes, and its operands in order.
  std::string ofOthers(Operation *op) {
    std::string text = op->getName().getStringRef().str() + print(op->getAttrDictionary()) + "(";
    for (Value operand : op->getOperands())
      text += of(operand) + ", ";
    return text + ")";
  }

  std::string ofScalar(attn::MapOp map, Value scalar) {
    if (auto argument = dyn_cast<BlockArgument>(scalar))
      return of(map.getOperand(argument.getArgNumber()));
    auto [known, isNew] = texts.try_emplace(scalar);
    if (!isNew)
      return known->second;
    Operation *op = scalar.getDefiningOp();
    std::vector<std::string> args;
    for (Value operand : op->getOperands())
      args.push_back(ofScalar(map, operand));
    if (op->hasTrait<OpTrait::IsCommutative>())
      std::sort(args.begin(), args.end());
    NamedAttrList attributes(op->getAttrDictionary());
    attributes.erase(red::kFullAttr); // of the domain
    std::string text = op->getName().getStringRef().str() +
                       print(attributes.getDictionary(op->getContext())) + "(" +
                       llvm::join(args, ", ") + ")";
    return texts[scalar] = shortened(text);
  }

  attn::ProgramOp program;
  llvm::DenseMap<Value, std::string> texts;
};

} // namespace

NestStructure NestStructure::of(attn::ProgramOp program) {
  NestStructure result;
  Texts texts(program);
  for (auto nest : program.getBodyBlock()->getOps<red::NestOp>()) {
    ++result.nests;
    for (red::FoldOp state : nest.states()) {
      result.states.push_back(texts.ofFold(state));
      result.kinds.push_back(red::stringifyFoldKind(state.getKind()).str() +
                             (state.getExponent() ? " exp" : "") +
                             (state.getBase() ? " moment" : ""));
    }
  }
  for (auto output : program.getBodyBlock()->getOps<attn::OutputOp>())
    result.outputs[output.getName().str()] = texts.of(output->getOperand(0));
  std::sort(result.states.begin(), result.states.end());
  std::sort(result.kinds.begin(), result.kinds.end());
  return result;
}

} // namespace attnc
