// What each libFuzzer target has beside its entry. Included by one file of a binary.
#ifndef ATTNC_TESTS_FUZZ_FUZZ_TARGET_H
#define ATTNC_TESTS_FUZZ_FUZZ_TARGET_H

#include "tests/fuzz/properties.h"
#include "tests/fuzz/spec_mutator.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <string>

// LLVM's own code is not instrumented, so what it poisons or annotates must not be reported.
extern "C" const char *__asan_default_options();
extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0";
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

// Half of the steps are libFuzzer's own, on bytes and with the words of the dictionary; the others
// keep the text a spec.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity,
                                          unsigned seed) {
  if (seed % 2 == 0)
    return LLVMFuzzerMutate(data, size, capacity);
  std::string text = attnc::fuzz::mutateSpec({reinterpret_cast<char *>(data), size}, seed / 2);
  if (text.size() > capacity)
    return LLVMFuzzerMutate(data, size, capacity);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

namespace attnc::fuzz {

/// Ends the run with a message, which libFuzzer reports together with the input.
inline void stopAt(const Violation &violation) {
  if (!violation)
    return;
  llvm::errs() << "violated: " << *violation << "\n";
  std::abort();
}

} // namespace attnc::fuzz

#endif
