// `repeat`: the statements of its body, once for every iteration.
#include "compiler/frontend/program/program_builder.h"
#include "compiler/frontend/text/suggest.h"

using namespace mlir;

namespace attnc {

static constexpr StringLiteral example =
    "{\"repeat\": 6, \"carry\": [\"z\"], \"body\": [\"z = z * (2 - a*z)\"]}";

/// True if an object among the statements can only be meant as a repeat.
static bool resemblesRepeat(const JsonValue &object) {
  const std::vector<std::string> keys = {"repeat", "carry", "body"};
  return llvm::any_of(object.members, [&](const JsonMember &member) {
    return llvm::is_contained(keys, member.key) || !nearestName(member.key, keys).empty();
  });
}

//===----------------------------------------------------------------------===//
// The keys of a repeat
//===----------------------------------------------------------------------===//

std::optional<RepeatSyntax> ProgramBuilder::readRepeat(const JsonValue &object) {
  if (!resemblesRepeat(object)) {
    report(file.at(object.offset, "a statement is a string or a repeat, this is another object",
                   "a repeat is " + example.str()));
    return std::nullopt;
  }
  std::vector<std::string> keys = {"repeat", "carry", "body"};
  RepeatSyntax repeat;
  bool correct = true;
  llvm::StringSet<> misspelt;
  for (const JsonMember &member : object.members) {
    if (llvm::is_contained(keys, member.key))
      continue;
    correct = false;
    misspelt.insert(nearestName(member.key, keys));
    report(file.at(member.keyOffset, "unknown key '" + member.key + "' of a repeat",
                   didYouMean(member.key, keys, "the keys are repeat, carry, body")));
  }
  auto value = [&](StringRef key, StringRef remedy) {
    const JsonValue *found = object.find(key);
    if (!found && !misspelt.contains(key))
      report(
          file.at(object.offset, "the repeat has no '" + key.str() + "'", "add " + remedy.str()));
    correct &= found != nullptr;
    return found;
  };
  repeat.count = value("repeat", "the number of iterations: \"repeat\": 6");
  const JsonValue *carry = value("carry", "the results that each iteration hands to the next: "
                                          "\"carry\": [\"z\"]");
  repeat.body = value("body", "the statements of an iteration: \"body\": [\"z = z / 2\"]");
  if (carry)
    correct &= readCarry(*carry, repeat.carry);
  if (repeat.body)
    correct &= expectKind(*repeat.body, JsonValue::Array, "the body of a repeat",
                          "\"body\": [\"z = z / 2\"]");
  if (correct && repeat.body->elements.empty()) {
    report(file.at(repeat.body->offset, "the body of the repeat is empty",
                   "add the statements of an iteration: \"body\": [\"z = z / 2\"]"));
    correct = false;
  }
  return correct ? std::optional(std::move(repeat)) : std::nullopt;
}

bool ProgramBuilder::readCarry(const JsonValue &list, std::vector<CarriedName> &carry) {
  constexpr StringLiteral form = "\"carry\": [\"z\"]";
  if (!expectKind(list, JsonValue::Array, "'carry'", form))
    return false;
  if (list.elements.empty()) {
    report(file.at(list.offset, "the repeat carries nothing, so its iterations do nothing",
                   "name the results that each iteration hands to the next: " + form.str()));
    return false;
  }
  bool correct = true;
  for (const JsonValue &element : list.elements) {
    if (!expectKind(element, JsonValue::String, "a carried name", form)) {
      correct = false;
      continue;
    }
    if (llvm::any_of(carry, [&](const CarriedName &c) { return c.name == element.text; })) {
      report(file.at(element.offset, "'" + element.text + "' is carried twice", "name it once"));
      correct = false;
      continue;
    }
    carry.push_back({element.text, element.offset});
    correct &= checkCarried(carry.back());
  }
  return correct;
}

/// A carried name is a result that has a value before the first iteration.
bool ProgramBuilder::checkCarried(const CarriedName &carried) {
  const std::string &name = carried.name;
  Symbol *symbol = lookup(name);
  if (symbol && symbol->kind == Symbol::Result)
    return true;
  if (symbol && symbol->kind == Symbol::Wrong) // that has been reported
    return false;
  if (symbol || isFunctionName(name)) {
    report(file.at(carried.offset,
                   "'" + name + "' cannot be carried: it is not a result of the body",
                   "assign its first value to another name before the repeat, and carry that"));
    return false;
  }
  report(file.at(carried.offset, "the carried '" + name + "' has no value before the repeat",
                 didYouMean(name, namesOf(Symbol::Result),
                            "assign its first value before: \"" + name + " = ...\"")));
  return false;
}

/// The number of iterations: an integer that is known when the spec is compiled.
std::optional<uint64_t> ProgramBuilder::repeatCount(const JsonValue &count) {
  constexpr StringLiteral form = "\"repeat\": 6, or \"repeat\": \"n\" with \"n\": 6 in `let`";
  if (count.kind == JsonValue::Integer) {
    if (count.integer >= 0)
      return count.integer;
    report(file.at(count.offset, "a repeat of " + std::to_string(count.integer) + " iterations",
                   "the number of iterations is 0 or more: " + form.str()));
    return std::nullopt;
  }
  if (!expectKind(count, JsonValue::String, "the number of iterations", form))
    return std::nullopt;
  SourceText text(file, count);
  NameScope scope{text, NameScope::Sizes};
  ExprPtr expr = parseExpression(text, diagnostics);
  const Scalar *value = expr ? evaluate(scope, *expr) : nullptr;
  if (!value || value->isPoison())
    return std::nullopt;
  if (value->type != ScalarType::Int)
    report(scope, expr->place,
           "the number of iterations is an integer, this is " + typeName(value->type).str(),
           "divide with `//`: " + form.str());
  else if (!value->isConstant())
    report(scope, expr->place,
           "the number of iterations is not known when the spec is compiled: it depends on "
           "extents that vary",
           "give those dims an extent in `dims`, or write a number: " + form.str());
  else if (value->integer < 0)
    report(scope, expr->place, "a repeat of " + std::to_string(value->integer) + " iterations",
           "the number of iterations is 0 or more");
  else
    return value->integer;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

/// Every name that the statements assign counts as wrong, so that nothing follows from what has
/// been reported about the repeat.
void ProgramBuilder::markAssignedWrong(const JsonValue &statement) {
  if (statement.kind == JsonValue::String)
    markWordsWrong(StringRef(statement.text).split('=').first);
  const JsonValue *body = statement.kind == JsonValue::Object ? statement.find("body") : nullptr;
  if (body)
    for (const JsonValue &inner : body->elements)
      markAssignedWrong(inner);
}

void ProgramBuilder::buildRepeat(const JsonValue &object) {
  unsigned errors = diagnostics.errorCount();
  std::optional<RepeatSyntax> repeat = readRepeat(object);
  std::optional<uint64_t> count = repeat ? repeatCount(*repeat->count) : std::nullopt;
  if (count && iterations.size() >= maxRepeatDepth) {
    report(file.at(object.offset,
                   "repeats are nested more than " + std::to_string(maxRepeatDepth) + " deep",
                   "join loops: 3 times 4 iterations are 12"));
    count.reset();
  }
  if (!count || !reserveStatements(object, *repeat, *count)) {
    bodyIncomplete |= diagnostics.errorCount() != errors;
    markAssignedWrong(object);
    return;
  }
  // Without iterations the body is still checked, once, and everything stays as it was.
  uint64_t built = std::max<uint64_t>(*count, 1);
  bool outerRepeats = repeats;
  for (uint64_t i = 0; i < built && diagnostics.errorCount() == errors; ++i) {
    repeats = outerRepeats || i > 0;
    buildIteration(*repeat, /*keep=*/*count > 0);
  }
  repeats = outerRepeats;
}

/// Counts the statements of a repeat against the limit.
bool ProgramBuilder::reserveStatements(const JsonValue &object, const RepeatSyntax &repeat,
                                       uint64_t count) {
  uint64_t length = repeat.body->elements.size();
  uint64_t built = std::max<uint64_t>(count, 1);
  if (built <= (maxRepeatedStatements - repeatedStatements) / length) {
    repeatedStatements += built * length;
    return true;
  }
  report(file.at(
      object.offset,
      "the repeats make more than " + std::to_string(maxRepeatedStatements) + " statements",
      "this one makes " + std::to_string(count) + " times " + std::to_string(length) +
          (iterations.empty() ? "" : ", in every iteration around it") + ": reduce either"));
  return false;
}

void ProgramBuilder::buildIteration(const RepeatSyntax &repeat, bool keep) {
  unsigned errors = diagnostics.errorCount();
  std::vector<Symbol> first;
  for (const CarriedName &carried : repeat.carry)
    first.push_back(*lookup(carried.name));
  iterations.emplace_back();
  for (const JsonValue &statement : repeat.body->elements)
    buildStatement(statement);
  IterationNames names = std::move(iterations.back());
  iterations.pop_back();
  if (diagnostics.errorCount() == errors)
    for (auto [carried, before] : llvm::zip_equal(repeat.carry, first))
      checkCarriedOn(carried, before, names.contains(builder.getStringAttr(carried.name)));
  endIteration(repeat, names, keep);
}

/// Compares a carried value with the one that the iteration began with.
void ProgramBuilder::checkCarriedOn(const CarriedName &carried, const Symbol &before,
                                    bool assigned) {
  const Symbol &after = *lookup(carried.name);
  auto differs = [&](const std::string &what, std::string was, std::string is, std::string remedy) {
    report(file.at(carried.offset,
                   "the carried '" + carried.name + "' " + what + " " + is +
                       " after an iteration and " + was + " before it",
                   std::move(remedy)));
  };
  auto listed = [](ArrayRef<StringAttr> dims) {
    std::string list;
    for (StringAttr dim : dims)
      list += (list.empty() ? "" : ", ") + dim.str();
    return "[" + list + "]";
  };
  if (!assigned) {
    report(file.at(carried.offset,
                   "the carried '" + carried.name + "' is not assigned in the body of the repeat",
                   "assign its next value there, or leave it out of `carry`: the body may use "
                   "any value from outside"));
    return;
  }
  auto dimsOf = [](const Symbol &symbol) {
    return symbol.value->kind == Scalar::Array
               ? cast<attn::ArrayType>(symbol.value->array.getType()).getDims()
               : ArrayRef<StringAttr>();
  };
  auto typeOf = [&](const Symbol &symbol) {
    return symbol.value->type == ScalarType::F64 ? "f64" : typeName(symbol.value->type).str();
  };
  auto labelOf = [&](const Symbol &symbol) {
    return symbol.labelled ? listed(symbol.axes) : std::string("nothing");
  };
  if (dimsOf(after) != dimsOf(before))
    differs("has the dims", listed(dimsOf(before)), listed(dimsOf(after)),
            "every iteration begins with a value of the same dims: rename or reduce those that "
            "the body adds");
  else if (after.value->type != before.value->type)
    differs("is", typeOf(before), typeOf(after),
            isFloat(after.value->type)
                ? "begin with a real number: 0.0 instead of 0, or cast(" + carried.name + ", f32)"
                : "every iteration begins with a value of the same type");
  else if (after.labelled != before.labelled || (after.labelled && after.axes != before.axes))
    differs("is labelled with", labelOf(before), labelOf(after),
            "give it the same label in both places");
}

/// Names that are not carried become again what they were outside.
void ProgramBuilder::endIteration(const RepeatSyntax &repeat, IterationNames &names, bool keep) {
  auto isCarried = [&](StringAttr name) {
    return llvm::any_of(repeat.carry, [&](const CarriedName &c) { return name == c.name; });
  };
  for (auto &[name, before] : llvm::reverse(names)) {
    if (keep && isCarried(name)) {
      if (!iterations.empty())
        iterations.back().insert({name, before});
    } else if (before) {
      symbols[name] = *before;
    } else if (symbols.back().first == name) {
      symbols.pop_back();
    } else {
      symbols.erase(name);
    }
    if (!before && !isCarried(name))
      repeatLocals.insert(name.getValue());
  }
}

/// Remembers what a name stood for before the iteration at hand assigned it.
void ProgramBuilder::noteAssignment(StringAttr name) {
  if (iterations.empty())
    return;
  Symbol *symbol = lookup(name);
  iterations.back().insert({name, symbol ? std::optional(*symbol) : std::nullopt});
}

} // namespace attnc
