#include "compiler/transforms/arrays/array_builder.h"
#include "dialects/Attn/Derivatives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attnc::attn;

namespace attnc {

ArrayRef<StringAttr> dimsOf(Value array) {
  return cast<attn::ArrayType>(array.getType()).getDims();
}

Type elementOf(Value array) { return cast<attn::ArrayType>(array.getType()).getElementType(); }

bool isReal(Value array) { return isa<FloatType>(elementOf(array)); }

Dims without(ArrayRef<StringAttr> dims, ArrayRef<StringAttr> others) {
  return llvm::filter_to_vector(dims,
                                [&](StringAttr dim) { return !llvm::is_contained(others, dim); });
}

Value ArrayBuilder::map(ValueRange arrays, Type element, Emit emit) {
  auto type = attn::ArrayType::get(b.getContext(), unionDims(program, arrays), element);
  // The map is there before its ops are: what builds them may look at what it reads.
  auto map = MapOp::create(b, loc, type, arrays);
  auto inner = ImplicitLocOpBuilder::atBlockEnd(loc, map.getBodyBlock());
  Value value = emit(inner, map.getBodyBlock()->getArguments());
  YieldOp::create(inner, value);
  return map;
}

Value ArrayBuilder::constant(Type element, double value) {
  return map({}, element, [&](ImplicitLocOpBuilder &inner, ValueRange) -> Value {
    TypedAttr attribute =
        isa<FloatType>(element)
            ? TypedAttr(inner.getFloatAttr(element, value))
            : TypedAttr(inner.getIntegerAttr(element, static_cast<int64_t>(value)));
    return arith::ConstantOp::create(inner, attribute);
  });
}

Value ArrayBuilder::add(Value x, Value y) {
  return map({x, y}, elementOf(x), [](ImplicitLocOpBuilder &inner, ValueRange s) -> Value {
    return arith::AddFOp::create(inner, s[0], s[1]);
  });
}

Value ArrayBuilder::times(Value grad, Value factor) {
  return map({grad, factor}, elementOf(grad),
             [](ImplicitLocOpBuilder &inner, ValueRange s) -> Value {
               return attn::times(inner, s[0], s[1]);
             });
}

Value ArrayBuilder::where(Value condition, Value value) {
  return map({condition, value}, elementOf(value),
             [&](ImplicitLocOpBuilder &inner, ValueRange s) -> Value {
               auto zero = inner.getZeroAttr(elementOf(value));
               return arith::SelectOp::create(inner, s[0], s[1],
                                              arith::ConstantOp::create(inner, zero));
             });
}

Value ArrayBuilder::equal(Value x, Value y) {
  return map({x, y}, b.getI1Type(), [](ImplicitLocOpBuilder &inner, ValueRange s) -> Value {
    if (isa<FloatType>(s[0].getType()))
      return arith::CmpFOp::create(inner, arith::CmpFPredicate::OEQ, s[0], s[1]);
    return arith::CmpIOp::create(inner, arith::CmpIPredicate::eq, s[0], s[1]);
  });
}

Value ArrayBuilder::index(StringAttr dim) {
  return IndexOp::create(b, loc, attn::ArrayType::get(b.getContext(), dim, b.getI64Type()), dim);
}

Value ArrayBuilder::size(StringAttr dim) {
  return SizeOp::create(b, loc, attn::ArrayType::get(b.getContext(), {}, b.getI64Type()), dim);
}

Value ArrayBuilder::product(ArrayRef<StringAttr> dims) {
  Value total = size(dims.front());
  for (StringAttr dim : dims.drop_front())
    total = map({total, size(dim)}, b.getI64Type(),
                [](ImplicitLocOpBuilder &inner, ValueRange s) -> Value {
                  return arith::MulIOp::create(inner, s[0], s[1]);
                });
  return total;
}

Value ArrayBuilder::reduce(ReduceKind kind, Value array, ArrayRef<StringAttr> dims) {
  if (dims.empty())
    return array;
  auto type = attn::ArrayType::get(b.getContext(), without(dimsOf(array), dims), elementOf(array));
  SmallVector<Attribute> names(dims.begin(), dims.end());
  return ReduceOp::create(b, loc, type, kind, b.getArrayAttr(names), array);
}

Value ArrayBuilder::sum(Value array, ArrayRef<StringAttr> dims) {
  Dims missing = without(dims, dimsOf(array));
  Value total = reduce(ReduceKind::Add, array, without(dims, missing));
  for (StringAttr dim : missing)
    total = map({total, size(dim)}, elementOf(total),
                [](ImplicitLocOpBuilder &inner, ValueRange s) -> Value {
                  Value count = arith::SIToFPOp::create(inner, s[0].getType(), s[1]);
                  return arith::MulFOp::create(inner, s[0], count);
                });
  return total;
}

Value ArrayBuilder::broadcast(Value array, ArrayRef<StringAttr> dims) {
  SmallVector<Value> arrays = {array};
  for (StringAttr dim : without(dims, dimsOf(array)))
    arrays.push_back(index(dim));
  if (arrays.size() == 1)
    return array;
  return map(arrays, elementOf(array),
             [](ImplicitLocOpBuilder &, ValueRange s) -> Value { return s[0]; });
}

Value ArrayBuilder::read(Value source, const llvm::DenseMap<StringAttr, Value> &at) {
  SmallVector<Attribute> subscripts;
  SmallVector<Value> indices;
  Dims dims;
  for (StringAttr dim : dimsOf(source)) {
    Value subscript = at.lookup(dim);
    subscripts.push_back(subscript ? b.getStringAttr("") : dim);
    if (subscript) {
      indices.push_back(subscript);
      llvm::append_range(dims, dimsOf(subscript));
    } else {
      dims.push_back(dim);
    }
  }
  auto type = attn::ArrayType::get(b.getContext(), canonicalDims(program, dims),
                                   computeType(elementOf(source)));
  return ReadOp::create(b, loc, type, source, indices, b.getArrayAttr(subscripts),
                        indices.empty() ? FloatAttr() : b.getF64FloatAttr(0));
}

StringAttr ArrayBuilder::addDim(StringAttr like) {
  DimAttr model = program.lookupDim(like);
  return addDim(like, model.getExtent(), model.isStatic() ? Value() : size(like));
}

StringAttr ArrayBuilder::scratchDim(ArrayRef<StringAttr> dims) {
  std::vector<void const *> key;
  int64_t extent = 1;
  bool isStatic = true;
  for (StringAttr dim : dims) {
    key.push_back(dim.getAsOpaquePointer());
    DimAttr factor = program.lookupDim(dim);
    isStatic &= factor.isStatic() && !llvm::MulOverflow(extent, factor.getExtent(), extent);
  }
  StringAttr &known = scratch[key];
  if (!known)
    known = addDim(dims.front(), isStatic ? extent : ShapedType::kDynamic,
                   isStatic ? Value() : product(dims));
  return known;
}

StringAttr ArrayBuilder::addDim(StringAttr like, int64_t extent, Value size) {
  StringAttr name;
  for (unsigned number = 1; !name || program.lookupDim(name); ++number)
    name = b.getStringAttr(like.getValue() + "_" + llvm::Twine(number));
  auto dims = llvm::to_vector(program.getDims());
  dims.push_back(DimAttr::get(b.getContext(), name, extent));
  program.setDimsAttr(b.getArrayAttr(dims));
  if (size)
    ExtentOp::create(b, loc, name, size);
  return name;
}

} // namespace attnc
