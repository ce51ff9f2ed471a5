#include "runtime/program/manifest.h"

#include "runtime/program/tensor_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace attnc {

namespace {

template <typename T> const T *findNamed(const std::vector<T> &list, std::string_view name) {
  for (const T &item : list)
    if (item.name == name)
      return &item;
  return nullptr;
}

Error at(std::string_view where, const Error &error) {
  return {error.kind, fmt::format("manifest: {}: {}", where, error.message), error.remedy};
}

/// Checks one manifest. Collects the names as it goes: what comes later may refer to what came
/// before.
class Checker {
public:
  explicit Checker(const Manifest &manifest) : manifest(manifest) {}

  Status run() {
    for (auto step : {&Checker::checkDims, &Checker::checkTensors, &Checker::checkScalars,
                      &Checker::checkKernels, &Checker::checkVariants})
      if (Status status = (this->*step)(); !status)
        return status;
    return {};
  }

private:
  static Status fail(std::string_view where, std::string message) {
    return at(where, invalidArgument(std::move(message)));
  }

  static Status unique(std::set<std::string> &seen, const std::string &name,
                       std::string_view what) {
    if (name.empty())
      return fail(what, "a name is empty");
    if (!seen.insert(name).second)
      return fail(what, fmt::format("'{}' is declared twice", name));
    return {};
  }

  Status checkExprAt(const Expr &expr, const std::string &where) {
    if (Status status = checkExpr(expr, scope); !status)
      return at(where, status.error());
    return {};
  }

  Status checkDims() {
    if (manifest.name.empty() || manifest.target.empty())
      return fail("header", "'name' and 'target' must not be empty");
    if (manifest.memoryBudget.value_or(0) < 0)
      return fail("header", fmt::format("'memory_budget' is {}", *manifest.memoryBudget));
    std::set<std::string> seen;
    for (const DimDecl &dim : manifest.dims) {
      if (Status status = unique(seen, dim.name, "dims"); !status)
        return status;
      if (dim.min != 0 && dim.min != 1)
        return fail("dim " + dim.name, fmt::format("'min' is {}, not 0 or 1", dim.min));
      if (!isHidden(dim))
        scope.sizes[dim.name] = 1;
    }
    for (const DimDecl &dim : manifest.dims) {
      if (!dim.extent)
        continue;
      Scope known = scope;
      if (isHidden(dim))
        known.multiprocessors = 1;
      if (Status status = checkExpr(*dim.extent, known); !status)
        return at("extent of dim " + dim.name, status.error());
    }
    return {};
  }

  /// A dim of intermediates alone, whose extent depends on the GPU.
  bool isHidden(const DimDecl &dim) const {
    auto has = [&](const TensorDecl &tensor) {
      return std::find(tensor.dims.begin(), tensor.dims.end(), dim.name) != tensor.dims.end();
    };
    return !onCpu() && Manifest::isOfMachine(dim) &&
           std::none_of(manifest.inputs.begin(), manifest.inputs.end(), has) &&
           std::none_of(manifest.outputs.begin(), manifest.outputs.end(), has);
  }

  Status checkTensors() {
    std::set<std::string> seen;
    for (const auto *group : {&manifest.inputs, &manifest.outputs, &manifest.intermediates})
      for (const TensorDecl &tensor : *group) {
        if (Status status = unique(seen, tensor.name, "tensors"); !status)
          return status;
        if (tensor.align < 0 || tensor.align > 4096 || (tensor.align & (tensor.align - 1)) != 0)
          return fail("tensor " + tensor.name,
                      fmt::format("'align' is {}, not a power of two up to 4096", tensor.align));
        if (tensor.window && (group != &manifest.intermediates || tensor.window->axes < 1 ||
                              tensor.window->axes >= static_cast<int>(tensor.dims.size())))
          return fail("tensor " + tensor.name, "a window is of the first axes of an intermediate");
        if (group == &manifest.intermediates && tensor.align > 256)
          return fail(
              "tensor " + tensor.name,
              fmt::format("'align' is {}, but the workspace is aligned to 256", tensor.align));
        for (const std::string &dim : tensor.dims)
          if (!manifest.findDim(dim))
            return fail("tensor " + tensor.name, fmt::format("dim '{}' is not declared", dim));
      }
    return {};
  }

  Status checkScalars() {
    std::set<std::string> seen;
    for (const LetDecl &let : manifest.lets) {
      if (Status status = unique(seen, let.name, "lets"); !status)
        return status;
      if (Status status = checkExprAt(let.expr, "let " + let.name); !status)
        return status;
      scope.lets[let.name] = Scalar(std::int64_t(1));
    }
    for (const ParamDecl &param : manifest.params)
      if (Status status = checkParam(param, seen); !status)
        return status;
    for (const RequireDecl &require : manifest.requires_)
      if (Status status = checkExprAt(require.expr, "require '" + require.text + "'"); !status)
        return status;
    return {};
  }

  Status checkParam(const ParamDecl &param, std::set<std::string> &seen) {
    if (Status status = unique(seen, param.name, "lets and params"); !status)
      return status;
    std::string where = "param " + param.name;
    if (param.dtype != DType::F32 && param.dtype != DType::F64 && param.dtype != DType::I32 &&
        param.dtype != DType::I64)
      return fail(where, fmt::format("a param cannot be {}", dtypeName(param.dtype)));
    for (const auto &limit : {param.min, param.max})
      if (limit && !std::isfinite(limit->value))
        return fail(where, "a limit is not finite");
    if (param.fallback)
      if (Status status = checkExprAt(*param.fallback, "default of " + where); !status)
        return status;
    scope.params[param.name] = Scalar(1.0);
    return {};
  }

  Status checkKernels() {
    if (!onCpu())
      scope.multiprocessors = 1;
    for (const DimDecl &dim : manifest.dims)
      scope.sizes[dim.name] = 1;
    std::set<std::string> seen;
    for (const KernelDecl &kernel : manifest.kernels) {
      if (Status status = unique(seen, kernel.name, "kernels"); !status)
        return status;
      std::string where = "kernel " + kernel.name;
      if (kernel.image.empty() || kernel.symbol.empty())
        return fail(where, "'image' and 'symbol' must not be empty");
      if (kernel.threads < 1 || kernel.threads > 1024)
        return fail(where, fmt::format("'threads' is {}, not in 1..1024", kernel.threads));
      if (kernel.cluster < 1 || kernel.cluster > 16)
        return fail(where, fmt::format("'cluster' is {}, not in 1..16", kernel.cluster));
      if (kernel.cluster > 1 && onCpu())
        return fail(where, "the target cpu has no clusters");
      if (kernel.startsEarly && onCpu())
        return fail(where, "kernels of the target cpu start one after the other");
      if (Status status = checkExprAt(kernel.sharedBytes, "shared_bytes of " + where); !status)
        return status;
    }
    return {};
  }

  Status checkVariants() {
    if (manifest.variants.empty())
      return fail("variants", "there is none");
    for (std::size_t index = 0; index < manifest.variants.size(); ++index) {
      const VariantDecl &variant = manifest.variants[index];
      std::string where = fmt::format("variant {}", index);
      if (variant.when)
        if (Status status = checkExprAt(*variant.when, "'when' of " + where); !status)
          return status;
      if (Status status = checkAligned(variant, where); !status)
        return status;
      if (Status status = checkLaunches(variant, where); !status)
        return status;
    }
    return {};
  }

  Status checkLaunches(const VariantDecl &variant, const std::string &where) {
    std::size_t end = 0; // of the loop before
    for (const LoopDecl &loop : variant.loops) {
      if (loop.launches == 0 || loop.first < end || loop.first > variant.launches.size() ||
          loop.launches > variant.launches.size() - loop.first)
        return fail(where, fmt::format("the loop over {} is empty, or not where its launches are",
                                       loop.index));
      end = loop.first + loop.launches;
      if (loop.index.empty() || scope.lets.count(loop.index) || scope.params.count(loop.index))
        return fail(where, fmt::format("the index '{}' of a loop is empty or has the name of a "
                                       "let or param",
                                       loop.index));
      if (Status status = checkExprAt(loop.count, "count of the loop over " + loop.index); !status)
        return status;
    }
    for (std::size_t number = 0; number < variant.launches.size(); ++number) {
      const LoopDecl *loop = variant.loopAround(number);
      if (loop)
        scope.lets[loop->index] = Scalar(std::int64_t(0));
      Status status = checkLaunch(variant.launches[number], where);
      if (loop)
        scope.lets.erase(loop->index);
      if (!status)
        return status;
    }
    return {};
  }

  Status checkAligned(const VariantDecl &variant, const std::string &where) {
    for (const auto &[tensor, bytes] : variant.aligned) {
      if (!manifest.findTensor(tensor))
        return fail("'aligned' of " + where, fmt::format("tensor '{}' is not declared", tensor));
      if (bytes < 1 || bytes > 256 || (bytes & (bytes - 1)) != 0)
        return fail("'aligned' of " + where,
                    fmt::format("{} is {}, not a power of two up to 256", tensor, bytes));
    }
    return {};
  }

  Status checkLaunch(const LaunchDecl &launch, const std::string &variant) {
    std::string where = fmt::format("{}, launch of {}", variant, launch.kernel);
    if (!manifest.findKernel(launch.kernel))
      return fail(where, fmt::format("kernel '{}' is not declared", launch.kernel));
    for (const Expr &extent : launch.grid)
      if (Status status = checkExprAt(extent, "grid of " + where); !status)
        return status;
    for (std::size_t index = 0; index < launch.args.size(); ++index)
      if (Status status =
              checkArg(launch.args[index], fmt::format("argument {} of {}", index, where));
          !status)
        return status;
    if (launch.beside && onCpu())
      return fail(where, "launches of the target cpu run one after the other");
    return launch.guard.empty() ? Status() : checkGuard(launch, where);
  }

  Status checkGuard(const LaunchDecl &launch, const std::string &where) {
    const TensorDecl *flag = findNamed(manifest.inputs, launch.guard);
    if (!flag)
      flag = findNamed(manifest.intermediates, launch.guard);
    if (!flag)
      return fail(where, fmt::format("the guard '{}' is no input or intermediate", launch.guard));
    bool single = std::all_of(flag->dims.begin(), flag->dims.end(), [&](const std::string &name) {
      const DimDecl *dim = manifest.findDim(name);
      return dim->extent && *dim->extent == Expr::constant(1);
    });
    if (flag->dtype != DType::I32 || !single)
      return fail(where, fmt::format("the guard '{}' is not one i32", launch.guard));
    bool passed = std::any_of(launch.args.begin(), launch.args.end(), [&](const ArgDecl &arg) {
      return arg.kind == ArgKind::Pointer && arg.name == launch.guard && !arg.offset;
    });
    if (!passed && !onCpu())
      return fail(where, fmt::format("the guard '{}' is not among the arguments, and only the "
                                     "kernel can read it on a GPU",
                                     launch.guard));
    return {};
  }

  Status checkArg(const ArgDecl &arg, const std::string &where) {
    if (arg.offset && arg.kind != ArgKind::Pointer)
      return fail(where, "only a pointer has an offset");
    switch (arg.kind) {
    case ArgKind::Pointer:
    case ArgKind::TensorMap:
    case ArgKind::Stride: {
      const TensorDecl *tensor = manifest.findTensor(arg.name);
      if (!tensor)
        return fail(where, fmt::format("tensor '{}' is not declared", arg.name));
      if (arg.kind == ArgKind::Stride &&
          (arg.axis < 0 || static_cast<std::size_t>(arg.axis) >= tensor->dims.size()))
        return fail(where, fmt::format("{} has {} axes, so none is {}", arg.name,
                                       tensor->dims.size(), arg.axis));
      if (tensor->window && arg.kind != ArgKind::TensorMap)
        return fail(where, fmt::format("{} has a window, which only tensor maps show", arg.name));
      if (tensor->window)
        if (Status status = checkExprAt(tensor->window->count, "window of " + where); !status)
          return status;
      if (arg.offset)
        return checkExprAt(*arg.offset, "offset of " + where);
      return arg.kind == ArgKind::TensorMap ? checkMap(arg, *tensor, where) : Status();
    }
    case ArgKind::Size:
      return manifest.findDim(arg.name)
                 ? Status()
                 : fail(where, fmt::format("dim '{}' is not declared", arg.name));
    case ArgKind::Param:
      return manifest.findParam(arg.name)
                 ? Status()
                 : fail(where, fmt::format("param '{}' is not declared", arg.name));
    case ArgKind::Expr:
      if (arg.type != DType::I32 && arg.type != DType::I64 && arg.type != DType::F32)
        return fail(where,
                    fmt::format("an expression cannot be passed as {}", dtypeName(arg.type)));
      return checkExprAt(arg.expr, where);
    case ArgKind::Counter:
      return {};
    }
    return {};
  }

  Status checkMap(const ArgDecl &arg, const TensorDecl &tensor, const std::string &where) {
    if (onCpu())
      return fail(where, "the target cpu has no tensor maps");
    if (Status status = checkTensorMapBox(tensor, arg.box, arg.swizzle); !status)
      return at(where, status.error());
    return {};
  }

  bool onCpu() const { return manifest.target == "cpu"; }

  const Manifest &manifest;
  Scope scope; ///< only what is there counts, not its values
};

} // namespace

ArgDecl ArgDecl::pointer(std::string tensor) {
  return {ArgKind::Pointer, std::move(tensor), 0, {}, DType::I64};
}
ArgDecl ArgDecl::stride(std::string tensor, int axis) {
  return {ArgKind::Stride, std::move(tensor), axis, {}, DType::I64};
}
ArgDecl ArgDecl::size(std::string dim) {
  return {ArgKind::Size, std::move(dim), 0, {}, DType::I64};
}
ArgDecl ArgDecl::param(std::string name) {
  return {ArgKind::Param, std::move(name), 0, {}, DType::I64};
}
ArgDecl ArgDecl::value(Expr expr, DType type) {
  return {ArgKind::Expr, {}, 0, std::move(expr), type};
}
ArgDecl ArgDecl::tensorMap(std::string tensor, std::vector<std::int64_t> box, int swizzle) {
  return {ArgKind::TensorMap, std::move(tensor), 0, {}, DType::I64, std::move(box), swizzle};
}
ArgDecl ArgDecl::counter() { return {ArgKind::Counter, {}, 0, {}, DType::I32}; }

static bool usesMultiprocessors(const Expr &expr) {
  return expr.op == ExprOp::Multiprocessors ||
         std::any_of(expr.operands.begin(), expr.operands.end(), usesMultiprocessors);
}

bool Manifest::isOfMachine(const DimDecl &dim) {
  return dim.extent && usesMultiprocessors(*dim.extent);
}

const DimDecl *Manifest::findDim(std::string_view dim) const { return findNamed(dims, dim); }

const TensorDecl *Manifest::findTensor(std::string_view tensor) const {
  for (const auto *group : {&inputs, &outputs, &intermediates})
    if (const TensorDecl *found = findNamed(*group, tensor))
      return found;
  return nullptr;
}

const ParamDecl *Manifest::findParam(std::string_view param) const {
  return findNamed(params, param);
}

const KernelDecl *Manifest::findKernel(std::string_view kernel) const {
  return findNamed(kernels, kernel);
}

const LoopDecl *VariantDecl::loopAround(std::size_t launch) const {
  auto after = std::upper_bound(
      loops.begin(), loops.end(), launch,
      [](std::size_t number, const LoopDecl &loop) { return number < loop.first; });
  if (after == loops.begin())
    return nullptr;
  const LoopDecl &loop = *(after - 1);
  return launch - loop.first < loop.launches ? &loop : nullptr;
}

std::vector<std::string> needsOf(const Manifest &manifest) {
  bool loops = false, offsets = false, guards = false;
  bool windows = std::any_of(manifest.intermediates.begin(), manifest.intermediates.end(),
                             [](const TensorDecl &tensor) { return tensor.window.has_value(); });
  for (const VariantDecl &variant : manifest.variants) {
    loops |= !variant.loops.empty();
    for (const LaunchDecl &launch : variant.launches) {
      guards |= !launch.guard.empty();
      for (const ArgDecl &arg : launch.args)
        offsets |= arg.offset.has_value();
    }
  }
  std::vector<std::string> needs;
  for (auto [used, name] :
       {std::pair(loops, "loops"), {offsets, "offsets"}, {guards, "guards"}, {windows, "windows"}})
    if (used)
      needs.emplace_back(name);
  return needs;
}

Status checkManifest(const Manifest &manifest) { return Checker(manifest).run(); }

} // namespace attnc
