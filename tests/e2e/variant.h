// A spec of the library, compiled once for a target and checked at many shapes.
#ifndef ATTNC_TESTS_E2E_VARIANT_H
#define ATTNC_TESTS_E2E_VARIANT_H

#include "compiler/driver/checks/check.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

namespace attnc::e2e {

using Extents = std::map<std::string, int64_t>;

/// The names of all specs of the library.
std::vector<std::string> specNames();

/// The names of the specs in tests/e2e/specs: what the library does not have, so that the compiler
/// is shown to follow rules and not the library.
std::vector<std::string> furtherSpecNames();

/// Those of both sets whose formula stays in f32's range where logits are large. Exponentials
/// without a maximum under them do not: f32 overflows, as written.
std::vector<std::string> specNamesForLargeLogits();

/// Numbers of queries and keys on both sides of the boundaries of tiles of 16, 64 and 128: each
/// length stands once for either, and the two are never equal.
struct Lengths {
  int64_t queries, keys;
};
extern const std::vector<Lengths> lengthPairs;

/// A checked spec of the library or of tests/e2e/specs. Adds a test failure and is empty if it has
/// errors. Library specs whose static extents would take minutes have smaller ones unless `set`
/// says otherwise.
class LoadedSpec {
public:
  explicit LoadedSpec(const std::string &name, std::map<std::string, std::string> set = {});

  explicit operator bool() const { return spec.has_value(); }
  const Spec &operator*() const { return *spec; }
  const Spec *operator->() const { return &*spec; }

  /// The reference extents with these lengths of i and j; one batch only, for long ones. The
  /// reference extents themselves where the spec requires other lengths.
  Extents extents(Lengths lengths) const;

private:
  /// Whether the requirements of the spec hold.
  bool admits(const Extents &extents) const;

  std::unique_ptr<mlir::MLIRContext> context;
  std::optional<Spec> spec;
};

/// A spec with overrides, as of --set.
struct Setting {
  std::string spec;
  std::map<std::string, std::string> set;

  /// "causal_Tf16", for the name of a test.
  std::string name() const;
  friend void PrintTo(const Setting &setting, std::ostream *os) { *os << setting.name(); }
};

/// Compiles for "cpu", or for the target of `device`, with the keys of a schedule that are given.
Result<std::unique_ptr<driver::Executor>>
makeExecutor(const Spec &spec, std::shared_ptr<const CudaDevice> device = nullptr,
             const nlohmann::json &schedule = {});

/// The GPU of this machine and what is needed to use it, or why there is none.
Result<std::shared_ptr<const CudaDevice>> openGpu();

/// Expects that every output is within its tolerance on random and on planted inputs, which lie in
/// memory as `layout` says.
void expectCorrect(const Spec &spec, const driver::Executor &executor, const Extents &extents,
                   const driver::TensorLayout &layout = {});

/// The same where float64 itself leaves some elements undecided.
void expectNothingWrong(const Spec &spec, const driver::Executor &executor, const Extents &extents);

/// Odd offsets and paddings: no address and no stride is aligned to more than an element.
std::vector<driver::TensorLayout> unalignedLayouts();

/// The same on inputs that are hard on a running softmax: logits of 1e4, maxima that keep rising,
/// infinities in what is added to logits.
void expectCorrectOnAdversarialInputs(const Spec &spec, const driver::Executor &executor,
                                      const Extents &extents);

/// Expects that a program of f32 throughout loses no more than f32 does: on random inputs, the
/// error of every output, as root mean square, is at most 2^-18 of the output's. f32's own comes to
/// a few units of 2^-24; one product of operands rounded to tf32 (2^-12 each) to more than 2^-14.
void expectFloat32Accuracy(const Spec &spec, const driver::Executor &executor,
                           const Extents &extents);

/// Expects that runs on the same inputs give the same bits.
void expectSameBits(const Spec &spec, const driver::Executor &executor, const Extents &extents);

} // namespace attnc::e2e

#endif
