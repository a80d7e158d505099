#pragma once

#include <ATen/core/Tensor.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

#include "frontend/cpp_api.h"
#include "frontend/structured.h"
#include "ir/host/host.h"

namespace ingot {

struct ArgumentGroup;

/// An argument of a call: a tensor, a Python number, None, or a tuple, list or dict of these. `Argument()` represents
/// an omitted argument: the parameter takes its default. An Argument borrows its tensors, as a string_view borrows its
/// characters: they must outlive the call.
class Argument {
 public:
  enum class Kind : uint8_t { Absent, PythonNone, Tensor, Number, Tensors, Group };

  Argument() : number_() {}
  Argument(NoneType) : kind_(Kind::PythonNone), number_() {}
  Argument(const at::Tensor& tensor) : kind_(Kind::Tensor), tensor_(&tensor) {}
  Argument(const at::Tensor&& tensor) = delete;
  Argument(const std::vector<at::Tensor>& list) : kind_(Kind::Tensors), tensors_(&list) {}
  Argument(const std::vector<at::Tensor>&& list) = delete;
  Argument(const ArgumentGroup& group) : kind_(Kind::Group), group_(&group) {}
  Argument(const ArgumentGroup&& group) = delete;
  Argument(ir::HostValue number) : kind_(Kind::Number), number_(number) {}
  Argument(bool value) : Argument(ir::HostValue::of(value)) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Argument(T value) : Argument(ir::HostValue::of(static_cast<int64_t>(value))) {}
  template <std::floating_point T>
  Argument(T value) : Argument(ir::HostValue::of(static_cast<double>(value))) {}

  Kind kind() const { return kind_; }
  /// The tensor; null for any other kind.
  const at::Tensor* tensor() const { return kind_ == Kind::Tensor ? tensor_ : nullptr; }
  /// The list of tensors, or the group; null for any other kind.
  const std::vector<at::Tensor>* tensors() const { return kind_ == Kind::Tensors ? tensors_ : nullptr; }
  const ArgumentGroup* group() const { return kind_ == Kind::Group ? group_ : nullptr; }
  /// The number. Valid only for Kind::Number.
  ir::HostValue number() const { return number_; }
  /// Whether the argument is a list or a group of other arguments.
  bool is_structured() const { return kind_ == Kind::Tensors || kind_ == Kind::Group; }
  /// Returns how the argument is nested, and appends its leaves to `leaves`, from left to right.
  frontend::Structure structure(std::vector<Argument>& leaves) const;

 private:
  Kind kind_ = Kind::Absent;
  union {
    const at::Tensor* tensor_;
    ir::HostValue number_;
    const std::vector<at::Tensor>* tensors_;
    const ArgumentGroup* group_;
  };
};

/// A tuple, list or dict of arguments.
struct ArgumentGroup {
  frontend::Structure::Kind kind = frontend::Structure::Kind::List;
  std::vector<Argument> items = {};
  std::vector<std::string> keys = {};  ///< of a dict, one per item
};

}  // namespace ingot
