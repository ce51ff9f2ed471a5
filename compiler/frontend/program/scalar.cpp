#include "compiler/frontend/program/scalar.h"

using namespace mlir;

namespace attnc {

StringRef typeName(ScalarType type) {
  switch (type) {
  case ScalarType::Bool:
    return "a condition";
  case ScalarType::Int:
    return "an integer";
  case ScalarType::F32:
  case ScalarType::F64:
    return "a real number";
  }
  return "";
}

ScalarType scalarTypeOf(Type type) {
  Type compute = attn::computeType(type);
  if (compute.isInteger(1))
    return ScalarType::Bool;
  if (isa<IntegerType>(compute))
    return ScalarType::Int;
  return compute.isF64() ? ScalarType::F64 : ScalarType::F32;
}

Type mlirType(MLIRContext *context, ScalarType type) {
  switch (type) {
  case ScalarType::Bool:
    return IntegerType::get(context, 1);
  case ScalarType::Int:
    return IntegerType::get(context, 64);
  case ScalarType::F32:
    return Float32Type::get(context);
  case ScalarType::F64:
    return Float64Type::get(context);
  }
  return {};
}

Scalar *ScalarFactory::make(Scalar::Kind kind, ScalarType type, Location loc) {
  Scalar &node = nodes.emplace_back(loc);
  node.kind = kind;
  node.type = type;
  return &node;
}

const Scalar *ScalarFactory::poison(Location loc) {
  return make(Scalar::Poison, ScalarType::F32, loc);
}

const Scalar *ScalarFactory::integer(Location loc, int64_t value) {
  Scalar *node = make(Scalar::Constant, ScalarType::Int, loc);
  node->integer = value;
  return node;
}

const Scalar *ScalarFactory::real(Location loc, double value, ScalarType type) {
  Scalar *node = make(Scalar::Constant, type, loc);
  node->real = value;
  return node;
}

const Scalar *ScalarFactory::condition(Location loc, bool value) {
  Scalar *node = make(Scalar::Constant, ScalarType::Bool, loc);
  node->integer = value;
  return node;
}

const Scalar *ScalarFactory::array(Location loc, Value value) {
  Type element = cast<attn::ArrayType>(value.getType()).getElementType();
  Scalar *node = make(Scalar::Array, scalarTypeOf(element), loc);
  node->array = value;
  return node;
}

const Scalar *ScalarFactory::operation(Location loc, ScalarOp op, ScalarType type,
                                       ArrayRef<const Scalar *> args, Type storage) {
  if (llvm::any_of(args, [](const Scalar *arg) { return arg->isPoison(); }))
    return poison(loc);
  Scalar *node = make(Scalar::Operation, type, loc);
  node->op = op;
  node->storage = storage;
  node->args.assign(args.begin(), args.end());
  if (op == ScalarOp::Where ? args[0]->isConstant()
                            : llvm::all_of(args, [](const Scalar *a) { return a->isConstant(); }))
    if (const Scalar *folded = fold(*node))
      return folded;
  return node;
}

const Scalar *ScalarFactory::extremum(Location loc, ScalarOp op, ScalarType type,
                                      ArrayRef<const Scalar *> args, unsigned tie) {
  const Scalar *result = operation(loc, op, type, args);
  if (result->kind != Scalar::Operation)
    return result;
  nodes.push_back(*result);
  nodes.back().tie = tie;
  return &nodes.back();
}

const Scalar *ScalarFactory::toFloat(Location loc, const Scalar *value, ScalarType type) {
  if (value->isPoison() || value->type == type)
    return value;
  return operation(loc, ScalarOp::ToFloat, type, {value});
}

static void collectArrays(const Scalar *node, llvm::SmallPtrSetImpl<const Scalar *> &seen,
                          llvm::SetVector<Value> &arrays) {
  if (!seen.insert(node).second)
    return;
  if (node->kind == Scalar::Array)
    arrays.insert(node->array);
  for (const Scalar *arg : node->args)
    collectArrays(arg, seen, arrays);
}

SmallVector<Value> arraysOf(const Scalar *root) {
  llvm::SmallPtrSet<const Scalar *, 32> seen;
  llvm::SetVector<Value> arrays;
  collectArrays(root, seen, arrays);
  return SmallVector<Value>(arrays.begin(), arrays.end());
}

} // namespace attnc
