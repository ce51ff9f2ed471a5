#pragma once

/// The functions of the CUDA driver that attnc calls, loaded with dlopen so that nothing needs the
/// CUDA toolkit to build or a GPU to start. Types and values follow the CUDA driver API reference
/// (13.0).

#include "attnc/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace attnc {

using CuResult = int;
using CuDeviceHandle = int;
using CuDevicePointer = unsigned long long;
using CuHandle = void *; ///< context, module, function, stream or event

/// CUlaunchAttribute: an id and a value of 64 bytes, aligned as a pointer.
struct alignas(8) CuLaunchAttribute {
  std::uint32_t id;
  std::uint32_t padding;
  std::uint32_t value[16];
};
static_assert(sizeof(CuLaunchAttribute) == 72);

/// CUlaunchConfig.
struct CuLaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  CuHandle stream;
  CuLaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(CuLaunchConfig) == 56);

struct DriverApi {
  CuResult (*init)(unsigned);
  CuResult (*driverVersion)(int *);
  CuResult (*deviceCount)(int *);
  CuResult (*deviceGet)(CuDeviceHandle *, int);
  CuResult (*deviceName)(char *, int, CuDeviceHandle);
  CuResult (*deviceAttribute)(int *, int, CuDeviceHandle);
  CuResult (*deviceMemory)(std::size_t *, CuDeviceHandle);
  CuResult (*primaryRetain)(CuHandle *, CuDeviceHandle);
  CuResult (*primaryRelease)(CuDeviceHandle);
  CuResult (*contextPush)(CuHandle);
  CuResult (*contextPop)(CuHandle *);
  CuResult (*contextCurrent)(CuHandle *);
  CuResult (*contextSynchronize)();
  CuResult (*contextDevice)(CuDeviceHandle *);
  CuResult (*moduleLoad)(CuHandle *, const void *, unsigned, int *, void **);
  CuResult (*moduleUnload)(CuHandle);
  CuResult (*moduleFunction)(CuHandle *, CuHandle, const char *);
  CuResult (*functionAttribute)(int *, int, CuHandle);
  CuResult (*setFunctionAttribute)(CuHandle, int, int);
  CuResult (*memoryInfo)(std::size_t *, std::size_t *);
  CuResult (*allocate)(CuDevicePointer *, std::size_t);
  CuResult (*release)(CuDevicePointer);
  CuResult (*allocateAsync)(CuDevicePointer *, std::size_t, CuHandle);
  /// Null in drivers for CUDA before 11.2.
  CuResult (*defaultPool)(CuHandle *, CuDeviceHandle);
  CuResult (*getPoolAttribute)(CuHandle, int, void *);
  CuResult (*setPoolAttribute)(CuHandle, int, void *);
  CuResult (*releaseAsync)(CuDevicePointer, CuHandle);
  CuResult (*copyToDevice)(CuDevicePointer, const void *, std::size_t);
  CuResult (*copyToHost)(void *, CuDevicePointer, std::size_t);
  CuResult (*fill)(CuDevicePointer, unsigned char, std::size_t);
  CuResult (*fillWordsAsync)(CuDevicePointer, unsigned, std::size_t, CuHandle);
  CuResult (*streamCreate)(CuHandle *, unsigned);
  CuResult (*streamDestroy)(CuHandle);
  CuResult (*streamSynchronize)(CuHandle);
  /// Null in drivers for CUDA before 10.0, and before 12.0.
  CuResult (*streamIsCapturing)(CuHandle, int *);
  CuResult (*streamId)(CuHandle, unsigned long long *);
  CuResult (*eventCreate)(CuHandle *, unsigned);
  CuResult (*eventDestroy)(CuHandle);
  CuResult (*eventRecord)(CuHandle, CuHandle);
  CuResult (*eventSynchronize)(CuHandle);
  CuResult (*eventElapsed)(float *, CuHandle, CuHandle);
  CuResult (*launchKernel)(CuHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, CuHandle, void **, void **);
  CuResult (*pointerAttribute)(void *, int, CuDevicePointer);
  /// Null in drivers for CUDA before 11.8 and 12.0: what needs them says so.
  CuResult (*launchKernelEx)(const CuLaunchConfig *, CuHandle, void **, void **);
  CuResult (*encodeTiled)(void *, int, unsigned, void *, const std::uint64_t *,
                          const std::uint64_t *, const std::uint32_t *, const std::uint32_t *, int,
                          int, int, int);
  CuResult (*replaceAddress)(void *, void *);
  CuResult (*errorName)(CuResult, const char **);
  CuResult (*errorString)(CuResult, const char **);

  /// Opens libcuda.so.1 and initialises it. The library stays open for the life of the process: the
  /// driver does not support being unloaded. Error (Environment): no driver, no GPU, with what to
  /// do.
  static Result<std::shared_ptr<const DriverApi>> open();

  /// Success, or the error "CALL failed: NAME (text)" with a remedy where one is known.
  Status check(CuResult result, const char *call) const;
};

inline constexpr CuResult cuSuccess = 0;
inline constexpr CuResult cuErrorInvalidPtx = 218;
inline constexpr CuResult cuErrorNoBinaryForGpu = 209;

} // namespace attnc
