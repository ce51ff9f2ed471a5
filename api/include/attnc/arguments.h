#pragma once

/// What a program is run with: tensors, params, a bound on memory.

#include "attnc/handle.h"

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace attnc {

/// Element types of tensors and params.
enum class DType {
  F16 = ATTNC_F16,
  BF16 = ATTNC_BF16,
  F32 = ATTNC_F32,
  F64 = ATTNC_F64,
  I8 = ATTNC_I8,
  I32 = ATTNC_I32,
  I64 = ATTNC_I64,
  U8 = ATTNC_U8
};

namespace detail {

template <typename T> constexpr DType dtypeOf() {
  if constexpr (std::is_same_v<T, float>)
    return DType::F32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::F64;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return DType::I8;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::U8;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 4)
    return DType::I32;
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8)
    return DType::I64;
  else
    static_assert(!sizeof(T *), "this type of elements has to be named as a DType");
}

} // namespace detail

/// Memory of the caller, with its shape. attnc never frees it.
struct Tensor {
  Tensor(std::string name, void *data, DType dtype, std::vector<std::int64_t> shape,
         std::vector<std::int64_t> strides = {})
      : name(std::move(name)), data(data), dtype(dtype), shape(std::move(shape)),
        strides(std::move(strides)) {}
  /// For inputs.
  Tensor(std::string name, const void *data, DType dtype, std::vector<std::int64_t> shape,
         std::vector<std::int64_t> strides = {})
      : Tensor(std::move(name), const_cast<void *>(data), dtype, std::move(shape),
               std::move(strides)) {
    readOnly = true;
  }
  /// The type of the elements is that of the pointer. f16 and bf16, which C++17 lacks, are named.
  template <typename T, typename = std::enable_if_t<!std::is_void_v<T>>>
  Tensor(std::string name, T *data, std::vector<std::int64_t> shape,
         std::vector<std::int64_t> strides = {})
      : Tensor(std::move(name), data, detail::dtypeOf<std::remove_const_t<T>>(), std::move(shape),
               std::move(strides)) {}

  std::string name;                  ///< empty: the place in the list is the tensor's number
  void *data;                        ///< on the device of the kernels
  DType dtype;                       ///< of the elements
  std::vector<std::int64_t> shape;   ///< in elements, in the order of the spec's dims
  std::vector<std::int64_t> strides; ///< in elements, one for each extent; empty for C-contiguous
  bool readOnly = false;             ///< then no output may lie here
};

/// A scalar by its name: {"scale", 0.25} or {"window", 128}.
struct Param {
  template <typename T, typename = std::enable_if_t<std::is_floating_point_v<T>>>
  Param(std::string name, T value) : name(std::move(name)), real(static_cast<double>(value)) {}
  /// Integers that fit int64_t by their type.
  template <typename T,
            std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> &&
                                 (std::is_signed_v<T> || sizeof(T) < sizeof(std::int64_t)),
                             int> = 0>
  Param(std::string name, T value)
      : name(std::move(name)), isInteger(true), integer(static_cast<std::int64_t>(value)) {}

  std::string name;
  bool isInteger = false; ///< which of the next two counts
  std::int64_t integer = 0;
  double real = 0;
};

/// What a program is bound to. Arguments{{Tensor("x", x, {4}), Tensor("y", y, {4})}}.
struct Arguments {
  /// All inputs and outputs, in any order if they have names. Outputs may overlap nothing.
  std::vector<Tensor> tensors;
  /// Those that are passed; the others take their defaults.
  std::vector<Param> params = {};
  /// Most bytes that values between kernels may take, 0 for none at all.
  std::optional<std::int64_t> memoryBudget = {};
};

namespace detail {

/// Arguments as C takes them; points into those it is made from.
class CArguments {
public:
  explicit CArguments(const Arguments &arguments) : c(sized<attnc_arguments>()) {
    tensors.reserve(arguments.tensors.size());
    for (const Tensor &tensor : arguments.tensors)
      tensors.push_back({tensor.name.empty() ? nullptr : tensor.name.c_str(), tensor.data,
                         static_cast<std::int32_t>(tensor.dtype),
                         static_cast<std::int32_t>(tensor.shape.size()), tensor.shape.data(),
                         tensor.strides.empty() ? nullptr : tensor.strides.data()});
    params.reserve(arguments.params.size());
    for (const Param &param : arguments.params)
      params.push_back({param.name.c_str(), param.isInteger, param.integer, param.real});
    c.tensors = tensors.data();
    c.tensor_count = tensors.size();
    c.params = params.data();
    c.param_count = params.size();
    c.memory_budget = arguments.memoryBudget ? &*arguments.memoryBudget : nullptr;
  }
  CArguments(const CArguments &) = delete;
  CArguments &operator=(const CArguments &) = delete;

  const attnc_arguments *get() const { return &c; }

private:
  attnc_arguments c;
  std::vector<attnc_tensor> tensors;
  std::vector<attnc_param> params;
};

} // namespace detail

} // namespace attnc
