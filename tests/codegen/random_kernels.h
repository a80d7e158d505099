#pragma once

#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/codegen/execution.h"

// Random kernels on random layouts, with memory for all their tensors.

namespace ingot::codegen {

using ir::DType;
using ir::NodeId;
using ir::Op;

struct Case {
  ir::Graph graph;
  Tensors tensors;
  std::vector<std::unique_ptr<Guarded>> memory;   // one per parameter
  std::vector<std::unique_ptr<Guarded>> results;  // one per result
  std::vector<int64_t> domain;
};

/// The bits of a small integer as a 16-bit float.
inline uint16_t half_bits(float value, DType dtype) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (dtype == DType::BF16 || value == 0) return static_cast<uint16_t>(bits >> 16);
  const uint32_t exponent = (bits >> 23 & 0xff) - 127 + 15;
  return static_cast<uint16_t>(bits >> 31 << 15 | exponent << 10 | (bits >> 13 & 0x3ff));
}

/// Makes one random kernel at a time. Parameters are float32, float16, bfloat16, int64 or uint8; the arithmetic is
/// exact, so that all targets give the same bits.
class RandomKernelMaker {
 public:
  explicit RandomKernelMaker(uint32_t seed) : random_(seed) {}

  Case make(const std::string& name) {
    Sketch sketch(name);
    sketch_ = &sketch;
    case_ = {};
    case_.domain.resize(pick(5));
    for (int64_t& size : case_.domain) size = pick(8) == 0 ? 1 : pick(40) == 0 ? 0 : 1 + pick(pick(3) == 0 ? 40 : 9);
    if (pick(3) == 0 && !case_.domain.empty()) case_.domain.back() = 4 * (1 + pick(8));
    has_short_rows_ = pick(5) < 2;
    if (has_short_rows_) {  // short rows, and operands that are transposed
      case_.domain.resize(static_cast<size_t>(2 + pick(2)));
      for (int64_t& size : case_.domain) size = 1 + pick(30);
      case_.domain.back() = 1 + pick(80);
      case_.domain.front() = 1 + pick(200);
    }
    is_long_ = !has_short_rows_ && pick(3) == 0 && case_.domain.size() > 1;
    if (is_long_) {  // long enough for whole and partial tiles
      case_.domain.resize(std::min<size_t>(case_.domain.size(), 3));
      case_.domain.front() = 32 + pick(40);
      case_.domain.back() = pick(2) == 0 ? 64 : 32 + pick(100);
    }
    floats_.clear();
    const int loads = 1 + pick(4);
    for (int l = 0; l < loads; ++l) add_load();
    if (pick(has_short_rows_ ? 20 : 3) == 0 && !case_.domain.empty())
      floats_.push_back(cast(add_position(), DType::F32));
    if (!is_long_ && pick(has_short_rows_ ? 20 : 2) == 0) add_gather();
    if (!has_short_rows_ && pick(3) == 0) add_choice();
    for (int op = pick(6); op >= 0; --op) add_op();
    std::vector<ir::HostId> shape;
    for (const int64_t size : case_.domain) shape.push_back(graph().host.integer(size));
    sketch.result("out", DType::F32, floats_.back(), shape);
    if (pick(3) == 0)
      sketch.result("other", DType::U8, to_byte(floats_[0]), shape);
    else if (pick(3) == 0)
      sketch.result("other", DType::F16, to_half(floats_[0]), shape);
    int64_t numel = 1;
    for (const int64_t size : case_.domain) numel *= size;
    for (const ir::Result& result : sketch.graph.results) {
      const auto bytes = static_cast<size_t>(numel * ir::size_of(result.dtype));
      case_.results.push_back(std::make_unique<Guarded>(bytes, pick(2) == 0));
      case_.tensors.result_addresses.push_back(reinterpret_cast<uintptr_t>(case_.results.back()->data()));
    }
    case_.graph = std::move(sketch.graph);
    return std::move(case_);
  }

  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

 private:
  ir::Graph& graph() { return sketch_->graph; }
  NodeId cast(NodeId node, DType dtype) { return graph().add(Op::Cast, dtype, {node}); }
  NodeId to_byte(NodeId node) {
    return cast(graph().add(Op::Gt, DType::Bool, {node, sketch_->constant(DType::F32, 3.0)}), DType::U8);
  }

  /// The position along one dim, or in the whole domain, or with strides that cannot be merged.
  NodeId add_position() {
    const int along = pick(static_cast<int>(case_.domain.size()) + 2) - 2;
    std::vector<ir::AccessDim> dims(case_.domain.size());
    int64_t elements = 1;
    for (size_t d = dims.size(); d-- > 0; elements *= case_.domain[d]) {
      const int64_t step = along == -2 ? elements : along == -1 ? pick(3) : static_cast<int>(d) == along;
      dims[d] = {graph().host.integer(case_.domain[d]), {{0, graph().host.integer(step)}}};
    }
    return graph().index(std::move(dims));
  }

  /// The float16 of twice the number; or sometimes, if the number was cast from float16, that float16 with all its
  /// bits.
  NodeId to_half(NodeId node) {
    const bool is_half = graph()[node].op == Op::Cast && graph()[graph()[node].args[0]].dtype == DType::F16;
    if (is_half && pick(3) == 0) return graph()[node].args[0];
    return cast(graph().add(Op::Add, DType::F32, {node, node}), DType::F16);
  }

  /// Adds a tensor parameter with random strides, and memory with integers from `low` to `high`; returns its index.
  uint32_t add_tensor(DType dtype, const ir::Sizes& sizes, int64_t low, int64_t high) {
    const uint32_t param =
        sketch_->add_param("p" + std::to_string(graph().params.size()), dtype, static_cast<uint32_t>(sizes.size()));
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    if (is_long_ && pick(3) != 0) std::ranges::reverse(order);
    if (!is_long_ && pick(2) == 0) std::shuffle(order.begin(), order.end(), random_);
    ir::Sizes strides(sizes.size());
    int64_t step = pick(has_short_rows_ ? 20 : 6) == 0 ? 2 : 1, numel = 1;
    for (size_t k = order.size(); k-- > 0;) {
      strides[order[k]] = step;
      step *= sizes[order[k]] + (pick(has_short_rows_ ? 20 : 5) == 0 ? pick(4) : 0);
    }
    // Overlapping windows, as from unfold, and other layouts that as_strided allows.
    if (!is_long_ && pick(has_short_rows_ ? 20 : 4) == 0)
      for (int64_t& stride : strides)
        stride = std::array<int64_t, 6>{0, 1, 1, 2, 4, stride}[static_cast<size_t>(pick(6))];
    int64_t last = 0;
    for (size_t d = 0; d < sizes.size(); ++d) {
      last += (sizes[d] - 1) * strides[d];
      numel *= sizes[d];
    }
    const auto elements = static_cast<size_t>(numel == 0 ? 0 : last + 1);
    const auto bytes = static_cast<size_t>(ir::size_of(dtype));
    case_.memory.push_back(std::make_unique<Guarded>(elements * bytes, pick(2) == 0));
    std::byte* data = case_.memory.back()->data();
    for (size_t e = 0; e < elements; ++e) {
      const int64_t value = std::uniform_int_distribution<int64_t>(low, high)(random_);
      const auto number = static_cast<float>(value);
      if (dtype == DType::F32) {
        std::memcpy(data + e * bytes, &number, bytes);
      } else if (ir::is_narrow_float(dtype)) {
        const uint16_t bits = half_bits(number, dtype);
        std::memcpy(data + e * bytes, &bits, bytes);
      } else {
        std::memcpy(data + e * bytes, &value, bytes);
      }
    }
    case_.tensors.params.push_back({sizes, strides});
    case_.tensors.addresses.push_back(reinterpret_cast<uintptr_t>(data));
    return param;
  }

  /// The access of a view of a new tensor. The view's shape broadcasts to the domain; the view may be permuted, stepped
  /// or flipped, and some dims may have a constant index. `indirect`: the indirect indices, of the tensor's first dims;
  /// `indirect_sizes`: the sizes of these dims.
  ir::Access view(DType dtype, int64_t low, int64_t high, std::vector<ir::IndirectIndex> indirect = {},
                  ir::Sizes indirect_sizes = {}) {
    struct Dim {
      int64_t size, coef, offset;
      int domain;  // the domain's dim; -1: the index is constant
    };
    std::vector<Dim> dims;
    const int rank = static_cast<int>(case_.domain.size());
    const int used = rank == 0 ? 0 : pick(4) == 0 ? pick(rank + 1) : rank;
    const int seldom = has_short_rows_ ? 30 : 4;
    for (int j = rank - used; j < rank; ++j) {
      const int64_t extent = pick(6) == 0 ? 1 : case_.domain[static_cast<size_t>(j)];
      const int64_t step = pick(seldom) == 0 ? 2 : 1;
      const bool flipped = pick(seldom) == 0;
      const int64_t before = pick(seldom) == 0 ? 1 : 0;
      const int64_t length = extent == 0 ? 1 : (extent - 1) * step + 1 + before;
      dims.push_back(
          {length, flipped ? -step : step, flipped && extent > 0 ? before + (extent - 1) * step : before, j});
      sizes_of_[j] = extent;
    }
    if (pick(seldom) == 0) dims.push_back({3, 0, pick(3), -1});
    if (pick(has_short_rows_ ? 2 : 1) == 0) std::shuffle(dims.begin(), dims.end(), random_);
    ir::Sizes sizes = std::move(indirect_sizes);
    for (const Dim& dim : dims) sizes.push_back(dim.size);
    const uint32_t first = static_cast<uint32_t>(indirect.size());
    const uint32_t param = add_tensor(dtype, sizes, low, high);
    ir::Access access{{ir::SourceRef::Kind::Param, param}, {}, {}, std::move(indirect)};
    ir::HostPool& host = graph().host;
    access.offsets.assign(sizes.size(), host.integer(0));
    for (int j = rank - used; j < rank; ++j) access.dims.push_back({host.integer(sizes_of_[j]), {}});
    for (uint32_t d = 0; d < dims.size(); ++d) {
      access.offsets[first + d] = host.integer(dims[d].offset);
      if (dims[d].domain >= 0)
        access.dims[static_cast<size_t>(dims[d].domain - (rank - used))].terms = {
            {first + d, host.integer(dims[d].coef)}};
    }
    while (!access.dims.empty() && host.is_int(access.dims.front().size, 1)) access.dims.erase(access.dims.begin());
    return access;
  }

  void add_load() {
    const int kind = pick(6);
    if (kind == 0) {
      floats_.push_back(cast(graph().load(DType::U8, view(DType::U8, 0, 200)), DType::F32));
    } else if (kind == 1 && !is_long_) {
      add_neighbours();
    } else if (kind == 2) {
      const DType half = pick(2) == 0 ? DType::F16 : DType::BF16;
      floats_.push_back(cast(graph().load(half, view(half, -20, 20)), DType::F32));
    } else {
      floats_.push_back(graph().load(DType::F32, view(DType::F32, -20, 20)));
    }
  }

  /// Several elements of a tensor's last dim, like the corners of a box.
  void add_neighbours() {
    const int count = 2 + pick(4);
    ir::Sizes sizes = case_.domain;
    const bool is_per_row = !sizes.empty() && pick(3) == 0;  // the elements of a row share the loaded values
    if (is_per_row) sizes.pop_back();
    sizes.push_back(count + pick(2));
    const uint32_t param = sketch_->add_param("q" + std::to_string(graph().params.size()), DType::F32,
                                              static_cast<uint32_t>(sizes.size()));
    const ir::Sizes strides = ir::contiguous_strides(sizes);
    int64_t numel = 1;
    for (const int64_t size : sizes) numel *= size;
    case_.memory.push_back(std::make_unique<Guarded>(static_cast<size_t>(numel) * 4, pick(2) == 0));
    for (int64_t e = 0; e < numel; ++e) {
      const auto number = static_cast<float>(pick(40) - 20);
      std::memcpy(case_.memory.back()->data() + e * 4, &number, 4);
    }
    case_.tensors.params.push_back({sizes, strides});
    case_.tensors.addresses.push_back(reinterpret_cast<uintptr_t>(case_.memory.back()->data()));
    for (int k = 0; k < count; ++k) {
      if (pick(5) == 0) continue;
      ir::Access access{{ir::SourceRef::Kind::Param, param}, {}, {}, {}};
      access.offsets.assign(sizes.size(), graph().host.integer(0));
      access.offsets.back() = graph().host.integer(k);
      for (uint32_t d = 0; d + 1 < sizes.size(); ++d)
        access.dims.push_back({graph().host.integer(sizes[d]), {{d, graph().host.integer(1)}}});
      if (is_per_row) access.dims.push_back({graph().host.integer(1), {}});
      while (!access.dims.empty() && graph().host.is_int(access.dims.front().size, 1))
        access.dims.erase(access.dims.begin());
      floats_.push_back(graph().load(DType::F32, access));
    }
    if (floats_.empty()) floats_.push_back(sketch_->constant(DType::F32, 2.0));
  }

  void add_gather() {
    const int indirect = 1 + pick(2);
    std::vector<NodeId> indices;
    std::vector<ir::IndirectIndex> list;
    ir::Sizes sizes;
    for (int l = 0; l < indirect; ++l) {
      const int64_t extent = 1 + pick(6);
      indices.push_back(
          graph().load(DType::I64, view(DType::I64, -extent - (pick(4) == 0), extent - 1 + (pick(4) == 0))));
      list.push_back({graph().host.integer(extent), {{static_cast<uint32_t>(l), graph().host.integer(1)}}});
      sizes.push_back(extent);
    }
    const ir::Access access = view(DType::F32, -20, 20, list, sizes);
    floats_.push_back(graph().gather(DType::F32, access, indices));
  }

  /// Nodes that only the arms of one or two `where`s need, among them gathers and groups of neighbours.
  void add_choice() {
    const auto count = static_cast<int>(floats_.size());
    const auto any = [&] { return floats_[static_cast<size_t>(pick(count))]; };
    const NodeId condition = graph().add(Op::Lt, DType::Bool, {any(), any()});
    const NodeId inner = graph().add(Op::Gt, DType::Bool, {any(), sketch_->constant(DType::F32, 1.0)});
    const NodeId last = floats_.back();
    const auto arm = [&] {
      if (pick(4) == 0) return any();
      const size_t before = floats_.size();
      is_long_ || pick(3) == 0 ? add_load() : pick(2) == 0 ? add_gather() : add_neighbours();
      NodeId value = any();
      for (size_t added = before; added < floats_.size(); ++added)
        value = graph().add(pick(2) == 0 ? Op::Add : Op::Maximum, DType::F32, {value, floats_[added]});
      floats_.resize(before);
      return value;
    };
    const auto choose = [&](NodeId selector, NodeId a, NodeId b) {
      return graph().add(Op::Where, DType::F32, {selector, a, b});
    };
    const NodeId nested = pick(3) == 0 ? choose(inner, arm(), last) : arm();
    const NodeId other = arm();
    const NodeId first = choose(condition, nested, other);
    floats_.push_back(first);
    if (pick(2) == 0) floats_.push_back(choose(condition, arm(), pick(2) == 0 ? nested : first));
  }

  void add_op() {
    const auto any = [&] { return floats_[static_cast<size_t>(pick(static_cast<int>(floats_.size())))]; };
    const NodeId a = any(), b = any();
    switch (pick(5)) {
      case 0:
        floats_.push_back(graph().add(Op::Add, DType::F32, {a, b}));
        break;
      case 1:
        floats_.push_back(graph().add(Op::Sub, DType::F32, {a, b}));
        break;
      case 2:
        floats_.push_back(graph().add(Op::Maximum, DType::F32, {a, b}));
        break;
      case 3:
        floats_.push_back(graph().add(Op::Mul, DType::F32, {a, sketch_->constant(DType::F32, -2.0)}));
        break;
      default:
        floats_.push_back(graph().add(Op::Where, DType::F32, {graph().add(Op::Lt, DType::Bool, {a, b}), a, any()}));
    }
    if (pick(3) == 0)
      graph().name_node(floats_.back(),
                        std::vector<std::string>{"i", "n", "k", "out", "float", "value"}[static_cast<size_t>(pick(6))]);
  }

  bool is_long_ = false, has_short_rows_ = false;
  std::mt19937 random_;
  Sketch* sketch_ = nullptr;
  Case case_;
  std::vector<NodeId> floats_;
  std::map<int, int64_t> sizes_of_;
};

}  // namespace ingot::codegen
