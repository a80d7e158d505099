// Properties of kernels other than speed: parameters, names, how often a value is computed, aliasing.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "tests/codegen/support.h"

namespace ingot::codegen {
namespace {

using ir::DType;
using ir::NodeId;
using ir::Op;

Kernel kernel_of(const ir::Graph& graph, const Tensors& tensors, const Target& target, bool results_alias = false) {
  const Prepared prepared = prepare(graph, tensors, results_alias);
  return kernels(prepared.graph, prepared.outline, prepared.layouts, target, {}).at(0);
}

std::string body_of(const ir::Graph& graph, const Tensors& tensors, const Target& target, bool results_alias = false) {
  const std::string text = generate_for(graph, tensors, target, "", {}, results_alias).text;
  return text.substr(text.find(") {", text.find(target.kind == Target::Kind::Cuda ? "__global__" : "void* const*")));
}

/// The message of the author's error that `generate` throws; empty if it throws none.
template <typename Generate>
std::string authors_error(Generate generate) {
  try {
    generate();
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::Author);
    return error.what();
  }
}

Tensors vectors(size_t count) { return {std::vector<ir::SizesAndStrides>(count, contiguous({64})), {}, {}, {}}; }

TEST(Kernel, PassesInputsScalarsResultsThenSizes) {
  Sketch sketch("f");
  const NodeId x = sketch.tensor("x", DType::F32, 1), s = sketch.number("s", ir::HostKind::Float, DType::F32);
  sketch.result("out", DType::F32, sketch.graph.add(Op::Mul, DType::F32, {x, s}), {sketch.graph.host.size(0, 0)});
  const Tensors tensors{{{{64}, {3}}, {}}, {}, {}, {}};
  const Kernel kernel = kernel_of(sketch.graph, tensors, kCuda);
  using Kind = KernelParameter::Kind;
  const std::vector<KernelParameter> expected = {{Kind::Pointer, 0, 0, DType::I64, "x"},
                                                 {Kind::Scalar, 0, 0, DType::F32, "s"},
                                                 {Kind::Pointer, 1, 0, DType::I64, "out"},
                                                 {Kind::Numel, 0, 0, DType::I32, "n"},
                                                 {Kind::Stride, 0, 0, DType::I32, "x_stride"}};
  EXPECT_EQ(kernel.launch.parameters, expected);
  EXPECT_EQ(kernel.launch.entry, "f");
  const auto text = [&](int64_t size, int64_t stride) {
    return print(kernel_of(sketch.graph, {{{{size}, {stride}}, {}}, {}, {}, {}}, kCuda));
  };
  EXPECT_EQ(print(kernel), text(99, 5)) << "sizes and strides are parameters";
  EXPECT_NE(print(kernel), text(64, 1));
}

TEST(Kernel, RemovesUnneededStatements) {
  Sketch sketch("f");
  const NodeId x = sketch.tensor("x", DType::I32, 1);
  sketch.tensor("unused", DType::F32, 1);
  const NodeId isnan = sketch.graph.add(Op::Isnan, DType::Bool, {x});
  sketch.result("out", DType::Bool, isnan, {sketch.graph.host.size(0, 0)});
  const ir::Graph graph = ir::simplify(sketch.graph);
  for (const Target& target : {kCuda, kCpu}) {
    const std::string text = generate_for(graph, vectors(2), target).text;
    EXPECT_NE(text.find("= false;"), std::string::npos) << text;
    for (const KernelParameter& parameter : kernel_of(graph, vectors(2), target).launch.parameters) {
      EXPECT_NE(parameter.name, "x");
      EXPECT_NE(parameter.name, "unused");
    }
  }
}

TEST(Kernel, LoadsBeforeStoresIfResultsAliasInputs) {
  Sketch sketch("f");
  const NodeId x = sketch.tensor("x", DType::F32, 1), y = sketch.tensor("y", DType::F32, 1);
  const ir::HostId n = sketch.graph.host.size(0, 0);
  sketch.result("a", DType::F32, sketch.graph.add(Op::Neg, DType::F32, {x}), {n});
  sketch.result("b", DType::F32, sketch.graph.add(Op::Neg, DType::F32, {y}), {n});
  EXPECT_NE(generate_for(sketch.graph, vectors(2), kCpu).text.find("__restrict"), std::string::npos);
  for (const Target& target : {kCuda, kCpu}) {
    EXPECT_EQ(generate_for(sketch.graph, vectors(2), target, "", {}, true).text.find("__restrict"), std::string::npos);
    // Nothing is loaded after the first store.
    const std::string body = body_of(sketch.graph, vectors(2), target, true);
    const size_t first_store = body.find(target.kind == Target::Kind::Cuda ? "a4[k] = " : "a[i] = ");
    const size_t last_load = body.find(target.kind == Target::Kind::Cuda ? "y4 = load_until<4>" : "= y[i]");
    ASSERT_NE(first_store, std::string::npos) << body;
    ASSERT_NE(last_load, std::string::npos) << body;
    EXPECT_LT(last_load, first_store);
  }
}

TEST(Kernel, ComputesRowValuesOnce) {
  Sketch sketch("f");
  const NodeId x = sketch.tensor("x", DType::F32, 2), scale = sketch.tensor("scale", DType::F32, 2);
  const NodeId factor = sketch.graph.add(Op::Exp, DType::F32, {scale});
  sketch.result("out", DType::F32, sketch.graph.add(Op::Mul, DType::F32, {x, factor}),
                {sketch.graph.host.size(0, 0), sketch.graph.host.size(0, 1)});
  const Tensors tensors{{contiguous({8, 64}), contiguous({8, 1})}, {}, {}, {}};
  for (const Target& target : {kCuda, kCpu}) {
    const std::string body = body_of(sketch.graph, tensors, target);
    EXPECT_LT(body.find("expf"), body.find("#pragma")) << body;
  }
}

TEST(Kernel, OrdersTileBlocksLikeTheDomain) {
  Sketch sketch("f");
  const NodeId x = sketch.tensor("x", DType::F32, 3);
  ir::HostPool& host = sketch.graph.host;
  sketch.result("out", DType::F32, x, {host.size(0, 0), host.size(0, 1), host.size(0, 2)});
  const Tensors transposed{{{{64, 5, 96}, {1, 64, 320}}}, {}, {}, {}};
  const Kernel kernel = kernel_of(sketch.graph, transposed, kCuda);
  EXPECT_EQ(kernel.launch.grid, (std::vector<GridFactor>{{2, 1, 64}, {1, 1, 1}, {0, 1, 64}}));
}

TEST(Kernel, SplitsOnlyLongExpressions) {
  Sketch sketch("f");
  NodeId sum = sketch.tensor("x", DType::F32, 1);
  for (int k = 0; k < 60; ++k)
    sum = sketch.graph.add(Op::Add, DType::F32, {sum, sketch.constant(DType::F32, 1.0 / (k + 3))});
  sketch.result("out", DType::F32, sum, {sketch.graph.host.size(0, 0)});
  const std::string body = body_of(sketch.graph, vectors(1), kCpu);
  size_t lines = 0;
  for (size_t begin = 0, end; (end = body.find('\n', begin)) != std::string::npos; begin = end + 1, ++lines)
    EXPECT_LE(end - begin, 100u) << body.substr(begin, end - begin);
  EXPECT_LT(lines, 40u) << body;
}

TEST(Kernel, PrefersTheAuthorsNames) {
  Sketch sketch("f");
  const NodeId i = sketch.tensor("i", DType::F32, 1), n = sketch.tensor("n", DType::F32, 1);
  const NodeId k = sketch.graph.add(Op::Add, DType::F32, {i, n});
  sketch.graph.name_node(k, "k");
  sketch.result("maximum", DType::F32, sketch.graph.add(Op::Maximum, DType::F32, {k, i}),
                {sketch.graph.host.size(0, 0)});
  const std::string body = body_of(sketch.graph, vectors(2), kCuda);
  EXPECT_NE(body.find("i4 = load<4>(i, i_1);"), std::string::npos) << body;
  EXPECT_NE(body.find("const float k = i4[k_1] + n4[k_1];"), std::string::npos) << body;
  EXPECT_NE(body.find("maximum_1_4[k_1] = maximum(k, i4[k_1]);"), std::string::npos) << body;
}

TEST(Kernel, RecordsTheNodesOfEachLine) {
  Sketch sketch("f");
  const NodeId x = sketch.tensor("x", DType::F32, 1);
  const NodeId sine = sketch.graph.add(Op::Sin, DType::F32, {x});
  sketch.graph.name_node(sine, "sine");
  const NodeId product = sketch.graph.add(Op::Mul, DType::F32, {sine, sine});
  sketch.result("out", DType::F32, product, {sketch.graph.host.size(0, 0)});
  for (const Target& target : {kCuda, kCpu}) {
    const Source source = generate_for(sketch.graph, vectors(1), target, "the author's\ntext");
    ASSERT_EQ(static_cast<size_t>(std::ranges::count(source.text, '\n')), source.lines.size());
    const auto nodes_of = [&](std::string_view words) {
      const size_t at = source.text.find(words);
      EXPECT_NE(at, std::string::npos) << words << " in\n" << source.text;
      if (at == std::string::npos) return ComputedNodes{kNoNode};
      return source.lines.at(static_cast<size_t>(
          std::count(source.text.begin(), source.text.begin() + static_cast<std::ptrdiff_t>(at), '\n')));
    };
    EXPECT_EQ(nodes_of("const float sine = ").front(), sine);
    EXPECT_EQ(nodes_of("= sine * sine;").front(), product);
    if (target.cuda()) {
      EXPECT_EQ(nodes_of("x4 = load<4>(x, i);"), ComputedNodes{x});
      EXPECT_EQ(nodes_of("store(out, i, out4);"), ComputedNodes{product});
    }
    EXPECT_EQ(nodes_of("// text"), ComputedNodes{});
  }
}

TEST(Kernel, RejectsTooManyTensors) {
  Sketch sketch("f");
  NodeId sum = sketch.tensor("x", DType::F32, 1);
  for (int k = 0; k < 600; ++k)
    sum = sketch.graph.add(Op::Add, DType::F32, {sum, sketch.tensor("x" + std::to_string(k), DType::F32, 1)});
  sketch.result("out", DType::F32, sum, {sketch.graph.host.size(0, 0)});
  EXPECT_EQ(authors_error([&] { kernel_of(sketch.graph, vectors(601), kCpu); }), "");
  const std::string error = authors_error([&] { kernel_of(sketch.graph, vectors(601), kCuda); });
  EXPECT_NE(error.find("too many tensors for one kernel"), std::string::npos) << error;
}

TEST(Kernel, RejectsTooManyValues) {
  const auto doublings = [](int count) {
    Sketch sketch("f");
    NodeId x = sketch.tensor("x", DType::F32, 1);
    for (int k = 0; k < count; ++k) x = sketch.graph.add(Op::Add, DType::F32, {x, x});
    sketch.result("out", DType::F32, x, {sketch.graph.host.size(0, 0)});
    return std::move(sketch.graph);
  };
  for (const Target& target : {kCpu, kCuda}) {
    EXPECT_EQ(authors_error([&] { generate_for(doublings(5'000), vectors(2), target, ""); }), "");
    const std::string error = authors_error([&] { generate_for(doublings(12'000), vectors(2), target, ""); });
    EXPECT_NE(error.find("too much for one kernel: `f`"), std::string::npos) << error;
  }
}

TEST(Kernel, ChecksIndicesOnCudaOnlyOnRequest) {
  Sketch sketch("f");
  const NodeId index = sketch.tensor("index", DType::I64, 1);
  const uint32_t table = sketch.add_param("table", DType::F32, 1);
  ir::HostPool& host = sketch.graph.host;
  const ir::Access access{
      {ir::SourceRef::Kind::Param, table}, {host.integer(0)}, {}, {{host.size(table, 0), {{0, host.integer(1)}}}}};
  sketch.result("out", DType::F32, sketch.graph.gather(DType::F32, access, {index}), {host.size(0, 0)});
  const auto status_of = [&](const Target& target, bool check) {
    const LaunchInfo launch = generate_for(sketch.graph, vectors(2), target, "", {check, false}).kernels[0];
    return std::ranges::count(launch.parameters, KernelParameter::Kind::Status, &KernelParameter::kind);
  };
  EXPECT_EQ(status_of(kCuda, false), 0);
  EXPECT_EQ(status_of(kCuda, true), 1);
  EXPECT_EQ(status_of(kCpu, false), 1);
}

}  // namespace
}  // namespace ingot::codegen
