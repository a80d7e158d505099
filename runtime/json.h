#pragma once

#include <nlohmann/json.hpp>

#include "codegen/outline.h"
#include "codegen/plan.h"
#include "ir/graph.h"
#include "runtime/program.h"

// The records' plain data as JSON values, which the store keeps as CBOR. Every function pair is to_json/from_json as
// nlohmann finds them; `from_json` throws nlohmann's exceptions for what it cannot read.

namespace ingot::ir {
void to_json(nlohmann::json& json, const HostId& id);
void from_json(const nlohmann::json& json, HostId& id);
void to_json(nlohmann::json& json, const HostValue& value);
void from_json(const nlohmann::json& json, HostValue& value);
void to_json(nlohmann::json& json, const HostPool& pool);
void from_json(const nlohmann::json& json, HostPool& pool);
void to_json(nlohmann::json& json, const Access& access);
void from_json(const nlohmann::json& json, Access& access);
void to_json(nlohmann::json& json, const Condition& condition);
void from_json(const nlohmann::json& json, Condition& condition);
void to_json(nlohmann::json& json, const LayoutStep& step);
void from_json(const nlohmann::json& json, LayoutStep& step);
}  // namespace ingot::ir

namespace ingot::codegen {
void to_json(nlohmann::json& json, const KernelOutline& kernel);
void from_json(const nlohmann::json& json, KernelOutline& kernel);
void to_json(nlohmann::json& json, const LaunchInfo& info);
void from_json(const nlohmann::json& json, LaunchInfo& info);
}  // namespace ingot::codegen

namespace ingot::runtime {
void to_json(nlohmann::json& json, const Program& program);
void from_json(const nlohmann::json& json, Program& program);

/// CBOR of what `to_json` gives, and back; nothing where the bytes are of something else.
template <typename T>
std::string to_bytes(const T& value) {
  const std::vector<uint8_t> bytes = nlohmann::json::to_cbor(nlohmann::json(value));
  return std::string(bytes.begin(), bytes.end());
}
template <typename T>
bool from_bytes(std::string_view bytes, T& value) {
  try {
    nlohmann::json::from_cbor(bytes.begin(), bytes.end()).get_to(value);
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}
}  // namespace ingot::runtime
