// libFuzzer target of the spec parser: any bytes give a verified program or a located error.
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/properties.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  attnc::fuzz::stopAt(attnc::fuzz::checkParser(text));
  return 0;
}
