// libFuzzer target of the compile path up to the evaluator: any spec that the frontend accepts goes
// through the passes, and means the same after each of them.
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/properties.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  attnc::fuzz::stopAt(attnc::fuzz::checkPasses(text));
  return 0;
}
