// The productions of random specs.
#ifndef ATTNC_TESTS_PROGRAMS_GRAMMAR_H
#define ATTNC_TESTS_PROGRAMS_GRAMMAR_H

#include "tests/programs/spec_writer.h"

namespace attnc::programs {

/// What has been defined so far, by the dims that it varies along, and what can be made of it. Each
/// function adds statements and returns the name of a result, or an expression.
class Grammar {
public:
  explicit Grammar(Choices &choices) : choices(choices), spec(choices) {}

  /// All of a spec.
  std::string run();

private:
  // scores.cpp: pairs of a row and a stream index
  std::string contraction();
  std::string changed(std::string score);
  std::string score();
  std::string condition(unsigned depth);
  std::string masked(const std::string &score);

  // normalisations.cpp: weights from scores
  std::string byMaximum(const std::string &score);
  std::string withoutMaximum(const std::string &score);
  std::string withSink(const std::string &score);
  std::string withoutExponential(const std::string &score);
  std::string normalised(const std::string &score);
  std::string combined(const std::string &weight);

  // folds.cpp: over the stream, the rows, or both
  void fold();
  void weightedValues();
  void statistics();
  void extrema();
  void moments();
  void columns();
  void secondLayer();
  void products();
  void randomFold();

  // expressions.cpp: anything
  std::string pairExpression(unsigned depth);
  std::string rowExpression(unsigned depth);
  std::string foldOf(const std::string &pair);
  std::string rowInput();
  std::string columnInput();

  std::string oneOf(const std::vector<std::string> &names) {
    return names[choices.below(static_cast<uint32_t>(names.size()))];
  }
  void give(const std::string &name, std::vector<std::string> *known = nullptr) {
    spec.output(name);
    if (known)
      known->push_back(name);
  }

  Choices &choices;
  SpecWriter spec;
  std::vector<std::string> scores;  ///< rows x stream, finite but for masks
  std::vector<std::string> weights; ///< rows x stream, mostly of one sign
  std::vector<std::string> rows;    ///< rows
  std::vector<std::string> vectors; ///< rows x e
};

} // namespace attnc::programs

#endif
