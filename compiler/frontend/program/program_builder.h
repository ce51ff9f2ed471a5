// From the JSON of a spec to an attn.program: names, types, checks.
#ifndef ATTNC_COMPILER_FRONTEND_PROGRAM_PROGRAM_BUILDER_H
#define ATTNC_COMPILER_FRONTEND_PROGRAM_PROGRAM_BUILDER_H

#include "compiler/frontend/bounds/bounds.h"
#include "compiler/frontend/bounds/index_form.h"
#include "compiler/frontend/bounds/subscript_arithmetic.h"
#include "compiler/frontend/frontend.h"
#include "compiler/frontend/program/repeat.h"
#include "compiler/frontend/text/expression.h"
#include "compiler/frontend/text/statement_lines.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace attnc {

/// What a name stands for.
struct Symbol {
  enum Kind { Dim, Input, Param, Let, Result, Wrong };
  Kind kind = Wrong; // Wrong: its declaration had errors, which have been reported
  bool used = false;
  /// Where it is declared, in bytes of the file.
  size_t offset = 0;
  /// Of a dim: the extent if it is static.
  std::optional<int64_t> extent;
  /// Of a dim: the expression in `dims` that gives its extent.
  const JsonValue *computed = nullptr;
  /// Of a dim: the expression of integer inputs that gives its length, and that length once known.
  const JsonValue *lengthText = nullptr;
  const Scalar *length = nullptr;
  /// Of a ragged dim: the axis that holds its rows, the dim that counts its sequences, the input of
  /// their offsets, and the first row of each of these. Of an axis of rows: the ragged dim.
  mlir::StringAttr rows, over, offsets, packs;
  const JsonValue *startText = nullptr;
  const Scalar *start = nullptr;
  /// Of an input: its array.
  mlir::Value array;
  /// Of an input or a labelled result: the dims in the order of its subscripts.
  llvm::SmallVector<mlir::StringAttr> axes;
  bool labelled = false;
  /// Of a let: its declaration.
  const JsonMember *let = nullptr;
  /// Of a param, a let or a result: its value. Of a dim with a computed extent: that, once known.
  const Scalar *value = nullptr;
};

enum class Reduction;

/// The names that one iteration of a repeat assigns, with what they stood for before.
using IterationNames = llvm::MapVector<mlir::StringAttr, std::optional<Symbol>>;

/// The text that an expression is evaluated from, and what it may use.
struct NameScope {
  const SourceText &text;
  enum Names { Sizes, Body } names;

  /// The text of the expression, in one line.
  std::string quote(const SyntaxExpr &expr) const {
    return inOneLine(text.text().slice(expr.begin, expr.end));
  }
};

/// Builds the program of one spec. Every statement is checked even after errors: what is wrong is
/// reported once and stands for anything afterwards.
class ProgramBuilder {
public:
  ProgramBuilder(mlir::MLIRContext &context, const SourceFile &file, const JsonValue &root,
                 const Overrides &overrides, Diagnostics &diagnostics);

  std::optional<Spec> build();

private:
  // program_builder.cpp: sections in order, the finished program.
  bool checkSections();
  void readHeading();
  void createProgram();
  void warnUnused();
  void eraseUnused();
  bool verifyModule();

  // declarations.cpp: types, dims, inputs.
  void declareTypes();
  void declareInputs();
  void declareDims();
  bool checkNumberOfDims();
  void applyOverrides();
  void createInputs();
  mlir::Type lookupType(llvm::StringRef name);
  mlir::Type requireType(const SourceText &text, const PlacedName &name);
  void readExtent(llvm::StringRef dim, const JsonValue &value);
  void readLength(llvm::StringRef dim, const JsonValue &value);
  void readGreatest(llvm::StringRef dim, const JsonValue &value);
  bool checkStaticSize(llvm::ArrayRef<mlir::StringAttr> dims, const Diagnostic &place);
  bool checkExtent(int64_t extent, const Diagnostic &place);
  Symbol *declare(llvm::StringRef name, Symbol::Kind kind, size_t offset);

  // extents.cpp: extents that no input says.
  void resolveExtents();
  void resolveExtent(mlir::StringAttr dim);
  const Scalar *evaluateExtent(const JsonValue &definition, mlir::StringAttr dim);
  void assumeExtents();

  // lengths.cpp: lengths that come from a tensor.
  void resolveLengths();
  const Scalar *lengthOf(mlir::StringAttr dim);
  void forgetLength(mlir::StringAttr dim);
  const Scalar *evaluateLength(const JsonValue &definition, mlir::StringAttr dim);
  const Scalar *withinLength(mlir::StringAttr dim, mlir::Location loc);
  bool isWithinLength(const Scalar *condition, mlir::StringAttr dim);
  bool hasLengths(mlir::Value source);
  bool vanishesBeyond(const Scalar *value, mlir::StringAttr dim);
  static bool isFinite(const Scalar *value);
  const Scalar *vanishBeyond(const Scalar *value, mlir::StringAttr dim, mlir::Location loc);
  const Scalar *replaceBeyond(const Scalar *value, mlir::StringAttr dim, double other,
                              mlir::Location loc);
  const Scalar *extremeOrNumber(double value, ScalarType type, mlir::Location loc);
  const Scalar *keepWithinLengths(const Scalar *operand, llvm::ArrayRef<mlir::StringAttr> dims,
                                  double identity, llvm::SmallDenseSet<mlir::StringAttr> &kept,
                                  mlir::Location loc);
  const Scalar *storedWithinLengths(const Scalar *value, llvm::ArrayRef<mlir::StringAttr> axes,
                                    const Diagnostic &place);
  void noteVanishing(mlir::Value array, const Scalar *value);

  // params.cpp: let, params, require.
  void declareLets();
  const JsonValue *integerLet(llvm::StringRef name);
  int64_t letValue(const JsonMember &let);
  void resolveLet(const JsonMember &let);
  void declareParams();
  void declareParam(const JsonMember &param);
  void readRequires();
  void readRequire(const JsonValue &text);
  const Scalar *paramDefault(const NameScope &scope, const SyntaxExpr &value, ScalarType type);

  // statements.cpp: the body; names, operators.
  void buildBody();
  void buildStatement(const JsonValue &text);
  void refuseLines(const JsonValue &list);
  void assign(const SourceText &text, const Statement &statement, const Scalar *value,
              mlir::Operation *before);
  mlir::Operation *lastOperation();
  bool isFresh(mlir::Value array, mlir::Operation *before);
  std::string useOfLabel(mlir::StringAttr dim);
  bool checkLabel(const SourceText &text, const Statement &statement,
                  llvm::ArrayRef<mlir::StringAttr> dims);
  const Scalar *evaluate(const NameScope &scope, const SyntaxExpr &expr);
  const Scalar *evaluateNode(const NameScope &scope, const SyntaxExpr &expr);
  const Scalar *evaluateName(const NameScope &scope, const SyntaxExpr &expr);
  const Scalar *evaluateBinary(const NameScope &scope, const SyntaxExpr &expr);
  const Scalar *divideWhole(const NameScope &scope, const SyntaxExpr &expr, ScalarOp op,
                            const Scalar *a, const Scalar *b);
  const Scalar *power(const NameScope &scope, const SyntaxExpr &expr, const Scalar *a,
                      const Scalar *b);
  const Scalar *unknownName(const NameScope &scope, llvm::StringRef name, size_t place,
                            bool wantsDim = false);

  // calls.cpp: functions and sizes.
  const Scalar *evaluateCall(const NameScope &scope, const SyntaxExpr &expr);
  const Scalar *sizeOf(const NameScope &scope, const SyntaxExpr &expr);
  const Scalar *callScalar(const NameScope &scope, const SyntaxExpr &expr);
  llvm::SmallVector<const Scalar *> arguments(const NameScope &scope, const SyntaxExpr &expr,
                                              ScalarType &type);
  const Scalar *saturated(mlir::Location loc, const Scalar *whole, mlir::Type storage);
  const Scalar *castTo(const NameScope &scope, const SyntaxExpr &expr);

  // reductions.cpp
  const Scalar *reduce(const NameScope &scope, const SyntaxExpr &expr);
  std::pair<llvm::SmallVector<mlir::StringAttr>, llvm::SmallVector<mlir::StringAttr>>
  dividedByUse(const Scalar *operand, llvm::ArrayRef<mlir::StringAttr> dims);
  void warnAboutMissing(const NameScope &scope, const SyntaxExpr &expr, mlir::StringAttr dim);
  const Scalar *reduceDependents(Reduction kind, const Scalar *operand,
                                 llvm::SmallVectorImpl<mlir::StringAttr> &dims,
                                 llvm::SmallDenseSet<mlir::StringAttr> &kept, mlir::Location loc);
  bool lengthDiffersAlong(mlir::StringAttr dim, llvm::ArrayRef<mlir::StringAttr> dims);
  const Scalar *numberOf(llvm::SmallVector<mlir::StringAttr> dims, mlir::Location loc);
  const Scalar *reduceArray(Reduction kind, mlir::Location loc, mlir::Value array,
                            llvm::ArrayRef<mlir::StringAttr> dims);
  const Scalar *reduceMissing(Reduction kind, const Scalar *value, mlir::StringAttr dim,
                              mlir::Location loc);
  std::optional<llvm::SmallVector<mlir::StringAttr>> reducedDims(const NameScope &scope,
                                                                 const SyntaxExpr &list);

  // repeat.cpp: iterations of a body.
  std::optional<RepeatSyntax> readRepeat(const JsonValue &object);
  bool readCarry(const JsonValue &list, std::vector<CarriedName> &carry);
  bool checkCarried(const CarriedName &carried);
  std::optional<uint64_t> repeatCount(const JsonValue &count);
  void markAssignedWrong(const JsonValue &statement);
  void buildRepeat(const JsonValue &object);
  bool reserveStatements(const JsonValue &object, const RepeatSyntax &repeat, uint64_t count);
  void buildIteration(const RepeatSyntax &repeat, bool keep);
  void checkCarriedOn(const CarriedName &carried, const Symbol &before, bool assigned);
  void endIteration(const RepeatSyntax &repeat, IterationNames &names, bool keep);
  void noteAssignment(mlir::StringAttr name);

  // random.cpp: rand.
  const Scalar *randomNumber(const NameScope &scope, const SyntaxExpr &expr);

  // reads.cpp: subscripts and the proof that they stay inside.
  const Scalar *evaluateRead(const NameScope &scope, const SyntaxExpr &expr);
  /// One subscript of a read: a dim, or an integer array.
  struct Subscript {
    mlir::StringAttr dim;
    mlir::Value value;
    bool inside = true; // proven to stay within the axis
    /// Its text if it is checked when the program runs.
    mlir::StringAttr checked;
  };
  using Subscripts = llvm::SmallDenseMap<mlir::StringAttr, Subscript>;
  bool keepWithinLengths(mlir::Location loc, mlir::Value source, Subscripts &subscripts);

  // ragged.cpp: sequences that are packed without padding.
  const JsonValue *synthesise(std::string text, size_t offset);
  void readRagged(llvm::StringRef dim, const JsonValue &value);
  void shareRows();
  bool checkSequences(mlir::StringAttr dim);
  bool checkPackedAxes(const SourceText &text, const ArrayTypeSyntax &syntax);
  llvm::SmallVector<mlir::StringAttr> storedDims(llvm::ArrayRef<mlir::StringAttr> axes);
  mlir::StringAttr indexDim(mlir::StringAttr axis);
  const Scalar *evaluateText(const JsonValue &of);
  const Scalar *startOf(mlir::StringAttr dim);
  Subscript packedSubscript(mlir::Location loc, mlir::StringAttr dim, const Subscript &subscript);
  mlir::Value leastOffset(mlir::StringAttr dim, bool later, mlir::Location loc);
  mlir::Value sequenceOfRow(mlir::StringAttr dim, mlir::Location loc);
  const Scalar *readQuietly(mlir::Location loc, mlir::Value source, const Subscripts &subscripts);
  const Scalar *packOutput(const Scalar *value, llvm::SmallVector<mlir::StringAttr> &axes);
  mlir::Value commonSequence(mlir::Location loc, mlir::Value one, mlir::Value other);

  bool checkSubscript(const NameScope &scope, const SyntaxExpr &read, const SyntaxExpr &arg,
                      mlir::StringAttr axis, const Scalar *&value, Subscript &subscript);

  // subscript_findings.cpp: what is said about a subscript that is not proven to stay inside.
  /// What could stand in `require`, and how proofs take it over.
  struct PossibleFact {
    std::string text;
    std::function<void(SizeFacts &)> assume;
  };
  bool refuseSubscript(const NameScope &scope, const SyntaxExpr &read, const SyntaxExpr &subscript,
                       mlir::StringAttr axis, const Scalar *value, bool above, bool below);
  std::string greatestOf(const Scalar *value);
  std::optional<std::string> factThatHelps(const NameScope &scope, const SyntaxExpr &subscript,
                                           const Scalar *value, const Polynomial &size, bool above,
                                           bool below);
  void collectDivisions(const Scalar *value, unsigned depth, std::vector<PossibleFact> &found);
  std::optional<PossibleFact> boundsAsFact(const Scalar *value, const Polynomial &size, bool above,
                                           bool below);
  std::optional<std::string> spelledInSizes(const Polynomial &size);

  std::optional<double> otherwiseValue(const NameScope &scope, const SyntaxExpr &read,
                                       ScalarType type);
  bool checkRead(const NameScope &scope, const SyntaxExpr &expr, const Symbol &symbol);
  std::optional<Subscript> evaluateSubscript(const NameScope &scope, const SyntaxExpr &read,
                                             const SyntaxExpr &arg, mlir::StringAttr axis);
  const Scalar *readAt(mlir::Location loc, mlir::Value source,
                       const llvm::SmallDenseMap<mlir::StringAttr, Subscript> &subscripts,
                       std::optional<double> otherwise);
  const Scalar *readWhole(const NameScope &scope, const SyntaxExpr &expr, const Symbol &symbol);
  mlir::Value plainRead(mlir::Location loc, mlir::Value source, llvm::StringRef name);

  // outputs.cpp: outputs, grad, schedule, reference.
  void createOutputs();
  void createOutput(const JsonMember &output);
  void reportNoGradient(const JsonValue &name, const Symbol *symbol);
  const Symbol *differentiable(const JsonValue &name);
  std::vector<std::string> gradientsOf(const JsonValue &entry);
  void readGrad();
  void readReference();

  // warnings.cpp: likely mistakes.
  void warn(Diagnostic finding);
  void warnAboutComparison(const NameScope &scope, const SyntaxExpr &expr, const Scalar *left,
                           const Scalar *right);
  void warnAboutPair(const NameScope &scope, const SyntaxExpr &expr, const Scalar *left,
                     const Scalar *right);
  void warnAboutAlignment(const NameScope &scope, const SyntaxExpr &expr, const IndexForm &form);
  std::optional<int64_t> triedExtent(mlir::StringAttr dim);
  bool dependsOnSetting(const SyntaxExpr &expr);
  void warnAboutStatements();
  void warnAboutDims();

  // Shared.
  const JsonValue *section(llvm::StringRef key, JsonValue::Kind kind);
  bool expectKind(const JsonValue &value, JsonValue::Kind kind, llvm::StringRef what,
                  llvm::StringRef remedy);
  void report(const NameScope &scope, size_t place, std::string message, std::string remedy = "");
  void report(Diagnostic diagnostic) {
    // What an iteration warns about, the first one has warned about.
    if (!repeats || diagnostic.severity == Diagnostic::Error)
      diagnostics.add(std::move(diagnostic));
  }
  const Scalar *wrong(const NameScope &scope, size_t place, std::string message,
                      std::string remedy = "");
  void markWrong(llvm::StringRef name);
  void markWordsWrong(llvm::StringRef text);
  mlir::Location locate(const NameScope &scope, size_t place, llvm::StringRef name = "");
  mlir::Location locate(size_t offset, llvm::StringRef name);
  mlir::Value materialise(mlir::Location loc, const Scalar *value);
  mlir::Value indexOf(mlir::StringAttr dim, mlir::Location loc);
  const Scalar *sizeOfDim(mlir::StringAttr dim, mlir::Location loc);
  const Scalar *boundOfDim(mlir::StringAttr dim, mlir::Location loc);
  Polynomial sizePolynomial(mlir::StringAttr dim);
  Symbol *lookup(llvm::StringRef name);
  mlir::StringAttr dimNamed(llvm::StringRef name);
  /// The names of these kinds, to suggest near ones.
  std::vector<std::string> namesOf(llvm::function_ref<bool(Symbol::Kind)> wanted);
  std::vector<std::string> namesOf(Symbol::Kind kind) {
    return namesOf([=](Symbol::Kind k) { return k == kind; });
  }
  attn::ArrayType arrayType(llvm::ArrayRef<mlir::StringAttr> dims, ScalarType type);

  mlir::MLIRContext &context;
  const SourceFile &file;
  const JsonValue &root;
  const Overrides &overrides;
  Diagnostics &diagnostics;

  Spec spec;
  mlir::OpBuilder builder;
  attn::ProgramOp program;
  llvm::StringMap<mlir::Type> types;
  /// In order of declaration; dims as the program lists them.
  llvm::MapVector<mlir::StringAttr, Symbol> symbols;
  std::map<std::string, ArrayTypeSyntax> inputTypes;
  llvm::StringSet<> reportedNames;
  std::vector<std::string> letsInProgress, lengthsInProgress;
  std::deque<JsonValue> synthesised;
  unsigned evaluationDepth = 0;
  /// Pairs of dims whose alignment has been warned about.
  llvm::StringSet<> warnedPairs;
  /// Comparisons that warnings have looked at.
  unsigned comparisons = 0;
  /// A statement could not be read at all, so nothing is said about results that are missing.
  bool bodyIncomplete = false;
  /// An extent was wrong, so nothing is said about bounds, labels and a reference that lacks one.
  bool extentsIncomplete = false;
  /// The iterations that the statement at hand stands in, outermost first.
  std::vector<IterationNames> iterations;
  /// The statement at hand has been built before, in an earlier iteration.
  bool repeats = false;
  uint64_t repeatedStatements = 0;
  /// Names whose assignment was refused: what they stand for afterwards is not what was meant.
  llvm::StringSet<> refusedNames;
  /// Names that were results only inside a repeat.
  llvm::StringSet<> repeatLocals;

  ScalarFactory scalars;
  SizeFacts facts;
  IntervalAnalysis intervals{facts};
  SubscriptArithmetic subscriptArithmetic{scalars, intervals};
  llvm::DenseMap<mlir::StringAttr, mlir::Value> indices, sizes;
  llvm::DenseMap<mlir::Value, mlir::Value> reads;
  /// Arrays that are 0 wherever the index of the dim is beyond its length.
  llvm::DenseSet<std::pair<mlir::Value, mlir::StringAttr>> vanishing;
  /// Arrays by what they hold: that of the key, and a constant beyond the length of the dim.
  std::map<std::tuple<void *, void *, double>, const Scalar *> replaced;
};

/// The names of the functions of expressions, reductions included.
llvm::ArrayRef<llvm::StringRef> functionNames();
bool isFunctionName(llvm::StringRef name);
llvm::ArrayRef<llvm::StringRef> reductionNames();
/// What an operator of the syntax computes.
ScalarOp scalarOp(Operator op);

} // namespace attnc

#endif
