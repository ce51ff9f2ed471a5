#include "runtime/cuda/driver_api.h"

#include <fmt/format.h>

#include <dlfcn.h>

namespace attnc {

namespace {

/// What a person can do about an error of the driver, by its value in CUresult.
std::string remedyFor(CuResult result) {
  switch (result) {
  case 2:
    return "free memory on the GPU, or use smaller shapes";
  case 3:
  case 999:
    return "check that nvidia-smi works; a container needs access to the GPU devices";
  case 34:
    return "this is the stub of libcuda: put the real driver before it in the library path";
  case 100:
    return "no GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES, or use --target cpu";
  case cuErrorNoBinaryForGpu:
  case cuErrorInvalidPtx:
  case 222:
    return "compile the program for this GPU's architecture";
  case 700:
  case 716:
  case 719:
    return "a kernel accessed memory wrongly: run under compute-sanitizer and report it";
  case 701:
    return "the kernel needs more registers or shared memory than this GPU has";
  case 803:
    return "the driver is older than its libraries: update the NVIDIA driver";
  default:
    return {};
  }
}

} // namespace

Status DriverApi::check(CuResult result, const char *call) const {
  if (result == cuSuccess)
    return {};
  const char *name = nullptr, *text = nullptr;
  errorName(result, &name);
  errorString(result, &text);
  return environmentError(fmt::format("{} failed: {} ({})", call,
                                      name ? name : fmt::format("error {}", result).c_str(),
                                      text ? text : "no description"),
                          remedyFor(result));
}

Result<std::shared_ptr<const DriverApi>> DriverApi::open() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return environmentError(
        fmt::format("no CUDA driver: {}", reason ? reason : "libcuda.so.1 cannot be loaded"),
        "install the NVIDIA driver (libcuda.so.1 comes with it), or use --target cpu");
  }
  auto api = std::make_shared<DriverApi>();
  std::string missing;
  auto loadIfThere = [&](auto &function, const char *symbol) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, symbol));
  };
  auto load = [&](auto &function, const char *symbol) {
    loadIfThere(function, symbol);
    if (!function && missing.empty())
      missing = symbol;
  };
  load(api->init, "cuInit");
  load(api->driverVersion, "cuDriverGetVersion");
  load(api->deviceCount, "cuDeviceGetCount");
  load(api->deviceGet, "cuDeviceGet");
  load(api->deviceName, "cuDeviceGetName");
  load(api->deviceAttribute, "cuDeviceGetAttribute");
  load(api->deviceMemory, "cuDeviceTotalMem_v2");
  load(api->primaryRetain, "cuDevicePrimaryCtxRetain");
  load(api->primaryRelease, "cuDevicePrimaryCtxRelease_v2");
  load(api->contextPush, "cuCtxPushCurrent_v2");
  load(api->contextPop, "cuCtxPopCurrent_v2");
  load(api->contextCurrent, "cuCtxGetCurrent");
  load(api->contextSynchronize, "cuCtxSynchronize");
  load(api->contextDevice, "cuCtxGetDevice");
  load(api->moduleLoad, "cuModuleLoadDataEx");
  load(api->moduleUnload, "cuModuleUnload");
  load(api->moduleFunction, "cuModuleGetFunction");
  load(api->functionAttribute, "cuFuncGetAttribute");
  load(api->setFunctionAttribute, "cuFuncSetAttribute");
  load(api->memoryInfo, "cuMemGetInfo_v2");
  load(api->allocate, "cuMemAlloc_v2");
  load(api->release, "cuMemFree_v2");
  load(api->allocateAsync, "cuMemAllocAsync");
  load(api->releaseAsync, "cuMemFreeAsync");
  load(api->copyToDevice, "cuMemcpyHtoD_v2");
  load(api->copyToHost, "cuMemcpyDtoH_v2");
  load(api->fill, "cuMemsetD8_v2");
  load(api->fillWordsAsync, "cuMemsetD32Async");
  load(api->streamCreate, "cuStreamCreate");
  load(api->streamDestroy, "cuStreamDestroy_v2");
  load(api->streamSynchronize, "cuStreamSynchronize");
  load(api->eventCreate, "cuEventCreate");
  load(api->eventDestroy, "cuEventDestroy_v2");
  load(api->eventRecord, "cuEventRecord");
  load(api->eventSynchronize, "cuEventSynchronize");
  load(api->eventElapsed, "cuEventElapsedTime");
  load(api->launchKernel, "cuLaunchKernel");
  load(api->pointerAttribute, "cuPointerGetAttribute");
  loadIfThere(api->defaultPool, "cuDeviceGetDefaultMemPool");
  loadIfThere(api->getPoolAttribute, "cuMemPoolGetAttribute");
  loadIfThere(api->setPoolAttribute, "cuMemPoolSetAttribute");
  loadIfThere(api->streamIsCapturing, "cuStreamIsCapturing");
  loadIfThere(api->streamId, "cuStreamGetId");
  loadIfThere(api->launchKernelEx, "cuLaunchKernelEx");
  loadIfThere(api->encodeTiled, "cuTensorMapEncodeTiled");
  loadIfThere(api->replaceAddress, "cuTensorMapReplaceAddress");
  load(api->errorName, "cuGetErrorName");
  load(api->errorString, "cuGetErrorString");
  if (!missing.empty())
    return environmentError(fmt::format("the CUDA driver has no function {}", missing),
                            "update the NVIDIA driver");
  if (Status status = api->check(api->init(0), "cuInit"); !status)
    return status.error();
  return std::shared_ptr<const DriverApi>(std::move(api));
}

} // namespace attnc
