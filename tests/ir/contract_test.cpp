#include <gtest/gtest.h>

#include "tests/ir/testing.h"

namespace ingot::ir {
namespace {

/// x, y, z and w are float32. `mul`, `add` and `sub` make nodes with kContractable, as for the author's 16-bit floats.
struct Contract : testing::Test {
  GraphWriter writer;
  const NodeId x = load("x"), y = load("y"), z = load("z"), w = load("w");

  NodeId load(const std::string& name) { return writer.load(name, DType::F32); }
  NodeId narrow(Op op, NodeId a, NodeId b) { return writer.graph.add({op, DType::F32, kContractable, {a, b}}); }
  NodeId mul(NodeId a, NodeId b) { return narrow(Op::Mul, a, b); }
  NodeId add(NodeId a, NodeId b) { return narrow(Op::Add, a, b); }
  NodeId sub(NodeId a, NodeId b) { return narrow(Op::Sub, a, b); }
  NodeId fma(NodeId a, NodeId b, NodeId c) { return writer.op(Op::Fma, {a, b, c}); }

  std::string contracted_text(std::vector<NodeId> results) {
    writer.graph.results.clear();
    for (const NodeId node : results) writer.result(node);
    verify(writer.graph);
    const Graph graph = contract(writer.graph);
    verify(graph);
    return print(graph);
  }
  void expect_contracted(NodeId node, NodeId expected) {
    EXPECT_EQ(contracted_text({node}), contracted_text({expected}));
  }
};

TEST_F(Contract, FusesAProductIntoASum) {
  expect_contracted(add(mul(x, y), z), fma(x, y, z));
  expect_contracted(add(z, mul(x, y)), fma(x, y, z));
  expect_contracted(add(mul(mul(x, y), z), w), fma(writer.op(Op::Mul, {x, y}), z, w));
  expect_contracted(add(mul(add(mul(x, y), z), y), w), fma(fma(x, y, z), y, w));
}

TEST_F(Contract, FusesAProductIntoADifference) {
  expect_contracted(sub(mul(x, y), z), fma(x, y, writer.op(Op::Neg, {z})));
  expect_contracted(sub(z, mul(x, y)), fma(writer.op(Op::Neg, {x}), y, z));
}

TEST_F(Contract, RoundsAProductAddedToAComputedValue) {
  const NodeId a = writer.op(Op::Mul, {x, y}), b = writer.op(Op::Mul, {z, w});
  const NodeId p = mul(x, y), q = mul(z, w);
  expect_contracted(add(p, q), writer.op(Op::Add, {a, b}));
  expect_contracted(sub(p, q), writer.op(Op::Sub, {a, b}));
  expect_contracted(sub(p, writer.op(Op::Maximum, {q, w})), writer.op(Op::Sub, {a, writer.op(Op::Maximum, {b, w})}));
}

TEST_F(Contract, RoundsAProductWithAnotherUse) {
  const NodeId product = mul(x, y), rounded = writer.op(Op::Mul, {x, y});
  expect_contracted(sub(product, product), writer.op(Op::Sub, {rounded, rounded}));
  expect_contracted(add(product, writer.op(Op::Exp, {product})),
                    writer.op(Op::Add, {rounded, writer.op(Op::Exp, {rounded})}));
  EXPECT_EQ(contracted_text({add(product, z), product}), contracted_text({writer.op(Op::Add, {rounded, z}), rounded}));
}

TEST_F(Contract, IgnoresUsesByResiduals) {
  const NodeId product = mul(x, y);
  contracted_text({add(product, z), product});
  writer.graph.results[1].use = Use::Residual;
  const std::string with_residual = print(contract(writer.graph));
  const NodeId rounded = writer.op(Op::Mul, {x, y});
  EXPECT_EQ(with_residual, contracted_text({fma(x, y, z), rounded}));
}

TEST_F(Contract, LeavesFloat32OpsAlone) {
  const NodeId product = writer.op(Op::Mul, {x, y}), sum = writer.op(Op::Add, {product, z});
  expect_contracted(sum, sum);
  expect_contracted(add(product, z), sum);
  expect_contracted(writer.op(Op::Add, {mul(x, y), z}), sum);
  EXPECT_EQ(contracted_text({add(mul(x, y), z), sum}), contracted_text({fma(x, y, z), sum}));
}

}  // namespace
}  // namespace ingot::ir
