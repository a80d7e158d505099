#include "frontend/tensor/tape.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"

namespace ingot::frontend {

std::string Tape::record(std::string_view function, std::vector<Value> arguments) {
  calls_.push_back({std::string(function), std::move(arguments)});
  return fmt::format("{}#{}", function, calls_.size() - 1);
}

const TapedCall* Tape::find(std::string_view call_name) const {
  const size_t separator = call_name.rfind('#');
  if (separator == std::string_view::npos) return nullptr;
  size_t index = calls_.size();
  std::from_chars(call_name.data() + separator + 1, call_name.data() + call_name.size(), index);
  if (index >= calls_.size()) throw_internal(fmt::format("call `{}` was not recorded", call_name));
  return &calls_[index];
}

}  // namespace ingot::frontend
