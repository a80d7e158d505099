#include "runtime/records/kernel_cache.h"
#include "runtime/records/program_cache.h"
#include "runtime/records/serialize.h"
#include "tests/runtime/support.h"

// Records of a program and of its kernels survive a round trip, field by field.

namespace ingot::runtime {
namespace {

/// Sets every field below `value` to a distinct value that differs from its default.
class Filler {
 public:
  template <typename T>
  void fill(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = !value;
    } else if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(1);
    } else if constexpr (std::is_arithmetic_v<T>) {
      value = static_cast<T>(++count_);
    } else {
      std::apply([&](auto&... field) { (fill(field), ...); }, fields(value));
    }
  }
  template <typename T>
  void fill(std::vector<T>& values) {
    values.resize(2);
    for (T& value : values) fill(value);
  }
  template <typename T>
  void fill(std::optional<T>& value) {
    fill(value.emplace());
  }
  void fill(std::string& text) { text = "\xff" + std::to_string(++count_); }
  void fill(ir::HostValue& value) { value = ir::HostValue::of(++count_ + 0.1); }
  void fill(ir::HostPool& pool) {
    std::vector<ir::HostNode> nodes;
    fill(nodes);
    nodes[0].args.clear();
    for (ir::HostId& arg : nodes[1].args) arg.index = 0;  // operands precede their users
    for (ir::HostNode& node : nodes) pool.append(node);
  }
  // Records contain neither spans nor graphs.
  void fill(Span&) {}
  void fill(std::shared_ptr<const ir::Graph>&) {}

 private:
  int count_ = 0;
};

/// Whether two values agree in every field.
template <typename T>
bool are_same(const std::vector<T>& a, const std::vector<T>& b);
template <typename T>
bool are_same(const std::optional<T>& a, const std::optional<T>& b);
bool are_same(const std::string& a, const std::string& b) { return a == b; }
bool are_same(const ir::HostPool& a, const ir::HostPool& b) {
  bool all = a.count() == b.count();
  for (uint32_t i = 0; all && i < a.count(); ++i) all = a[{i}] == b[{i}];
  return all;
}
template <typename T>
bool are_same(const T& a, const T& b) {
  if constexpr (requires { a == b; }) {
    return a == b;
  } else {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return (are_same(std::get<I>(fields(a)), std::get<I>(fields(b))) && ...);
    }(std::make_index_sequence<kFieldCount<T>>{});
  }
}
template <typename T>
bool are_same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](const T& x, const T& y) { return are_same(x, y); });
}
template <typename T>
bool are_same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || are_same(*a, *b));
}

template <typename Record>
void expect_round_trip() {
  Record record{};
  Filler().fill(record);
  EXPECT_FALSE(are_same(record, Record{}));
  const std::string bytes = to_bytes(record);
  const std::optional<Record> restored = from_bytes<Record>(bytes);
  ASSERT_TRUE(restored.has_value());
  EXPECT_TRUE(are_same(*restored, record));
  EXPECT_EQ(to_bytes(*restored), bytes);
}

TEST(Records, RoundTrip) {
  expect_round_trip<ProgramRecord>();
  expect_round_trip<KernelSetRecord>();
}

TEST(Records, RoundTripForAnOp) {
  const auto definition = frontend::define("def f(table, i, k: float):\n    return table[:, i] * k, table.t() - 1\n");
  const at::Tensor table = at::rand({4, 5}), i = at::tensor({1, 2, 0}).view({1, 3});
  const std::vector<Argument> arguments{table, i, 0.5};
  CallKey key;
  make_call_key(*definition, arguments, {}, {}, Purpose::Show, key);
  const ir::Graph graph = frontend::lower(*definition, signature_of(key, Numerics::Default), symbol_values_of(key));
  const Program program = make_program(std::make_shared<const ir::Graph>(ir::simplify(ir::inline_calls(graph))));
  std::optional<Program> restored = from_bytes<Program>(to_bytes(program));
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->graph, nullptr);
  restored->graph = program.graph;
  EXPECT_TRUE(are_same(*restored, program));
}

TEST(Records, RejectExpressionsBeforeTheirOperands) {
  ir::HostNode node{.op = ir::HostOp::Not, .kind = ir::HostKind::Bool, .args = {{0}}};
  EXPECT_FALSE(from_bytes<ir::HostPool>(to_bytes(std::vector{node})).has_value());
}

TEST(Records, RejectOtherBytes) {
  const std::string bytes = to_bytes(KernelSetRecord{.kernels = {}, .binary_key = "key"});
  EXPECT_TRUE(from_bytes<KernelSetRecord>(bytes).has_value());
  EXPECT_FALSE(from_bytes<ProgramRecord>(to_bytes(std::vector<int>{1})).has_value());
  EXPECT_FALSE(from_bytes<KernelSetRecord>(to_bytes(std::string("cubin"))).has_value());
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(from_bytes<KernelSetRecord>(bytes.substr(0, length)).has_value()) << length;
}

}  // namespace
}  // namespace ingot::runtime
