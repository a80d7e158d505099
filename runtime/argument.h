#pragma once

#include <ATen/core/Tensor.h>

#include <concepts>
#include <cstdint>

#include "frontend/cpp_api.h"
#include "ir/host/host.h"

namespace ingot {

/// What an op is called with: a tensor, a Python number, or None (the parameter's default). An Argument borrows its
/// tensor, as a string_view borrows its text: it must outlive the call.
class Argument {
 public:
  enum class Kind : uint8_t { Absent, Tensor, Number };

  Argument() : number_() {}
  Argument(NoneType) : Argument() {}
  Argument(const at::Tensor& tensor) : kind_(Kind::Tensor), tensor_(&tensor) {}
  Argument(const at::Tensor&& tensor) = delete;
  Argument(ir::HostValue number) : kind_(Kind::Number), number_(number) {}
  Argument(bool value) : Argument(ir::HostValue::of(value)) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Argument(T value) : Argument(ir::HostValue::of(static_cast<int64_t>(value))) {}
  template <std::floating_point T>
  Argument(T value) : Argument(ir::HostValue::of(static_cast<double>(value))) {}

  Kind kind() const { return kind_; }
  /// Null for anything but a tensor.
  const at::Tensor* tensor() const { return kind_ == Kind::Tensor ? tensor_ : nullptr; }
  /// Of a number; nothing else may be asked.
  ir::HostValue number() const { return number_; }

 private:
  Kind kind_ = Kind::Absent;
  union {
    const at::Tensor* tensor_;
    ir::HostValue number_;
  };
};

}  // namespace ingot
