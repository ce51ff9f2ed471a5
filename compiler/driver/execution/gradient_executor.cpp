#include "compiler/driver/execution/gradient_executor.h"
#include "compiler/driver/has_name.h"

namespace attnc::driver {
namespace {

template <typename T> void addMissing(std::vector<T> &list, const std::vector<T> &more) {
  for (const T &one : more)
    if (!hasName(list, one.name))
      list.push_back(one);
}

/// The interface of both, with what is passed on as an intermediate.
Manifest unite(const Manifest &forward, const Manifest &backward) {
  Manifest all = forward;
  all.name = backward.name;
  all.outputs = backward.outputs;
  for (const TensorDecl &output : forward.outputs)
    (hasName(backward.inputs, output.name) ? all.intermediates : all.outputs).push_back(output);
  for (const TensorDecl &input : backward.inputs)
    if (!hasName(forward.outputs, input.name))
      addMissing(all.inputs, {input});
  addMissing(all.intermediates, backward.intermediates);
  addMissing(all.dims, backward.dims);
  addMissing(all.params, backward.params);
  return all;
}

class GradientExecutor : public Executor {
public:
  GradientExecutor(std::unique_ptr<Executor> forward, std::unique_ptr<Executor> backward)
      : Executor(unite(forward->manifest(), backward->manifest())), forward(std::move(forward)),
        backward(std::move(backward)) {}

  const CudaDevice *device() const override { return forward->device(); }

  Result<RunResult> run(const RunRequest &request) const override {
    Result<RunResult> first = forward->run(restrict(request, forward->manifest()));
    if (!first)
      return first.error();
    RunRequest after = restrict(request, backward->manifest());
    for (const TensorDecl &input : backward->manifest().inputs)
      if (auto passed = first->outputs.find(input.name); passed != first->outputs.end())
        after.inputs.insert(first->outputs.extract(passed));
    Result<RunResult> second = backward->run(after);
    if (!second)
      return second.error();
    second->outputs.merge(first->outputs);
    second->milliseconds += first->milliseconds;
    return second;
  }

private:
  /// What one of the programs takes.
  static RunRequest restrict(const RunRequest &request, const Manifest &manifest) {
    RunRequest own = request;
    std::erase_if(own.inputs, [&](auto &input) { return !hasName(manifest.inputs, input.first); });
    std::erase_if(own.params, [&](auto &param) { return !hasName(manifest.params, param.first); });
    return own;
  }

  std::unique_ptr<Executor> forward, backward;
};

} // namespace

Result<std::unique_ptr<Executor>>
withBackward(const Compilation &compilation,
             llvm::function_ref<Result<std::unique_ptr<Executor>>(const Compilation &)> make) {
  Result<std::unique_ptr<Executor>> forward = make(compilation);
  if (!forward || !compilation.backward)
    return forward;
  Result<std::unique_ptr<Executor>> backward = make(*compilation.backward);
  if (!backward)
    return backward;
  return std::unique_ptr<Executor>(
      std::make_unique<GradientExecutor>(*std::move(forward), *std::move(backward)));
}

} // namespace attnc::driver
