// Numbers on the processor and, with CUDA, their copy on a GPU.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#ifdef WITH_CUDA
#include <cuda_runtime_api.h>
#endif

class Memory {
public:
  /// `count` zeros, for a program of this target.
  Memory(const std::string &target, std::size_t count) : values(count), onGpu(target != "cpu") {}
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

#ifdef WITH_CUDA
  ~Memory() { cudaFree(copy); }

  /// Where the program finds the values as they are now; null if there is no memory for them.
  float *toDevice() {
    if (!onGpu)
      return values.data();
    if (!copy && cudaMalloc(reinterpret_cast<void **>(&copy), bytes()) != cudaSuccess)
      return nullptr;
    cudaMemcpy(copy, values.data(), bytes(), cudaMemcpyHostToDevice);
    return copy;
  }
  /// Waits for the program and takes what it wrote.
  void fromDevice() {
    if (onGpu)
      cudaMemcpy(values.data(), copy, bytes(), cudaMemcpyDeviceToHost);
  }
#else
  float *toDevice() { return onGpu ? nullptr : values.data(); }
  void fromDevice() {}
#endif

  std::vector<float> values;

private:
  bool onGpu;
#ifdef WITH_CUDA
  std::size_t bytes() const { return values.size() * sizeof(float); }
  float *copy = nullptr;
#endif
};
