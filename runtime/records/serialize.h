#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/source.h"
#include "ir/graph.h"
#include "ir/host/host.h"
#include "runtime/records/fields.h"

// Serialises records: CBOR of a JSON value, in which a struct is the array of its fields. A record's key names the
// build that wrote it, so enumerators and fields need no names. Types that are not plain have an overload here.

namespace ingot::runtime {

template <typename T>
nlohmann::json as_json(const std::optional<T>& value);
template <typename T>
void read(const nlohmann::json& json, std::optional<T>& value);
template <typename T>
nlohmann::json as_json(const std::vector<T>& values);
template <typename T>
void read(const nlohmann::json& json, std::vector<T>& values);
template <typename T>
nlohmann::json as_json(const T& value);
template <typename T>
void read(const nlohmann::json& json, T& value);

/// Strings are stored as bytes: an op's source need not be UTF-8, and a binary never is.
inline nlohmann::json as_json(const std::string& text) { return nlohmann::json::binary({text.begin(), text.end()}); }
inline void read(const nlohmann::json& json, std::string& text) {
  const auto& bytes = json.get_binary();
  text.assign(bytes.begin(), bytes.end());
}

/// Spans are dropped: their source does not exist when the record is read.
inline nlohmann::json as_json(const Span&) { return nullptr; }
inline void read(const nlohmann::json&, Span& span) { span = {}; }

/// Drops a program's graph. Only generation needs the graph, and lowers the op again if a program comes from disk.
inline nlohmann::json as_json(const std::shared_ptr<const ir::Graph>&) { return nullptr; }
inline void read(const nlohmann::json&, std::shared_ptr<const ir::Graph>& graph) { graph = nullptr; }

inline nlohmann::json as_json(const ir::HostValue& value) {
  return nlohmann::json::array({static_cast<int>(value.kind), value.integer});  // a float's bits
}
inline void read(const nlohmann::json& json, ir::HostValue& value) {
  value.kind = static_cast<ir::HostKind>(json.at(0).get<int>());
  value.integer = json.at(1).get<int64_t>();
}

template <typename T>
nlohmann::json as_json(const std::optional<T>& value) {
  return value ? nlohmann::json::array({as_json(*value)}) : nlohmann::json::array();
}
template <typename T>
void read(const nlohmann::json& json, std::optional<T>& value) {
  value.reset();
  if (!json.empty()) read(json.at(0), value.emplace());
}

template <typename T>
nlohmann::json as_json(const std::vector<T>& values) {
  nlohmann::json json = nlohmann::json::array();
  for (const T& value : values) json.push_back(as_json(value));
  return json;
}
template <typename T>
void read(const nlohmann::json& json, std::vector<T>& values) {
  values = std::vector<T>(json.size());
  for (size_t i = 0; i < values.size(); ++i) read(json.at(i), values[i]);
}

inline nlohmann::json as_json(const ir::HostPool& pool) {
  nlohmann::json json = nlohmann::json::array();
  for (uint32_t i = 0; i < pool.count(); ++i) json.push_back(as_json(pool[{i}]));
  return json;
}
inline void read(const nlohmann::json& json, ir::HostPool& pool) {
  std::vector<ir::HostNode> nodes;
  read(json, nodes);
  for (ir::HostNode& node : nodes) {
    for (const ir::HostId arg : node.args)
      if (arg.index >= pool.count()) throw std::invalid_argument("an expression before its operand");
    pool.append(std::move(node));
  }
}

template <typename T>
nlohmann::json as_json(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    nlohmann::json json = nlohmann::json::array();
    std::apply([&](const auto&... field) { (json.push_back(as_json(field)), ...); }, fields(value));
    return json;
  }
}
template <typename T>
void read(const nlohmann::json& json, T& value) {
  if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(json.get<int>());
  } else if constexpr (std::is_arithmetic_v<T>) {
    value = json.get<T>();
  } else {
    if (json.size() != kFieldCount<T>) throw std::invalid_argument("a record of other fields");
    size_t i = 0;
    std::apply([&](auto&... field) { (read(json.at(i++), field), ...); }, fields(value));
  }
}

template <typename T>
std::string to_bytes(const T& value) {
  const std::vector<uint8_t> bytes = nlohmann::json::to_cbor(as_json(value));
  return std::string(bytes.begin(), bytes.end());
}
/// Empty if the bytes are not a valid record.
template <typename T>
std::optional<T> from_bytes(std::string_view bytes) {
  try {
    T value{};
    read(nlohmann::json::from_cbor(bytes.begin(), bytes.end()), value);
    return value;
  } catch (const std::exception&) {  // nlohmann's errors, and failed allocations for an absurd length
    return std::nullopt;
  }
}

}  // namespace ingot::runtime
