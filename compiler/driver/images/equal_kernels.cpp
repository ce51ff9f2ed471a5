#include "compiler/driver/images/equal_kernels.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include <map>

using namespace mlir;

namespace attnc::driver {
namespace {

/// Writes down ops, what they work on and where they stand. Types, attributes and names of ops are
/// unique in a context, so their addresses stand for them: text would take as long as lowering.
class KeyWriter {
public:
  std::string keyOf(tile::KernelOp kernel) {
    NamedAttrList attributes(kernel->getAttrDictionary());
    attributes.erase(kernel.getSymNameAttrName());
    attributes.erase(kernel.getArgNamesAttrName());
    attributes.erase(kernel.getGridAttrName()); // which each launch says by itself
    attributes.erase(kernel.getChainAttrName());
    add(attributes.getDictionary(kernel.getContext()).getAsOpaquePointer());
    addRegions(kernel);
    return std::move(key);
  }

private:
  void add(const void *address) { add(reinterpret_cast<size_t>(address)); }
  void add(size_t number) { key.append(reinterpret_cast<const char *>(&number), sizeof number); }

  void define(Value value) {
    add(value.getType().getAsOpaquePointer());
    numbers.try_emplace(value, numbers.size());
  }

  void addOp(Operation &op) {
    add(op.getName().getAsOpaquePointer());
    if (auto call = dyn_cast<tile::CallOp>(op))
      add(callees.try_emplace(call.getCallee(), callees.size()).first->second);
    else
      add(op.getAttrDictionary().getAsOpaquePointer());
    add(size_t(op.getNumOperands()));
    for (Value operand : op.getOperands())
      add(numbers.at(operand));
    add(size_t(op.getNumResults()));
    for (Value result : op.getResults())
      define(result);
    addRegions(&op);
  }

  void addRegions(Operation *op) {
    add(size_t(op->getNumRegions()));
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        add(size_t(block.getNumArguments()));
        for (Value argument : block.getArguments())
          define(argument);
        for (Operation &inner : block)
          addOp(inner);
        add(size_t(0)); // no op has this name
      }
  }

  std::string key;
  DenseMap<Value, size_t> numbers;
  llvm::StringMap<size_t> callees; // in the order in which they are called first
};

} // namespace

std::string namelessKey(tile::KernelOp kernel) { return KeyWriter().keyOf(kernel); }

std::vector<size_t> firstEqual(const std::vector<std::string> &keys) {
  std::map<std::string, size_t> known;
  std::vector<size_t> first;
  for (const std::string &key : keys)
    first.push_back(known.emplace(key, first.size()).first->second);
  return first;
}

} // namespace attnc::driver
