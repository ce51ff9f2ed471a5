// What holds for every spec: passes, code for the processor and kernels compute what it says.
#ifndef ATTNC_TESTS_PROGRAMS_PROPERTY_H
#define ATTNC_TESTS_PROGRAMS_PROPERTY_H

#include "runtime/cuda/image_compiler.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attnc::programs {

/// Tiles of the processor's code: 0 stands for the compiler's choice.
struct Tiles {
  int64_t row = 0, stream = 0;
};

/// What is checked of a spec's gradients.
struct GradientStages {
  bool checked = false;             ///< at all: what they are, and that passes keep it
  std::vector<std::string> targets; ///< "cpu", and GPUs whose kernels the interpreter runs
};

/// What is checked of a spec, beside that the passes keep its meaning.
struct Stages {
  int64_t parts = 0;                ///< more than 1: also with its streams split
  std::vector<Tiles> cpu;           ///< code for the processor, once for each
  std::vector<std::string> targets; ///< GPUs whose kernels the interpreter runs
  std::vector<std::string> built;   ///< GPUs whose kernels NVRTC compiles
  GradientStages gradients;
};

/// What came of a spec.
struct Outcome {
  bool refused = false; ///< the frontend, the evaluator or a target cannot take it
  std::string why;      ///< it is refused
  /// What went wrong, or nothing: the stage ("passes", "split", "cpu", "sm_80", ...) and how.
  std::optional<std::string> stage;
  std::string failure;
  std::map<std::string, unsigned> rules; ///< of the algebra, by name, that were applied
  std::map<std::string, unsigned> done;  ///< stages that passed, and how often
  size_t nests = 0, states = 0;          ///< of the program after the passes
};

/// NVRTC, or why there is none.
Result<std::shared_ptr<const ImageCompiler>> imagesOfProcess();

/// Evaluates `text` on ordinary and adversarial inputs before and after the passes; compiles it as
/// `stages` says and compares with the evaluator. Stops at the first failure.
Outcome checkSpec(const std::string &text, const Stages &stages);

} // namespace attnc::programs

#endif
