#include "api/c/handles.h"

#include <fmt/format.h>

using namespace attnc;
using namespace attnc::api;

namespace {

int32_t toC(DType type) {
  switch (type) {
  case DType::F16:
    return ATTNC_F16;
  case DType::BF16:
    return ATTNC_BF16;
  case DType::F32:
    return ATTNC_F32;
  case DType::F64:
    return ATTNC_F64;
  case DType::I8:
    return ATTNC_I8;
  case DType::I32:
    return ATTNC_I32;
  case DType::I64:
    return ATTNC_I64;
  case DType::U8:
    return ATTNC_U8;
  }
  return -1;
}

ErrorPtr beyond(const char *what, size_t index, size_t count) {
  return api::toC(
      invalidArgument(fmt::format("{} {} is asked for, but there are {}", what, index, count)));
}

attnc_kernel_info kernelInfo(const CompiledProgram &compiled, size_t index) {
  const KernelDecl &kernel = compiled.manifest().kernels[index];
  attnc_kernel_info info = {};
  info.name = kernel.name.c_str();
  info.form = kernel.form.c_str();
  info.schedule = kernel.schedule.c_str();
  info.notes = kernel.notes.c_str();
  if (const auto &deferred = compiled.compilation.deferred)
    if (const std::string *note = deferred->note(kernel.image))
      info.notes = note->c_str();
  info.threads = kernel.threads;
  bool constant = kernel.sharedBytes.op == ExprOp::Integer;
  info.shared_bytes = constant ? static_cast<int32_t>(kernel.sharedBytes.integer) : -1;
  KernelResources resources = kernel.resources.value_or(KernelResources{-1, -1, -1, -1, -1});
  info.registers = resources.registers;
  info.spill_store_bytes = resources.spillStores;
  info.spill_load_bytes = resources.spillLoads;
  info.stack_bytes = resources.stackBytes;
  info.static_shared_bytes = resources.staticSharedBytes;
  return info;
}

/// A text of one kernel, or null.
const std::string *kernelText(const CompiledProgram &compiled, int32_t which, size_t index) {
  const Program &program = compiled.compilation.program;
  if (index >= program.manifest.kernels.size())
    return nullptr;
  const KernelDecl &kernel = program.manifest.kernels[index];
  if (which == ATTNC_TEXT_CUDA) {
    for (const Source &source : program.sources)
      if (source.name == kernel.image + ".cu")
        return &source.text;
    return nullptr;
  }
  const Image *image =
      program.findImage(kernel.image, which == ATTNC_TEXT_PTX ? ImageKind::Ptx : ImageKind::Cubin);
  return image ? &image->bytes : nullptr;
}

const std::string *findText(const CompiledProgram &compiled, int32_t which, size_t kernel) {
  const driver::Compilation &compilation = compiled.compilation;
  switch (which) {
  case ATTNC_TEXT_ATTN:
    return &compilation.attn;
  case ATTNC_TEXT_RED:
    return &compilation.red;
  case ATTNC_TEXT_TILE:
    return &compilation.tile;
  case ATTNC_TEXT_LLVM:
    return &compilation.llvm;
  case ATTNC_TEXT_MANIFEST:
    return &compiled.manifestText;
  case ATTNC_TEXT_WARNINGS:
    return &compiled.warnings;
  case ATTNC_TEXT_CUDA:
  case ATTNC_TEXT_PTX:
  case ATTNC_TEXT_CUBIN:
    return kernelText(compiled, which, kernel);
  default:
    return nullptr;
  }
}

} // namespace

const char *attnc_program_name(const attnc_program *program) {
  return program->compiled->compilation.name.c_str();
}

const char *attnc_program_target(const attnc_program *program) {
  return program->compiled->compilation.target.c_str();
}

size_t attnc_program_tensor_count(const attnc_program *program) {
  return program->compiled->dims.size();
}

attnc_error *attnc_program_tensor(const attnc_program *program, size_t index,
                                  attnc_tensor_info *out) {
  return atBorder([&]() -> ErrorPtr {
    const CompiledProgram &compiled = *program->compiled;
    const TensorDecl *tensor = compiled.tensor(index);
    if (!tensor)
      return beyond("tensor", index, compiled.dims.size());
    attnc_tensor_info info = {};
    info.name = tensor->name.c_str();
    info.dtype = toC(tensor->dtype);
    info.is_output = index >= compiled.manifest().inputs.size();
    info.dims = compiled.dims[index].data();
    info.rank = compiled.dims[index].size();
    info.align = std::max<int64_t>(tensor->align, static_cast<int64_t>(dtypeSize(tensor->dtype)));
    return api::toC(writeStruct(info, out, "attnc_tensor_info"));
  });
}

size_t attnc_program_dim_count(const attnc_program *program) {
  return program->compiled->ownDims.size();
}

attnc_error *attnc_program_dim(const attnc_program *program, size_t index, attnc_dim_info *out) {
  return atBorder([&]() -> ErrorPtr {
    const std::vector<const DimDecl *> &dims = program->compiled->ownDims;
    if (index >= dims.size())
      return beyond("dim", index, dims.size());
    attnc_dim_info info = {};
    info.name = dims[index]->name.c_str();
    const std::optional<Expr> &extent = dims[index]->extent;
    info.extent = extent && extent->op == ExprOp::Integer ? extent->integer : -1;
    return api::toC(writeStruct(info, out, "attnc_dim_info"));
  });
}

size_t attnc_program_param_count(const attnc_program *program) {
  return program->compiled->manifest().params.size();
}

attnc_error *attnc_program_param(const attnc_program *program, size_t index,
                                 attnc_param_info *out) {
  return atBorder([&]() -> ErrorPtr {
    const std::vector<ParamDecl> &params = program->compiled->manifest().params;
    if (index >= params.size())
      return beyond("param", index, params.size());
    attnc_param_info info = {};
    info.name = params[index].name.c_str();
    info.dtype = toC(params[index].dtype);
    info.has_default = params[index].fallback.has_value();
    return api::toC(writeStruct(info, out, "attnc_param_info"));
  });
}

size_t attnc_program_kernel_count(const attnc_program *program) {
  return program->compiled->manifest().kernels.size();
}

attnc_error *attnc_program_kernel(const attnc_program *program, size_t index,
                                  attnc_kernel_info *out) {
  return atBorder([&]() -> ErrorPtr {
    const CompiledProgram &compiled = *program->compiled;
    if (index >= compiled.manifest().kernels.size())
      return beyond("kernel", index, compiled.manifest().kernels.size());
    return api::toC(writeStruct(kernelInfo(compiled, index), out, "attnc_kernel_info"));
  });
}

attnc_error *attnc_program_timings(const attnc_program *program, attnc_timings *out) {
  return atBorder([&] {
    attnc_timings timings = {};
    timings.total = program->compiled->seconds;
    timings.nvrtc = program->compiled->compilation.nvrtcSeconds;
    timings.origin = program->compiled->origin;
    timings.kernels_compiled = program->compiled->compilation.imagesCompiled;
    timings.kernels_cached = program->compiled->compilation.imagesCached;
    return api::toC(writeStruct(timings, out, "attnc_timings"));
  });
}

const char *attnc_program_text(const attnc_program *program, int32_t which, size_t kernel,
                               size_t *length) {
  const std::string *text = findText(*program->compiled, which, kernel);
  // An IR that was not kept is empty; warnings that there are none of are an empty text.
  bool none = !text || (text->empty() && which != ATTNC_TEXT_WARNINGS);
  if (length)
    *length = none ? 0 : text->size();
  return none ? nullptr : text->c_str();
}
