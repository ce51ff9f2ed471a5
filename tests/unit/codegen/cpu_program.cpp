#include "cpu_program.h"
#include "compiler/schedule/nest/signature.h"
#include "compiler/transforms/derive_updates.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Error.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

using namespace mlir;

namespace attnc::cpu {

static size_t width(HostTensor::Type type) {
  using T = HostTensor::Type;
  switch (type) {
  case T::F16:
  case T::BF16:
    return 2;
  case T::F32:
  case T::I32:
    return 4;
  case T::F64:
  case T::I64:
    return 8;
  case T::I8:
  case T::Bool:
    return 1;
  }
  return 0;
}

HostTensor::HostTensor(Type type, std::vector<int64_t> shape, int64_t padding)
    : type(type), shape(std::move(shape)), strides(this->shape.size(), 1) {
  int64_t elements = 1;
  for (size_t axis = this->shape.size(); axis-- > 0;) {
    strides[axis] = elements;
    elements = elements * this->shape[axis] + (axis > 0 ? padding : 0);
  }
  bytes.assign(elements * width(type), type <= Type::F64 ? 0xFF : 0xA5);
}

int64_t HostTensor::offset(const Indices &indices) const {
  int64_t sum = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    sum += indices.at(axis) * strides[axis];
  return sum * width(type);
}

template <typename T> static T read(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

double HostTensor::get(const Indices &indices) const {
  const uint8_t *at = bytes.data() + offset(indices);
  switch (type) {
  case Type::F16:
    return static_cast<double>(read<_Float16>(at));
  case Type::BF16:
    return std::bit_cast<float>(uint32_t(read<uint16_t>(at)) << 16);
  case Type::F32:
    return read<float>(at);
  case Type::F64:
    return read<double>(at);
  case Type::I8:
    return read<int8_t>(at);
  case Type::I32:
    return read<int32_t>(at);
  case Type::I64:
    return static_cast<double>(read<int64_t>(at));
  case Type::Bool:
    return *at;
  }
  return 0;
}

template <typename T> static void write(uint8_t *at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// The bf16 nearest to a float, ties to even, by comparing the two neighbours.
static uint16_t nearestBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t down = bits >> 16;
  if (std::isnan(value) || std::isinf(value))
    return std::isnan(value) ? down | 0x40 : down;
  uint32_t rest = bits & 0xFFFF;
  return rest > 0x8000 || (rest == 0x8000 && (down & 1)) ? down + 1 : down;
}

void HostTensor::set(const Indices &indices, double value) {
  uint8_t *at = bytes.data() + offset(indices);
  switch (type) {
  case Type::F16:
    return write(at, static_cast<_Float16>(static_cast<float>(value)));
  case Type::BF16:
    return write(at, nearestBf16(static_cast<float>(value)));
  case Type::F32:
    return write(at, static_cast<float>(value));
  case Type::F64:
    return write(at, value);
  case Type::I8:
    return write(at, static_cast<int8_t>(value));
  case Type::I32:
    return write(at, static_cast<int32_t>(value));
  case Type::I64:
    return write(at, static_cast<int64_t>(value));
  case Type::Bool:
    return write(at, static_cast<uint8_t>(value != 0));
  }
}

void HostTensor::forEach(const std::function<void(const Indices &)> &visit) const {
  for (int64_t extent : shape)
    if (extent == 0)
      return;
  Indices indices(shape.size(), 0);
  while (true) {
    visit(indices);
    size_t axis = shape.size();
    while (axis > 0 && ++indices[axis - 1] == shape[axis - 1])
      indices[--axis] = 0;
    if (axis == 0)
      return;
  }
}

void HostTensor::fill(const std::function<double(const Indices &)> &value) {
  forEach([&](const Indices &indices) { set(indices, value(indices)); });
}

void HostTensor::randomise(unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  fill([&](const Indices &) { return uniform(engine); });
}

bool HostTensor::paddingUntouched() const {
  HostTensor copy = *this;
  uint8_t poison = type <= Type::F64 ? 0xFF : 0xA5;
  forEach([&](const Indices &indices) {
    std::memset(copy.bytes.data() + copy.offset(indices), poison, width(type));
  });
  return llvm::all_of(copy.bytes, [&](uint8_t byte) { return byte == poison; });
}

[[noreturn]] static void stop(const std::string &message) {
  llvm::errs() << message << "\n";
  std::abort();
}

struct CpuProgram::Parsed {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;

  void parse(const std::string &text) {
    context
        .loadDialect<attn::AttnDialect, red::RedDialect, arith::ArithDialect, math::MathDialect>();
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      stop("the test's program does not parse");
    module->walk([](red::NestOp nest) { deriveUpdates(nest); });
  }
};

std::string compileError(const std::string &text) {
  CpuProgram::Parsed parsed;
  parsed.parse(text);
  auto compiled = compileObject(*parsed.module);
  return compiled ? "" : llvm::toString(compiled.takeError());
}

CpuProgram::CpuProgram(const std::string &text, const ObjectOptions &options)
    : parsed(std::make_unique<Parsed>()) {
  parsed->parse(text);
  auto compiled = compileObject(*parsed->module, options);
  if (!compiled)
    stop(llvm::toString(compiled.takeError()));
  auto loaded = CpuExecutable::load(compiled->object, compiled->symbols, /*threads=*/2);
  if (!loaded)
    stop(llvm::toString(loaded.takeError()));
  executable = std::move(*loaded);
  ir = std::move(compiled->llvmIr);
}

CpuProgram::~CpuProgram() = default;

void CpuProgram::run() {
  std::map<std::string, int64_t> sizes;
  parsed->module->walk([&](Operation *op) {
    if (!isa<attn::InputOp, red::NestOp>(op))
      return;
    for (Value value : op->getResults()) {
      schedule::Tensor tensor = schedule::tensorOf(value);
      for (auto [dim, extent] : llvm::zip(tensor.dims, tensors.at(tensor.name).shape))
        sizes[dim.str()] = extent;
    }
  });
  unsigned number = 0;
  parsed->module->walk([&](red::NestOp nest) {
    schedule::KernelSignature signature(nest);
    std::vector<uint64_t> words;
    for (const schedule::KernelArg &arg : signature.args())
      switch (arg.kind) {
      case schedule::KernelArg::Kind::Pointer:
        words.push_back(reinterpret_cast<uint64_t>(
            tensors.at(schedule::tensorOf(arg.array).name).bytes.data()));
        break;
      case schedule::KernelArg::Kind::Stride:
        words.push_back(tensors.at(schedule::tensorOf(arg.array).name).strides.at(arg.axis));
        break;
      case schedule::KernelArg::Kind::Size:
        words.push_back(sizes.at(arg.dim.str()));
        break;
      case schedule::KernelArg::Kind::TensorMap:
      case schedule::KernelArg::Kind::Counter:
      case schedule::KernelArg::Kind::Cells:
        llvm_unreachable("nests for the CPU take no tensor maps, no counters and no slabs");
      case schedule::KernelArg::Kind::Param:
        bool isFloat = cast<attn::ArrayType>(arg.array.getType()).getElementType().isF32();
        double value = params.at(arg.name);
        words.push_back(isFloat ? std::bit_cast<uint32_t>(static_cast<float>(value))
                                : static_cast<uint64_t>(static_cast<int64_t>(value)));
        break;
      }
    executable->run(number++, words);
  });
}

} // namespace attnc::cpu
