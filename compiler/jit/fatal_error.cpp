#include "compiler/jit/fatal_error.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/PrettyStackTrace.h"
#include <atomic>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>

namespace attnc {

namespace {

/// Where a thread goes on when LLVM gives up.
struct WayBack {
  std::jmp_buf place;
  WayBack *outer;
  bool outOfMemory;
  char reason[500]; // LLVM's own text is gone by then, and there may be no memory for another
};

thread_local WayBack *innermost = nullptr;
std::atomic<bool> gaveUp = false;

[[noreturn]] void giveUp(const char *reason, bool outOfMemory) {
  WayBack *back = innermost;
  if (!back) {
    std::fprintf(stderr, "LLVM ERROR: %s\n", reason);
    std::abort();
  }
  gaveUp = true;
  back->outOfMemory = outOfMemory;
  std::snprintf(back->reason, sizeof back->reason, "%s", reason);
  innermost = back->outer;
  std::longjmp(back->place, 1);
}

void onFatalError(void *, const char *reason, bool) { giveUp(reason, false); }
void onLackOfMemory(void *, const char *reason, bool) { giveUp(reason, true); }

/// Once for the process. The LLVM that we link is hidden, so its handlers are nobody else's.
void installHandlers() {
  [[maybe_unused]] static const bool installed = [] {
    llvm::install_fatal_error_handler(onFatalError);
    llvm::install_bad_alloc_error_handler(onLackOfMemory);
    return true;
  }();
}

/// Apart from the function that calls setjmp, so that nothing there has a destructor.
void runWith(WayBack &back, llvm::function_ref<void()> body) {
  struct Leaving {
    ~Leaving() { innermost = outer; }
    WayBack *outer;
  } leaving{innermost};
  back.outer = innermost;
  innermost = &back;
  body();
}

} // namespace

bool llvmGaveUp() { return gaveUp; }

Status runContained(llvm::function_ref<void()> body) {
  installHandlers();
  WayBack back;
  const void *frames = llvm::SavePrettyStackState(); // which are on the stack that is left
  if (setjmp(back.place) == 0) {
    runWith(back, body);
    return {};
  }
  llvm::RestorePrettyStackState(frames);
  if (back.outOfMemory)
    return environmentError("out of memory");
  llvm::StringRef reason = llvm::StringRef(back.reason).rtrim();
  return internalError("LLVM: " + reason.str(), "report this with the spec");
}

} // namespace attnc
