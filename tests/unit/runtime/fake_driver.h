// A CUDA driver without a GPU, for tests: libcuda.so.1 with the functions that the runtime calls.
// Kernels do not run; what they would have been given is kept, and calls are counted.
#ifndef ATTNC_TESTS_UNIT_RUNTIME_FAKE_DRIVER_H
#define ATTNC_TESTS_UNIT_RUNTIME_FAKE_DRIVER_H

#include <cstddef>

/// A launch as the driver sees it. The arguments stand one behind the other, each with the size
/// that its parameter has in the PTX.
struct FakeLaunch {
  char symbol[64];
  unsigned grid[3], threads, sharedBytes, cluster;
  bool startsEarly; ///< programmatic stream serialization
  void *stream;
  std::size_t bytes;
  unsigned char arguments[4096];
};

extern "C" {
/// Calls of a function since the last fakeReset; with null, of all functions but those that ask
/// what is current.
long fakeCalls(const char *function);
/// The launches since the last fakeReset.
std::size_t fakeLaunches();
const FakeLaunch *fakeLaunch(std::size_t number);
void fakeReset();
/// Whether streams say from now on that they are being captured.
void fakeCapture(bool isCapturing);
}

#endif
