// Outputs, grad and the reference shape.
#include "compiler/frontend/program/program_builder.h"
#include "compiler/frontend/text/suggest.h"
#include "dialects/Attn/ReferenceShape.h"

using namespace mlir;

namespace attnc {

void ProgramBuilder::createOutputs() {
  const JsonValue *outputs = section("outputs", JsonValue::Object);
  if (!outputs)
    return;
  if (outputs->members.empty())
    report(file.at(outputs->offset, "the spec has no output", "add \"o\": \"T\""));
  for (const JsonMember &member : outputs->members)
    createOutput(member);
}

void ProgramBuilder::createOutput(const JsonMember &output) {
  Type storage;
  if (expectKind(output.value, JsonValue::String, "the type of an output", "\"o\": \"T\"")) {
    SourceText text(file, output.value);
    size_t bracket = output.value.text.find('[');
    if (bracket != std::string::npos)
      report(text.at(bracket, "an output has a type and no dims here",
                     "its dims are in the label of its statement: \"" + output.key +
                         "[b, i] = ...\""));
    else
      storage = requireType(text, {output.value.text, 0});
  }
  Symbol *symbol = lookup(output.key);
  if (!symbol || symbol->kind == Symbol::Input || symbol->kind == Symbol::Param ||
      symbol->kind == Symbol::Let || symbol->kind == Symbol::Dim) {
    if (bodyIncomplete || refusedNames.contains(output.key))
      return;
    if (symbol) {
      report(file.at(output.keyOffset, "the output '" + output.key + "' is no result of the body",
                     "give the result a name of its own: \"o = " + output.key + "\""));
      return;
    }
    report(file.at(output.keyOffset, "the body never computes the output '" + output.key + "'",
                   didYouMean(output.key, namesOf(Symbol::Result),
                              "assign it: \"" + output.key + " = ...\"")));
    return;
  }
  symbol->used = true;
  if (symbol->kind == Symbol::Wrong || !storage)
    return;
  const Scalar *value = symbol->value;
  Location loc = locate(output.keyOffset, output.key);
  ScalarType wanted = scalarTypeOf(storage);
  if (wanted != value->type) {
    if (!isFloat(wanted) || !isFloat(value->type)) {
      report(
          file.at(output.value.offset,
                  "the output '" + output.key + "' is " + typeName(value->type).str() +
                      ", its type " + output.value.text + " holds " + typeName(wanted).str(),
                  "convert it in the body: cast(" + output.key + ", " + output.value.text + ")"));
      return;
    }
    value = scalars.toFloat(loc, value, wanted);
  }
  if (wanted == ScalarType::Int)
    value = saturated(loc, value, storage);
  if (!checkStaticSize(symbol->axes, file.at(output.keyOffset, "")))
    return;
  value = storedWithinLengths(value, symbol->axes, file.at(output.keyOffset, ""));
  if (!value)
    return;
  SmallVector<StringAttr> axes = symbol->axes;
  value = packOutput(value, axes);
  SmallVector<Attribute> dims(axes.begin(), axes.end());
  ArrayAttr order = builder.getArrayAttr(dims);
  Value array = materialise(loc, value);
  attn::OutputOp::create(builder, loc, output.key, array, order, storage);
}

/// What a name stands for that is neither an input nor a param.
static StringRef kindOf(const Symbol &symbol, bool isOutput) {
  if (symbol.kind == Symbol::Dim)
    return "a dim";
  if (symbol.kind == Symbol::Let)
    return "a let";
  return isOutput ? "an output" : "a result of the body";
}

void ProgramBuilder::reportNoGradient(const JsonValue &name, const Symbol *symbol) {
  const char *remedy = "gradients are those of inputs and params";
  if (!symbol) {
    report(file.at(name.offset, "the spec has no input or param '" + name.text + "'",
                   didYouMean(name.text, namesOf(Symbol::Input), remedy)));
    return;
  }
  const JsonValue *outputs = root.find("outputs");
  StringRef kind = kindOf(*symbol, outputs && outputs->find(name.text));
  report(file.at(name.offset, "'" + name.text + "' is " + kind.str() + ", not an input or param",
                 remedy));
}

/// An input or param of real numbers that a gradient is asked for, or null if it was wrong.
const Symbol *ProgramBuilder::differentiable(const JsonValue &name) {
  Symbol *symbol = lookup(name.text);
  if (symbol && symbol->kind == Symbol::Wrong)
    return nullptr;
  bool isParam = symbol && symbol->kind == Symbol::Param;
  if (!symbol || (symbol->kind != Symbol::Input && !isParam)) {
    reportNoGradient(name, symbol);
    return nullptr;
  }
  Type element = isParam ? mlirType(&context, symbol->value->type)
                         : cast<attn::ArrayType>(symbol->array.getType()).getElementType();
  if (isa<FloatType>(element))
    return symbol;
  report(file.at(name.offset,
                 "the " + std::string(isParam ? "param" : "input") + " '" + name.text +
                     "' has no gradient: it does not hold real numbers",
                 "gradients are those of inputs of f16, bf16, f32 or f64, and of f32 params"));
  return nullptr;
}

/// What an entry of `grad` stands for: no input has the name of the function `all`.
std::vector<std::string> ProgramBuilder::gradientsOf(const JsonValue &entry) {
  if (entry.text != "all")
    return differentiable(entry) ? std::vector{entry.text} : std::vector<std::string>();
  std::vector<std::string> names;
  for (auto &[name, symbol] : symbols)
    if (symbol.kind == Symbol::Input &&
        isa<FloatType>(cast<attn::ArrayType>(symbol.array.getType()).getElementType()))
      names.push_back(name.str());
  if (names.empty() && !diagnostics.hasErrors())
    report(file.at(entry.offset, "'all' stands for nothing: no input holds real numbers",
                   "gradients are those of inputs of f16, bf16, f32 or f64, and of f32 params"));
  return names;
}

void ProgramBuilder::readGrad() {
  if (const JsonValue *grad = section("grad", JsonValue::Array))
    for (const JsonValue &entry : grad->elements) {
      if (!expectKind(entry, JsonValue::String, "a gradient", "\"grad\": [\"q\", \"k\", \"v\"]"))
        continue;
      for (const std::string &name : gradientsOf(entry))
        if (llvm::is_contained(spec.grad, name))
          report(file.at(entry.offset, "the gradient of '" + name + "' is asked for twice",
                         "name it once"));
        else
          spec.grad.push_back(name);
    }
  const JsonValue *save = section("save", JsonValue::String);
  if (!save)
    return;
  spec.savesLess = save->text == "less";
  if (!spec.savesLess && save->text != "auto")
    report(file.at(save->offset, "'" + save->text + "' is no way to save",
                   "write \"auto\", or \"less\" to save nothing and compute it again"));
}

void ProgramBuilder::readReference() {
  const JsonValue *reference = section("reference", JsonValue::Object);
  if (!reference)
    return;
  for (const JsonMember &member : reference->members)
    if (member.key != "shape")
      report(file.at(member.keyOffset, "unknown key '" + member.key + "' of 'reference'",
                     "it has 'shape'"));
  const JsonValue *shape = reference->find("shape");
  if (!shape || !expectKind(*shape, JsonValue::Object, "the reference shape",
                            "\"shape\": {\"b\": 2, \"i\": 300}"))
    return;
  nlohmann::json extents = nlohmann::json::object();
  for (const JsonMember &member : shape->members) {
    Symbol *symbol = lookup(member.key);
    if (symbol && symbol->kind == Symbol::Wrong)
      continue;
    if (!symbol || symbol->kind != Symbol::Dim) {
      report(file.at(member.keyOffset, "the spec has no dim '" + member.key + "'",
                     didYouMean(member.key, namesOf(Symbol::Dim),
                                "its dims are " + llvm::join(namesOf(Symbol::Dim), ", "))));
      continue;
    }
    if (symbol->computed) {
      report(file.at(member.keyOffset,
                     "the extent of '" + member.key + "' is computed: " + symbol->computed->text,
                     "leave it out here"));
      continue;
    }
    if (expectKind(member.value, JsonValue::Integer, "an extent", "\"i\": 300") &&
        checkExtent(member.value.integer, file.at(member.value.offset, "")) && !symbol->extent)
      extents[member.key] = member.value.integer;
  }
  for (const auto &[name, s] : symbols)
    if (s.kind == Symbol::Dim && !s.extent && !s.computed && !shape->find(name.getValue()) &&
        !extentsIncomplete)
      report(file.at(shape->offset, "the reference shape has no extent of '" + name.str() + "'",
                     "add \"" + name.str() + "\": 129"));
  SmallVector<NamedAttribute> shapeAttrs;
  for (const auto &[dim, extent] : extents.items())
    shapeAttrs.push_back(builder.getNamedAttr(dim, builder.getI64IntegerAttr(extent)));
  program->setAttr(attn::kReferenceAttr, builder.getDictionaryAttr(shapeAttrs));
  spec.reference["shape"] = std::move(extents);
}

} // namespace attnc
