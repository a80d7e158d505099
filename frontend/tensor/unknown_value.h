#pragma once

#include <string>

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// Fails because a decision depends on the value of a tensor. An author gets `message` and `hint`. If the decision is
/// in a library function, the message is about the function's argument, because the author did not write that function.
[[noreturn]] void refuse_unknown_value(Builder& builder, std::string message, std::string hint);

}  // namespace ingot::frontend
