#include "compiler/transforms/derivation/spec_text.h"
#include "dialects/Attn/SpecLocation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace attnc::attn;
using attnc::red::FoldKind;
using attnc::red::FoldOp;

namespace attnc {
namespace {

/// How tightly the outermost operation of a text binds.
enum Level { Disjunction, Conjunction, Negated, Comparison, Sum, Product, Sign, Power, Atom };

struct Words {
  std::string text;
  Level level = Atom;
};

// With more operations than this a text says less than its beginning does.
constexpr unsigned kMostOperations = 16;

std::string number(double value) {
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

std::string within(const Words &words, Level least) {
  return words.level < least ? "(" + words.text + ")" : words.text;
}

Words infix(StringRef sign, Level level, const Words &x, const Words &y) {
  // Behind - and / the other side has to bind tighter.
  bool associates = sign == "+" || sign == "*" || sign == "and" || sign == "or";
  if (sign == "**") // what is raised is no power itself
    return {within(x, Atom) + " ** " + within(y, Sign), level};
  return {within(x, level) + " " + sign.str() + " " +
              within(y, associates ? level : Level(level + 1)),
          level};
}

Words call(StringRef name, ArrayRef<Words> arguments) {
  std::string text;
  for (const Words &argument : arguments)
    text += (text.empty() ? "" : ", ") + argument.text;
  return {name.str() + "(" + text + ")"};
}

Words negative(const Words &x) { return {"-" + within(x, Sign), Sign}; }

StringRef comparison(StringRef predicate) {
  return llvm::StringSwitch<StringRef>(predicate)
      .Cases({"oeq", "ueq", "eq"}, "==")
      .Cases({"one", "une", "ne"}, "!=")
      .Cases({"olt", "ult", "slt"}, "<")
      .Cases({"ole", "ule", "sle"}, "<=")
      .Cases({"ogt", "ugt", "sgt"}, ">")
      .Cases({"oge", "uge", "sge"}, ">=")
      .Default(predicate);
}

Level levelOf(StringRef sign) {
  return llvm::StringSwitch<Level>(sign)
      .Cases({"+", "-"}, Sum)
      .Cases({"*", "/", "//", "%"}, Product)
      .Case("and", Conjunction)
      .Case("or", Disjunction)
      .Case("**", Power)
      .Cases({"==", "!=", "<", "<=", ">", ">="}, Comparison)
      .Default(Atom);
}

StringRef wordOf(FoldKind kind) {
  switch (kind) {
  case FoldKind::Add:
    return "sum";
  case FoldKind::Mul:
    return "prod";
  case FoldKind::And:
    return "all";
  case FoldKind::Or:
    return "any";
  case FoldKind::Max:
  case FoldKind::Min:
    return red::stringifyFoldKind(kind);
  }
  llvm_unreachable("all kinds are listed");
}

bool isConversion(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::ExtSIOp, arith::TruncIOp>(op);
}

Words ofOp(Operation *op, ArrayRef<Words> x) {
  if (isConversion(op))
    return x[0];
  StringRef word = operationWord(op);
  Level level = levelOf(word);
  if (level != Atom && x.size() == 2)
    return infix(word, level, x[0], x[1]);
  if (word == "-")
    return negative(x[0]);
  return call(word, x);
}

class Writer {
public:
  Words array(Value value) {
    if (value.getDefiningOp<red::NestOp>())
      return definition(value); // each result has a name of its own
    StringRef name = specName(value.getLoc());
    return name.empty() ? definition(value) : Words{name.str()};
  }

  Words definition(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || left == 0)
      return {"..."};
    return llvm::TypeSwitch<Operation *, Words>(op)
        .Case<InputOp, ParamOp>([](auto source) { return Words{source.getName().str()}; })
        .Case([](IndexOp index) { return Words{index.getDim().str()}; })
        .Case([](SizeOp size) { return Words{"size(" + size.getDim().str() + ")"}; })
        .Case([&](ReadOp read) { return read.isPlain() ? array(read.getSource()) : element(read); })
        .Case([&](FoldOp fold) { return folded(fold); })
        .Case([&](MapOp map) { return scalar(map, map.getYielded()); })
        .Case([&](red::NestOp nest) {
          auto yield = cast<red::YieldOp>(nest.getBodyBlock()->getTerminator());
          return array(yield.getValues()[cast<OpResult>(value).getResultNumber()]);
        })
        .Default([](Operation *) { return Words{"..."}; });
  }

  // With its subscripts, also where they are the dims of the array.
  Words element(ReadOp read) {
    std::string text = array(read.getSource()).text, subscripts;
    for (auto [axis, subscript] : llvm::enumerate(read.getSubscripts())) {
      Value value = read.subscriptValue(axis);
      subscripts += (axis ? ", " : "") +
                    (value ? array(value).text : read.subscriptDim(axis).getValue().str());
    }
    return {text + "[" + subscripts + "]"};
  }

  Words expression(const ScalarExpr *e) {
    return e->origin ? Words{specName(e->origin.getLoc()).str()} : definition(e);
  }

  Words definition(const ScalarExpr *e) {
    using Kind = ScalarExpr::Kind;
    if (e->kind == Kind::Leaf)
      return array(e->leaf);
    if (e->kind == Kind::Constant)
      return {number(e->constant), e->constant < 0 ? Sign : Atom};
    if (left == 0)
      return {"..."};
    --left;
    SmallVector<Words> x;
    for (const ScalarExpr *arg : e->args)
      x.push_back(expression(arg));
    switch (e->kind) {
    case Kind::Neg:
      return negative(x[0]);
    case Kind::Add:
      return infix("+", Sum, x[0], x[1]);
    case Kind::Sub:
      return infix("-", Sum, x[0], x[1]);
    case Kind::Mul:
      return infix("*", Product, x[0], x[1]);
    case Kind::Div:
      return infix("/", Product, x[0], x[1]);
    case Kind::Max:
      return call("maximum", x);
    case Kind::Exp:
      return call("exp", x);
    case Kind::Log:
      return call("log", x);
    case Kind::Empty:
      return infix("==", Comparison, x[0], {"-inf"});
    case Kind::Equal:
      return infix("==", Comparison, x[0], x[1]);
    case Kind::Select:
      return call("where", x);
    default:
      return ofOp(e->op, x);
    }
  }

private:
  // sum(j, v * exp(s - m))
  Words folded(FoldOp fold) {
    --left;
    std::optional<Words> term;
    auto multiply = [&](const Words &factor) {
      term = term ? infix("*", Product, *term, factor) : factor;
    };
    for (Value factor : fold.getFactors())
      multiply(array(factor));
    if (fold.getExponent())
      multiply(call("exp", infix("-", Sum, array(fold.getExponent()), array(fold.getReference()))));
    if (fold.getBase()) {
      Words difference = infix("-", Sum, array(fold.getBase()), array(fold.getCentre()));
      std::string power = fold.degree() > 1 ? "**" + std::to_string(fold.degree()) : "";
      multiply({"(" + difference.text + ")" + power});
    }
    std::string dims;
    for (StringAttr dim : dimNames(fold.getDims()))
      dims += dim.getValue().str() + ", ";
    return {operationWord(fold).str() + "(" + dims + (term ? term->text : "1") + ")"};
  }

  Words scalar(MapOp map, Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return array(map.getOperand(argument.getArgNumber()));
    Operation *op = value.getDefiningOp();
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      double known = 0;
      if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
        known = real.getValueAsDouble();
      else if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
        known = static_cast<double>(integer.getInt());
      return {number(known), known < 0 ? Sign : Atom};
    }
    if (left == 0)
      return {"..."};
    --left;
    SmallVector<Words> x;
    for (Value operand : op->getOperands())
      x.push_back(scalar(map, operand));
    return ofOp(op, x);
  }

  unsigned left = kMostOperations;
};

} // namespace

StringRef operationWord(Operation *op) {
  if (auto fold = dyn_cast<FoldOp>(op))
    return wordOf(fold.getKind());
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return comparison(stringifyCmpFPredicate(compare.getPredicate()));
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return comparison(stringifyCmpIPredicate(compare.getPredicate()));
  StringRef name = op->getName().stripDialect();
  return llvm::StringSwitch<StringRef>(name)
      .Cases({"addf", "addi"}, "+")
      .Cases({"sub", "subf", "subi", "negf"}, "-")
      .Cases({"mulf", "muli"}, "*")
      .Case("divf", "/")
      .Case("powf", "**")
      .Case("floordivsi", "//")
      .Cases({"mod", "remsi"}, "%")
      .Case("andi", "and")
      .Case("ori", "or")
      .Case("xori", "!=")
      .Case("select", "where")
      .Cases({"maximumf", "maxsi"}, "maximum")
      .Cases({"minimumf", "minsi"}, "minimum")
      .Cases({"absf", "absi"}, "abs")
      .Default(name);
}

std::string specTextOf(Value array) { return Writer().array(array).text; }

std::string definitionOf(Value array) { return Writer().definition(array).text; }

std::string subscriptedWords(ReadOp read) { return Writer().element(read).text; }

std::string specTextOf(const ScalarExpr *e) { return Writer().expression(e).text; }

std::string definitionOf(const ScalarExpr *e) { return Writer().definition(e).text; }

std::string specTextOfProduct(ArrayRef<const ScalarExpr *> factors) {
  std::optional<Words> product;
  for (const ScalarExpr *factor : factors) {
    Words words = Writer().expression(factor);
    product = product ? infix("*", Product, *product, words) : words;
  }
  return product ? product->text : "1";
}

std::string specTextOfSum(ArrayRef<const ScalarExpr *> summands) {
  std::optional<Words> sum;
  for (const ScalarExpr *part : summands) {
    bool minus = sum && part->kind == ScalarExpr::Kind::Neg;
    Words words = Writer().expression(minus ? part->args[0] : part);
    sum = sum ? infix(minus ? "-" : "+", Sum, *sum, words) : words;
  }
  return sum ? sum->text : "0";
}

} // namespace attnc
