#include "compiler/driver/images/build_images.h"
#include "compiler/driver/images/equal_kernels.h"
#include "compiler/driver/images/side_by_side.h"
#include <chrono>

namespace attnc::driver {

ImageBuild::ImageBuild(std::vector<NestKernels *> programsOf, bool othersWait)
    : programs(std::move(programsOf)) {
  std::vector<KernelOf> all;
  std::vector<std::string> keys;
  for (NestKernels *program : programs)
    for (size_t i = 0; i < program->size(); ++i)
      if (program->hasKernel(i)) {
        all.push_back({program, i});
        keys.push_back(program->nameless(i));
      }
  for (auto [kernel, first] : llvm::zip(all, firstEqual(keys))) {
    firsts[kernel.program].emplace(kernel.number, all[first]);
    if (kernel == all[first]) {
      bool waits = othersWait && kernel.program != programs.front();
      (waits ? left : builds).push_back(kernel);
    }
  }
}

KernelOf ImageBuild::firstOf(const NestKernels &program, size_t number) const {
  return firsts.at(&program).at(number);
}

Status ImageBuild::run(const ImageCompiler &images, const std::string &target,
                       CompileWatch *watch) {
  std::vector<KernelOf> next = builds;
  llvm::sort(next, [](const KernelOf &a, const KernelOf &b) { return a.code() > b.code(); });
  bool withCopies = !programs.front()->copies().tensors.empty();
  while (!next.empty() || withCopies) {
    Result<std::vector<KernelOf>> again = buildOnce(images, target, next, withCopies, watch);
    if (!again)
      return again.error();
    next = *std::move(again);
    repeats += static_cast<int>(next.size());
    if (next.empty())
      if (Status status = followFirsts(); !status)
        return status;
    // A nest that spilled has another schedule since then, which may need other tensors aligned.
    withCopies = next.empty() && programs.front()->needsOtherCopies();
    if (withCopies)
      if (Status status = programs.front()->makeCopies(); !status)
        return status;
  }
  return {};
}

// Once all is built: what stands for the others has another schedule if it spilled.
Status ImageBuild::followFirsts() {
  for (NestKernels *program : programs)
    for (const auto &[number, first] : firsts[program]) {
      if (first == KernelOf{program, number})
        continue;
      if (Status status = program->follow(number, *first.program, first.number); !status)
        return status;
    }
  return {};
}

// Returns what has to be built once more.
Result<std::vector<KernelOf>> ImageBuild::buildOnce(const ImageCompiler &images,
                                                    const std::string &target,
                                                    const std::vector<KernelOf> &kernels,
                                                    bool withCopies, CompileWatch *watch) {
  std::vector<NvrtcRequest> requests;
  for (const KernelOf &kernel : kernels)
    requests.push_back(requestFor(target, kernel.report().source, kernel.symbol()));
  const AlignedCopies &copying = programs.front()->copies();
  if (withCopies)
    requests.push_back(requestFor(target, copying.source, copying.image));
  auto start = std::chrono::steady_clock::now();
  std::vector<Result<NvrtcOutput>> outputs = compileSideBySide(images, requests, watch);
  waitSeconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const Result<NvrtcOutput> &output : outputs) {
    if (!output)
      return output.error();
    kernelSeconds += output->seconds;
    ++(output->isCached ? cached : compiled);
  }
  if (withCopies)
    copies = *std::move(outputs.back());
  std::vector<KernelOf> again;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    Result<bool> repeats = kernel.program->take(kernel.number, *std::move(outputs[i]));
    if (!repeats)
      return repeats.error();
    if (*repeats)
      again.push_back(kernel);
  }
  return again;
}

} // namespace attnc::driver
