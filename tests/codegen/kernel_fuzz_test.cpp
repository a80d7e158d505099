// Random kernels on random layouts, generated for both targets, run on this machine and compared with the graph's own
// meaning, element by element. What memory they touch is fenced in by pages without access.

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "codegen/kernel/build.h"
#include "tests/codegen/execution.h"

namespace ingot::codegen {
namespace {

using ir::DType;
using ir::NodeId;
using ir::Op;

constexpr int kKernels = 120;

struct Case {
  ir::Graph graph;
  Tensors tensors;
  std::vector<std::unique_ptr<Guarded>> memory;   // one a parameter
  std::vector<std::unique_ptr<Guarded>> results;  // one a result
  std::vector<int64_t> domain;
  bool aliased = false;
};

/// The bits of a small whole number as a 16-bit float.
uint16_t half_bits(float value, DType dtype) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (dtype == DType::BF16 || value == 0) return static_cast<uint16_t>(bits >> 16);
  const uint32_t exponent = (bits >> 23 & 0xff) - 127 + 15;
  return static_cast<uint16_t>(bits >> 31 << 15 | exponent << 10 | (bits >> 13 & 0x3ff));
}

/// Makes one kernel at a time. Parameters are of float, int64 or uint8; the arithmetic is exact, so that every target
/// agrees to the bit.
class Maker {
 public:
  explicit Maker(uint32_t seed) : random_(seed) {}

  Case make(const std::string& name) {
    Sketch sketch(name);
    sketch_ = &sketch;
    case_ = {};
    case_.domain.resize(pick(5));
    for (int64_t& size : case_.domain) size = pick(8) == 0 ? 1 : pick(40) == 0 ? 0 : 1 + pick(pick(3) == 0 ? 40 : 9);
    if (pick(3) == 0 && !case_.domain.empty()) case_.domain.back() = 4 * (1 + pick(8));
    is_plain_ = pick(5) < 2;
    if (is_plain_) {  // short rows, and operands that are turned
      case_.domain.resize(static_cast<size_t>(2 + pick(2)));
      for (int64_t& size : case_.domain) size = 1 + pick(30);
      case_.domain.back() = 1 + pick(80);
      case_.domain.front() = 1 + pick(200);
    }
    is_long_ = !is_plain_ && pick(3) == 0 && case_.domain.size() > 1;
    if (is_long_) {  // long enough for tiles, whole and cut ones
      case_.domain.resize(std::min<size_t>(case_.domain.size(), 3));
      case_.domain.front() = 32 + pick(40);
      case_.domain.back() = pick(2) == 0 ? 64 : 32 + pick(100);
    }
    floats_.clear();
    const int loads = 1 + pick(4);
    for (int l = 0; l < loads; ++l) add_load();
    if (pick(is_plain_ ? 20 : 3) == 0 && !case_.domain.empty())
      floats_.push_back(
          cast(graph().index(static_cast<uint32_t>(pick(static_cast<int>(case_.domain.size())))), DType::F32));
    if (!is_long_ && pick(is_plain_ ? 20 : 2) == 0) add_gather();
    for (int op = pick(6); op >= 0; --op) add_op();
    std::vector<ir::HostId> shape;
    for (const int64_t size : case_.domain) shape.push_back(graph().host.integer(size));
    sketch.result("out", DType::F32, floats_.back(), shape);
    if (pick(3) == 0) sketch.result("other", DType::U8, to_byte(floats_[0]), shape);
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

  /// A tensor for an access of `rank` dims, with values that are small integers.
  uint32_t add_tensor(DType dtype, const ir::Sizes& sizes, int64_t low, int64_t high) {
    const uint32_t param =
        sketch_->add_param("p" + std::to_string(graph().params.size()), dtype, static_cast<uint32_t>(sizes.size()));
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), 0);
    if (is_long_ && pick(3) != 0) std::ranges::reverse(order);
    if (!is_long_ && pick(2) == 0) std::shuffle(order.begin(), order.end(), random_);
    ir::Sizes strides(sizes.size());
    int64_t step = pick(is_plain_ ? 20 : 6) == 0 ? 2 : 1, numel = 1;
    for (size_t k = order.size(); k-- > 0;) {
      strides[order[k]] = step;
      step *= sizes[order[k]] + (pick(is_plain_ ? 20 : 5) == 0 ? pick(4) : 0);
    }
    // Windows that overlap, as unfold makes them, and whatever else as_strided can.
    if (!is_long_ && pick(is_plain_ ? 20 : 4) == 0)
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

  /// A view of a new tensor whose shape broadcasts to the domain: permuted, stepped, flipped, with dims selected away.
  ir::Access view(DType dtype, int64_t low, int64_t high, std::vector<ir::Lead> leads = {}, ir::Sizes lead_sizes = {}) {
    struct Dim {
      int64_t size, coef, offset;
      int domain;  // -1: selected away
    };
    std::vector<Dim> dims;
    const int rank = static_cast<int>(case_.domain.size());
    const int used = rank == 0 ? 0 : pick(4) == 0 ? pick(rank + 1) : rank;
    const int seldom = is_plain_ ? 30 : 4;
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
    if (pick(is_plain_ ? 2 : 1) == 0) std::shuffle(dims.begin(), dims.end(), random_);
    ir::Sizes sizes = std::move(lead_sizes);
    for (const Dim& dim : dims) sizes.push_back(dim.size);
    const uint32_t first = static_cast<uint32_t>(leads.size());
    const uint32_t param = add_tensor(dtype, sizes, low, high);
    ir::Access access{{ir::SourceRef::Kind::Param, param}, {}, {}, std::move(leads)};
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
    } else if (kind == 1 && !is_long_ && !is_plain_) {
      add_neighbours();
    } else if (kind == 2) {
      const DType half = pick(2) == 0 ? DType::F16 : DType::BF16;
      floats_.push_back(cast(graph().load(half, view(half, -20, 20)), DType::F32));
    } else {
      floats_.push_back(graph().load(DType::F32, view(DType::F32, -20, 20)));
    }
  }

  /// Several elements of a tensor's last dim, as the corners of a box are.
  void add_neighbours() {
    const int count = 2 + pick(4);
    ir::Sizes sizes = case_.domain;
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
      while (!access.dims.empty() && graph().host.is_int(access.dims.front().size, 1))
        access.dims.erase(access.dims.begin());
      floats_.push_back(graph().load(DType::F32, access));
    }
    if (floats_.empty()) floats_.push_back(sketch_->constant(DType::F32, 2.0));
  }

  void add_gather() {
    const int leads = 1 + pick(2);
    std::vector<NodeId> indices;
    std::vector<ir::Lead> list;
    ir::Sizes sizes;
    for (int l = 0; l < leads; ++l) {
      const int64_t extent = 1 + pick(6);
      indices.push_back(
          graph().load(DType::I64, view(DType::I64, -extent - (pick(4) == 0), extent - 1 + (pick(4) == 0))));
      list.push_back({graph().host.integer(extent), {{static_cast<uint32_t>(l), graph().host.integer(1)}}});
      sizes.push_back(extent);
    }
    const ir::Access access = view(DType::F32, -20, 20, list, sizes);
    floats_.push_back(graph().gather(DType::F32, access, indices));
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

  bool is_long_ = false, is_plain_ = false;
  std::mt19937 random_;
  Sketch* sketch_ = nullptr;
  Case case_;
  std::vector<NodeId> floats_;
  std::map<int, int64_t> sizes_of_;
};

/// The graph's meaning at one index of the domain. `bad`: a gathered index was out of range.
class Meaning {
 public:
  Meaning(const Case& one, const Prepared& prepared)
      : case_(one), kernel_(prepared.outline.kernels[0]), host_(prepared.host) {}

  double at(NodeId result, const std::vector<int64_t>& index, bool& bad) const {
    std::vector<double> values(case_.graph.count());
    for (const NodeId id : nodes_of(case_.graph, kernel_))
      if (id <= result) values[id.index] = node(id, index, values, bad);
    return values[result.index];
  }

 private:
  int64_t host(ir::HostId id) const { return host_[id.index].as_int(); }

  double node(NodeId id, const std::vector<int64_t>& index, const std::vector<double>& values, bool& bad) const {
    const ir::Node& node = case_.graph[id];
    const auto arg = [&](size_t k) { return values[node.args[k].index]; };
    switch (node.op) {
      case Op::Load:
      case Op::Gather:
        return element(id, index, values, bad);
      case Op::Scalar:
        return host_[case_.graph.host_of(id).index].as_double();
      case Op::Index:
        return static_cast<double>(index[index.size() - 1 - node.attr]);
      case Op::Cast:
        return arg(0);
      case Op::Add:
        return arg(0) + arg(1);
      case Op::Sub:
        return arg(0) - arg(1);
      case Op::Mul:
        return arg(0) * arg(1);
      case Op::Maximum:
        return std::max(arg(0), arg(1));
      case Op::Lt:
        return arg(0) < arg(1);
      case Op::Gt:
        return arg(0) > arg(1);
      case Op::Where:
        return arg(0) != 0 ? arg(1) : arg(2);
      default:
        ADD_FAILURE();
        return 0;
    }
  }

  double element(NodeId id, const std::vector<int64_t>& index, const std::vector<double>& values, bool& bad) const {
    const ir::Node& node = case_.graph[id];
    const ir::Access& access = case_.graph.access(id);
    std::vector<int64_t> coordinate;
    for (const ir::HostId offset : access.offsets) coordinate.push_back(host(offset));
    const size_t shift = index.size() - access.dims.size();
    for (size_t j = 0; j < access.dims.size(); ++j)
      for (const ir::Term& term : access.dims[j].terms)
        coordinate[term.dim] += host(term.coef) * (host(access.dims[j].size) == 1 ? 0 : index[shift + j]);
    for (size_t l = 0; l < access.leads.size(); ++l) {
      auto value = static_cast<int64_t>(values[node.args[l].index]);
      const int64_t extent = host(access.leads[l].extent);
      if (value < -extent || value >= extent) bad = true;
      if (value < 0) value += extent;
      value = std::clamp<int64_t>(value, 0, extent - 1);
      for (const ir::Term& term : access.leads[l].terms) coordinate[term.dim] += host(term.coef) * value;
    }
    int64_t offset = 0;
    for (size_t d = 0; d < coordinate.size(); ++d)
      offset += coordinate[d] * case_.tensors.params[access.source.index].strides[d];
    const std::byte* at = case_.memory[access.source.index]->data() + offset * ir::size_of(node.dtype);
    if (node.dtype == DType::F32) {
      float value;
      std::memcpy(&value, at, sizeof(value));
      return value;
    }
    if (node.dtype == DType::U8) return static_cast<double>(*at);
    if (ir::is_narrow_float(node.dtype)) {
      uint16_t bits;
      std::memcpy(&bits, at, sizeof(bits));
      double value = -20;
      while (half_bits(static_cast<float>(value), node.dtype) != bits) ++value;
      return value;
    }
    int64_t value;
    std::memcpy(&value, at, sizeof(value));
    return static_cast<double>(value);
  }

  const Case& case_;
  const KernelOutline& kernel_;
  std::span<const ir::HostValue> host_;
};

struct Variant {
  Schedule schedule;
  Kernel kernel;
};

/// The kernels of a case: by the schedule that is chosen, and by some of the others that its layout allows.
std::vector<Variant> variants_of(const Case& one, const Prepared& prepared, const Target& target) {
  constexpr size_t kVariants = 4;
  const KernelOutline& outline = prepared.outline.kernels.at(0);
  const Schedule chosen = schedule(one.graph, outline, prepared.layouts[0], target);
  std::vector<Schedule> schedules = allowed_schedules(one.graph, outline, prepared.layouts[0], target);
  std::erase(schedules, chosen);
  std::mt19937 random(static_cast<uint32_t>(one.graph.count()));
  std::ranges::shuffle(schedules, random);
  schedules.insert(schedules.begin(), chosen);
  schedules.resize(std::min(schedules.size(), kVariants));
  std::vector<Variant> variants;
  for (const Schedule& each : schedules)
    variants.push_back({each, build(one.graph, outline, prepared.layouts[0], each, target, {true, false})});
  return variants;
}

/// How many of the kernels are of a kind that only some layouts allow.
struct Seen {
  int tiles = 0, turned_chunks = 0, spread = 0, repeated = 0, steps = 0;

  void add(const Schedule& schedule, const KernelLayout& layout) {
    const auto has = [&](AccessSchedule::How how) {
      return std::ranges::count(schedule.accesses, how, &AccessSchedule::how) > 0;
    };
    tiles += schedule.is_tile();
    turned_chunks += schedule.is_chunk() && has(AccessSchedule::How::Staged);
    spread += has(AccessSchedule::How::Spread);
    repeated += has(AccessSchedule::How::Repeated);
    steps += std::ranges::any_of(layout.accesses, [](const AccessLayout& access) { return access.inner_step != 0; });
  }
};

std::string name_of(const Kernel& kernel, size_t variant) {
  return kernel.launch.entry + "_" + std::to_string(variant);
}

/// All kernels of a target in one library, each in a namespace of its own.
std::string library_text(const std::vector<Case>& cases, const Target& target) {
  std::string text(target.cuda() ? cuda_on_host(target) : "");
  for (const Case& one : cases) {
    std::vector<Variant> variants = variants_of(one, prepare(one.graph, one.tensors), target);
    for (size_t v = 0; v < variants.size(); ++v) {
      Kernel& kernel = variants[v].kernel;
      kernel.launch.entry = name_of(kernel, v);
      text += "namespace in_" + kernel.launch.entry + " {\n" + without_ptx(text_of(kernel));
      if (target.cuda()) text += cuda_runner(kernel);
      text += "}\n";
    }
  }
  return text;
}

/// Runs a kernel over the case's memory; gives the status that it left.
int run(const Case& one, const Prepared& prepared, const Kernel& kernel, Entry* entry, Maker& random) {
  const KernelGeometry& geometry = prepared.geometries[0];
  std::vector<std::byte*> data;
  for (const AccessUse& use : prepared.outline.kernels[0].accesses) {
    const auto& memory = use.kind == AccessUse::Kind::Store ? one.results : one.memory;
    data.push_back(use.has_tensor() ? memory[use.tensor]->data() : nullptr);
  }
  for (size_t r = 0; r < one.results.size(); ++r) {
    const auto bytes = static_cast<size_t>(geometry.numel * ir::size_of(one.graph.results[r].dtype));
    std::memset(one.results[r]->data(), 0x7b, bytes);  // what no kernel computes here
  }
  int status = 0;
  const Arguments arguments(kernel.launch, prepared.outline.kernels[0], geometry, data, prepared.host, &status);
  const int64_t units = kernel.launch.units(geometry.extents);
  if (kernel.target.cuda()) {
    if (geometry.numel > 0) entry(arguments.addresses(), 0, units);
    return status;
  }
  for (int64_t begin = 0; begin < units;) {
    const int64_t end = std::min<int64_t>(units, begin + 1 + random.pick(static_cast<int>(units)));
    entry(arguments.addresses(), begin, end);
    begin = end;
  }
  return status;
}

void expect_meaning(const Case& one, const Prepared& prepared, int status, const std::string& what) {
  const Meaning meaning(one, prepared);
  bool bad = false;
  std::vector<int64_t> index(one.domain.size());
  for (int64_t e = 0; e < prepared.geometries[0].numel; ++e) {
    int64_t rest = e;
    for (size_t d = index.size(); d-- > 0; rest /= one.domain[d]) index[d] = rest % one.domain[d];
    float value;
    std::memcpy(&value, one.results[0]->data() + e * 4, 4);
    ASSERT_EQ(value, meaning.at(one.graph.results[0].parts[0].node, index, bad)) << "element " << e << ", " << what;
    if (one.results.size() == 1) continue;
    ASSERT_EQ(static_cast<double>(*(one.results[1]->data() + e)),
              meaning.at(one.graph.results[1].parts[0].node, index, bad))
        << "element " << e << ", " << what;
  }
  ASSERT_EQ(status != 0, bad) << what;
}

void run_all(const std::vector<Case>& cases, const Target& target, uint32_t seed) {
  // A GPU faults where a vector is not aligned; here the sanitizer does.
  const Library library(library_text(cases, target), "-O1 -fsanitize=alignment -fsanitize-undefined-trap-on-error");
  ASSERT_TRUE(library.loaded());
  Maker random(seed);
  Seen seen;
  for (const Case& one : cases) {
    const Prepared prepared = prepare(one.graph, one.tensors);
    const std::vector<Variant> variants = variants_of(one, prepared, target);
    for (size_t v = 0; v < variants.size(); ++v) {
      const Kernel& kernel = variants[v].kernel;
      seen.add(variants[v].schedule, read_by(target, prepared.layouts[0]));
      auto* entry = library.find<Entry>((target.cuda() ? "run_" : "") + name_of(kernel, v));
      ASSERT_NE(entry, nullptr);
      const int status = run(one, prepared, kernel, entry, random);
      expect_meaning(one, prepared, status,
                     "seed " + std::to_string(seed) + "\n" + print(one.graph) + prepared.layouts[0].text() + "\n" +
                         text_of(kernel));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(seen.tiles, 2);
  if (!target.cuda()) {
    EXPECT_GT(seen.tiles, 8);
    EXPECT_GT(seen.steps, 15);
    EXPECT_GT(seen.turned_chunks, 5);
    EXPECT_GT(seen.spread, 3);
    EXPECT_GT(seen.repeated, 5);
  }
}

class KernelFuzz : public testing::TestWithParam<uint32_t> {};

TEST_P(KernelFuzz, BothTargetsMeanTheGraph) {
  const uint32_t seed = GetParam();
  std::vector<Case> cases;
  for (int k = 0; k < kKernels; ++k) {
    Maker maker(seed * 1000 + static_cast<uint32_t>(k));
    cases.push_back(maker.make("kernel" + std::to_string(k)));
    ir::verify(cases.back().graph);
  }
  run_all(cases, kCpu, seed);
  run_all(cases, kCuda, seed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, KernelFuzz, testing::Values(1u, 2u));

}  // namespace
}  // namespace ingot::codegen
