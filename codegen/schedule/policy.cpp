#include "codegen/schedule/policy.h"

#include <algorithm>
#include <map>

#include "codegen/schedule/cost.h"

namespace ingot::codegen {
namespace {

constexpr uint32_t kUnrolled = 1200;  // what may be compiled, in units of cost

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

/// The same of vectors that begin with each row: of what knows no rows, only the first is known to be aligned.
bool is_aligned_in_rows(const AccessFacts& access, const KernelFacts& facts, uint32_t lanes) {
  return is_aligned(access, lanes) && (!access.linear || facts.inner_multiple >= lanes);
}

/// Whether it moves along the innermost axis in steps that are not small, and along another one by one.
bool is_turned(const AccessFacts& access) {
  return access.kind == Kind::Load && access.inner == StrideClass::Other && access.inner_step == 0 &&
         access.unit_axis != kNoAxis;
}

/// The axis along which most bytes are turned, and kNoAxis where none are.
uint32_t most_turned_axis(const KernelFacts& facts) {
  std::vector<uint32_t> bytes(facts.rank);
  for (const AccessFacts& access : facts.accesses)
    if (is_turned(access)) bytes[access.unit_axis] += access.bytes;
  const auto most = std::ranges::max_element(bytes);
  return most == bytes.end() || *most == 0 ? kNoAxis : static_cast<uint32_t>(most - bytes.begin());
}

/// Of an element of each access that a tile turns.
uint32_t turned_bytes(const KernelFacts& facts, uint32_t across) {
  uint32_t bytes = 0;
  for (const AccessFacts& access : facts.accesses)
    if (is_turned(access, across)) bytes += access.bytes;
  return bytes;
}

/// Whether a load waits for a condition.
bool reads_late(const KernelFacts& facts) {
  return std::ranges::any_of(facts.accesses, [](const AccessFacts& a) { return a.masked && a.kind == Kind::Load; });
}

/// Whether it gathers neighbours: the elements of a row, whose place all of them share.
bool reads_row(const AccessFacts& access) {
  return access.kind == Kind::Gather && access.shares_place && access.inner == StrideClass::One;
}

/// Whether `lanes` neighbours of the domain are as many neighbours in memory, wherever a row ends.
bool runs_along(const AccessFacts& access, const KernelFacts& facts, Preset preset) {
  if (access.inner != StrideClass::One) return false;
  if (access.kind == Kind::Gather)  // along one axis alone the last thread's lanes may reach past the row
    return preset == Preset::Flat && facts.rank > 1 && reads_row(access) && (!access.masked || access.skips_rows);
  return access.linear || facts.rank == 1 || preset == Preset::Flat;
}

/// Whether an op that has float16 operands, or gives one, has their bits: NaN of any kind is kept.
bool moves_bits(ir::Op op) {
  return op == ir::Op::Load || op == ir::Op::Gather || op == ir::Op::Where || op == ir::Op::Bitcast ||
         op == ir::Op::Scalar;
}

/// For each access, whether it is a load of float16 of which all uses compute with its float32, or a store of one that
/// was rounded.
std::vector<bool> rounding_accesses(const ir::Graph& graph, const KernelOutline& outline) {
  std::vector<bool> rounds(outline.accesses.size());
  std::map<ir::NodeId, uint32_t> load_of;
  uint32_t next = 0;
  for (const ir::NodeId id : nodes_of(graph, outline)) {
    const ir::Node& node = graph[id];
    for (const ir::NodeId arg : node.args)
      if (const auto load = load_of.find(arg); load != load_of.end() && moves_bits(node.op))
        rounds[load->second] = false;
    if (node.op == ir::Op::Load && node.dtype == ir::DType::F16 && is_access(graph, outline, id)) {
      load_of[id] = next;
      rounds[next] = true;
    }
    next += is_access(graph, outline, id);
  }
  for (const KernelOutline::PartRef& ref : outline.parts) {
    const ir::Result& result = graph.results[ref.result];
    const ir::NodeId node = result.parts[ref.part].node;
    const bool has_bits = graph[node].dtype == ir::DType::F16 && moves_bits(graph[node].op);
    rounds[next++] = result.dtype == ir::DType::F16 && !has_bits;
    if (const auto load = load_of.find(node); load != load_of.end() && result.dtype == ir::DType::F16)
      rounds[load->second] = false;
  }
  return rounds;
}

/// For each access, whether it is a gather whose indices all elements of a row share.
std::vector<bool> gathers_of_rows(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout) {
  const std::set<ir::NodeId> varying = varying_in_rows(graph, outline, layout);
  std::vector<bool> result;
  for (const ir::NodeId id : nodes_of(graph, outline)) {
    const ir::Node& node = graph[id];
    if (is_access(graph, outline, id))
      result.push_back(node.op == ir::Op::Gather &&
                       std::ranges::none_of(graph.indices(id), [&](ir::NodeId arg) { return varying.contains(arg); }));
  }
  result.resize(outline.accesses.size());
  return result;
}

uint32_t quotients_of(const ir::Graph& graph, const KernelOutline& outline) {
  const auto is_quotient = [&](ir::NodeId id) {
    const ir::Node& node = graph[id];
    return node.op == ir::Op::Div && ir::compute_type(node.dtype) == ir::DType::F32 &&
           graph[node.args[1]].op != ir::Op::Scalar;
  };
  return static_cast<uint32_t>(std::ranges::count_if(nodes_of(graph, outline), is_quotient));
}

}  // namespace

bool stores_elements(const KernelFacts& facts) {
  return std::ranges::any_of(
      facts.accesses, [](const AccessFacts& access) { return access.kind == Kind::Store && access.moves_in_row; });
}

bool is_element_wise(const AccessFacts& access) { return access.kind == Kind::Load || access.kind == Kind::Store; }

bool is_aligned(const AccessFacts& access, uint32_t lanes) {
  return access.alignment >= std::min(lanes * access.bytes, kVectorBytes);
}

bool is_turned(const AccessFacts& access, uint32_t axis) { return is_turned(access) && access.unit_axis == axis; }

// Of copies and of pointwise kernels with 1 to 3 inputs on an H200, blocks of 256 threads that take one 16-byte vector
// a thread are as fast as anything: more vectors a thread, a persistent grid, cache hints and bulk copies lose 1 to 12
// %. Where loads wait for a condition, smaller ones wait less for one another: a loss's backward reaches 0.92 with 64
// threads for 0.89. 128 are what sums over boxes have, and were not timed by themselves.
//
// Where the processor is busy too, smaller ones leave it idle for less of a block's end: with 256 and with 128 threads,
// on two cards, float32 sigmoid is at 0.99 and 1.00 of torch.compile's speed, silu at 0.99 and 1.00, gelu (34) at 0.98
// and 0.99; by hand, in one run, two neighbouring vectors of elu (39) reach 0.97 and 0.99 of a copy, of softplus (46)
// 0.99 and 1.01.
uint32_t block_threads(const KernelFacts& facts, Preset preset) {
  constexpr uint32_t kBusy = 16;
  const bool is_busy =
      preset == Preset::Flat && facts.cost >= kBusy && !std::ranges::any_of(facts.accesses, &AccessFacts::grouped);
  return is_busy || reads_late(facts) ? 128 : 256;
}

bool may_take_steps(const KernelFacts& facts, uint32_t lanes) {
  return lanes > 1 && facts.rank == 1 && !facts.has_regions &&
         std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
           return is_element_wise(access) && !access.grouped && !access.masked &&
                  (access.still || (access.inner == StrideClass::One && is_aligned(access, lanes)));
         });
}

// Two vectors a block apart, so that each is whole sectors of a warp's, and no guard between them in blocks that are
// whole, so that they are computed side by side. In a script, of blocks of 128 threads with one vector, two of them and
// two neighbours: gelu (34) 1.00, 1.01 and 0.92, elu (39) 1.00, 1.01 and 0.99, softplus (46) 0.97, 1.00 and 1.01, mish
// (66) 0.87, 0.97 and 0.80; in bfloat16 gelu 0.68 and 0.79, gelu(x + y) 0.90 and 0.95. With a guard for each vector
// they reach 0.95 for mish and 0.74 for gelu in bfloat16. Four in blocks of 64 threads: mish 1.00, gelu in bfloat16
// 0.84, but gelu 0.99, and two copies of the body more to compile. A lighter one loses: tanh (17) 1.02 and 1.01, relu
// 1.02 and 1.01. Where a result may lie in an input, the second load waits for the first store.
uint32_t steps_along(const KernelFacts& facts, uint32_t lanes) {
  constexpr uint32_t kHeavy = 30, kSteps = 2;
  const bool compiles_soon = (kSteps + 1) * lanes * facts.cost <= kUnrolled;
  const bool is_heavy = facts.cost >= kHeavy && compiles_soon;
  return is_heavy && !facts.results_alias && may_take_steps(facts, lanes) ? kSteps : 1;
}

// What a row's elements share is computed by each thread, and once for all of its steps: cross_entropy's backward of
// 2^14 rows of 50257 in bfloat16 reaches 0.71 of a copy on an H100 with one step of 256 threads, 0.86 with two, 0.92
// with four, 0.92 with four of 128 and 0.94 with eight; 0.76 where all of these are loaded first. With a loop of its
// own for blocks that lie within the row, four of 128 reach 0.96 (eight 0.94, four of 256 0.98), and of 2^12 rows on an
// H200 0.91 (0.91, 0.90).
RowSteps row_steps(const KernelFacts& facts) {
  return facts.has_many_steps ? RowSteps{128, 4} : RowSteps{block_threads(facts, Preset::RowByRow), 1};
}

// 16 bytes of the widest element: bfloat16 swiglu reaches 1.03 of a copy with 8 lanes and 0.94 with 4; uint8 times
// float32 1.01 with 4 and 0.71 with 16.
//
// A body that keeps the processor busy takes twice as many where it cannot take steps: more of its slow paths are in
// flight. In turns with others' kernels (two runs on two cards, torch.compile's at 1.00 in both), elu (39) reaches 0.93
// of a copy with 4 lanes and 0.98 with 8, selu 0.93 and 0.98, softplus (46) 0.90 and 0.99, mish (66) 0.77 and 0.84;
// where a body is lighter the second vector costs more than it gives, as every other one of a warp is half of each
// sector (gelu (34) 1.00 and 0.93, tanh (17) 1.02 and 0.75), and 16 lanes lose everywhere. Every lane is a copy of the
// body to compile (mish: 34 and 52 ms), so past a limit there are fewer; and a second vector is not worth leaving a row
// for.
//
// A thread that must know its row before it reads waits twice, and has more in flight with two vectors: `table[i] * s`
// over rows of 1024 floats reaches 0.90 of a copy with 4 lanes, 0.98 with 8.
uint32_t lanes_for(const KernelFacts& facts) {
  constexpr uint32_t kHeavy = 36;
  if (facts.rank == 0) return 1;
  uint32_t widest = 0;
  for (const AccessFacts& access : facts.accesses) {
    // The neighbours of a group are a thread's vector already.
    if (access.grouped) return reads_late(facts) ? 2 : 1;
    if (is_element_wise(access) && access.inner != StrideClass::Zero) widest = std::max(widest, access.bytes);
  }
  if (widest == 0) return 1;
  uint32_t lanes = kVectorBytes / widest;
  const bool waits = std::ranges::any_of(facts.accesses, reads_row);
  const bool is_heavy = facts.cost >= kHeavy && steps_along(facts, lanes) == 1;
  if ((is_heavy || waits) && lanes < 8) lanes *= 2;
  while (lanes > 2 && lanes * facts.cost > kUnrolled) lanes /= 2;
  const bool leaves_row = facts.rank > 1 && facts.inner_multiple < lanes;
  return leaves_row && facts.inner_multiple * widest >= kVectorBytes ? facts.inner_multiple : lanes;
}

// A thread that waits for a condition before it reads on has nothing to do meanwhile but its other lanes: what a warp's
// threads skip together must be worth it. A GIoU a box, whose prediction is read where the target has an area, two
// boxes a thread, a block apart: 1.01 of a copy where all have one, 1.64 padded as real data are, 1.04 where each
// second one at random has. One box a thread 0.95, 1.47 and 0.97; four 1.01, 1.59 and 1.03; a persistent grid
// 0.98, 1.60 and 1.01. So rows of neighbours are. What is an element wide is read in the same sectors whether or not
// its neighbours are needed, and loses its vectors. A gather reads wherever its index says, which need not make sense
// where it is not asked for; on either target.
bool is_lazy(const ArmFacts& arms, Lazy lazy, bool cuda) {
  if (lazy == Lazy::Auto) return arms.gathers || (arms.reads_groups && cuda);
  return lazy == Lazy::Always && arms.computes;
}

// What a result may overwrite is read before anything is written. What is gone through again is read once, ahead of
// what decides, and kept.
bool is_masked(const AccessFacts& access, const KernelFacts& facts, Lazy lazy, bool cuda) {
  if (access.kind == Kind::Gather) return true;
  if (access.kind != Kind::Load || facts.results_alias || access.still) return false;
  return (access.grouped && cuda && !facts.goes_again) || lazy == Lazy::Always;
}

// What the processor does for a/b it leaves to a function where the numerator is 0, as that of boxes is that do not
// meet, and its text is as long: the backward of a GIoU loss, six quotients a box, reaches 0.84 of a copy for 0.78 on
// an H200.
bool divides_by_own_steps(const KernelFacts& facts) {
  constexpr uint32_t kMany = 4;
  return facts.quotients >= kMany;
}

// The same backward, of boxes that are all valid, reaches 0.89 for 0.84 where one box is computed ahead of the next
// one's load, and 0.92 in blocks of 64; a value_and_grad, of 2^22 boxes, 0.90 for 0.82, and on an H100 0.95 for 0.92. A
// loss that stores nothing beside its sums is no faster for it, 0.97, and padded as real data are slower, 1.50
// for 1.59: where it has one box to wait for and not two, registers for more blocks are worth more.
bool foresees(const AccessFacts& access, const std::vector<Chunk>& chunks, uint32_t vectors) {
  constexpr uint32_t kBytes = 32;
  uint32_t bytes = 0;
  for (const Chunk& chunk : chunks)
    if (chunk.width > 1) bytes += chunk.width * access.bytes;
  return access.foreseen && bytes > 0 && bytes * vectors <= kBytes;
}

bool allows(Preset preset, const KernelFacts& facts, uint32_t lanes) {
  switch (preset) {
    case Preset::Single:
      return true;
    case Preset::Flat:
      return lanes > 1 && (facts.rank == 1 || facts.inner_multiple >= lanes);
    case Preset::RowByRow:
      return lanes > 1 && (facts.has_long_rows || facts.has_many_steps) && !facts.has_regions &&
             std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
               return access.kind == Kind::Index ||
                      (is_element_wise(access) && !access.grouped &&
                       (access.inner == StrideClass::Zero || (access.linear && is_aligned(access, lanes))));
             });
    case Preset::Carried:
      return lanes > 1 && facts.rank > 1;
    case Preset::Tile:
      return axis_across(facts) != kNoAxis;
    case Preset::Interleaved:
      return lanes > 1;
  }
  return false;
}

// Flat where every access is a vector, or is shifted out of two. Where rows end within a thread's lanes, the accesses
// that know no rows are vectors all the same and coordinates are counted on: `gelu(x + b) + r` with rows of 1023
// reaches 1.03 of a copy, `tanh(x - b)` over planes of 513 x 513 0.97 (by hand 0.99, interleaved 0.94). What each lane
// loads for itself may only be small then, since 4 neighbours of a thread are 4 requests for the same sectors. Else
// lanes lie a block apart, so that neighbouring threads load neighbours: 1.02 where one scalar a thread gives 0.80.
//
// Where all that knows its row is one for it, long rows have blocks of their own: cross_entropy's backward of 2^12 rows
// of 50257 in bfloat16 takes 0.36 ms on an H100, 0.70 where each lane reads its row's numbers for itself. So have rows
// of any length for which more is computed than a vector's worth.
Preset preset_for(const KernelFacts& facts, uint32_t lanes) {
  constexpr uint32_t kCostlyRow = 16;
  if (lanes == 1) return Preset::Single;
  if (reads_late(facts)) return Preset::Interleaved;
  const auto suits = [&](Preset preset) {
    return allows(preset, facts, lanes) && std::ranges::all_of(facts.accesses, [&](const AccessFacts& access) {
             const How how = how_for(access, facts, preset, lanes);
             const bool is_small = access.kind == Kind::Load && access.broadcasts && preset == Preset::Carried;
             return how != How::Single || is_small || !is_element_wise(access);
           });
  };
  if (facts.has_many_steps && facts.row_cost >= kCostlyRow && suits(Preset::RowByRow)) return Preset::RowByRow;
  for (const Preset preset : {Preset::Flat, Preset::RowByRow, Preset::Carried})
    if (suits(preset)) return preset;
  return axis_across(facts) != kNoAxis ? Preset::Tile : Preset::Interleaved;
}

// What runs along another axis than the results do is read a sector for each element; through a tile in shared memory
// it is read as fast as anything: relu(x.t()) + y 1.01 of a copy, 0.37 without; channels-last times contiguous 1.01,
// 0.35 without. Where several axes would do, the one for most bytes is taken. Both sides must fill a good part of it.
uint32_t axis_across(const KernelFacts& facts) {
  if (facts.rank < 2 || facts.has_regions) return kNoAxis;
  const auto is_long = [&](uint32_t axis) { return axis < 64 && (facts.long_axes >> axis & 1) != 0; };
  for (const AccessFacts& access : facts.accesses) {
    if (access.grouped || access.kind == Kind::Gather) return kNoAxis;
    if (access.kind == Kind::Store && access.inner != StrideClass::One) return kNoAxis;
  }
  const uint32_t axis = most_turned_axis(facts);
  return axis != kNoAxis && is_long(axis) && is_long(facts.rank - 1) ? axis : kNoAxis;
}

// 64 by 64 elements, unless the tiles would take more shared memory than every GPU gives without being asked. Vectors
// of 16 bytes on both sides where all rows are aligned; with single elements 64 x 64 reaches 0.99.
TileSize tile_size_for(const KernelFacts& facts) {
  constexpr uint32_t kSharedBytes = 48 << 10;
  const uint32_t across = axis_across(facts);
  uint32_t widest = 1;
  bool aligned = true;
  for (const AccessFacts& access : facts.accesses) {
    const bool is_staged = is_turned(access, across);
    const bool is_large = is_element_wise(access) && !access.broadcasts;
    if (!is_large || (!is_staged && access.inner != StrideClass::One)) continue;
    widest = std::max(widest, access.bytes);
    aligned &= is_aligned_in_rows(access, facts, kVectorBytes / access.bytes);
  }
  const uint32_t side = turned_bytes(facts, across) * 64 * 65 <= kSharedBytes ? 64 : 32;
  const uint32_t lanes = aligned ? kVectorBytes / widest : 1;
  return {side, side == 64 ? lanes : std::min(lanes, 4u)};
}

// A load that is not aligned is put together from the two aligned vectors around it, of which the second is another
// thread's first and lies in the cache: 1.03 (float32), 0.96 (bfloat16) and 1.00 (uint8) of a copy, where interleaved
// scalars reach 1.02, 0.91 and 0.78. A row that is gathered is a row like any other, once its place is known.
How how_for(const AccessFacts& access, const KernelFacts& facts, Preset preset, uint32_t lanes) {
  if (access.grouped) return How::Grouped;
  const bool shares_row = preset == Preset::Single || preset == Preset::Flat || preset == Preset::RowByRow;
  if (access.still || (shares_row && access.inner == StrideClass::Zero)) return How::Fixed;
  if (preset == Preset::Tile) {
    if (is_turned(access, axis_across(facts))) return How::Staged;
    const bool is_vector = lanes > 1 && access.inner == StrideClass::One && is_aligned_in_rows(access, facts, lanes);
    return is_vector ? How::Vector : How::Single;
  }
  if (lanes == 1 || preset == Preset::Interleaved || !runs_along(access, facts, preset)) return How::Single;
  if (is_aligned(access, lanes)) return How::Vector;
  const bool shifts = access.kind == Kind::Load && access.linear && lanes * access.bytes >= kWordBytes;
  return shifts ? How::Shifted : How::Single;
}

std::vector<Chunk> chunks_of(const std::vector<uint32_t>& used, uint32_t element_bytes, uint32_t alignment,
                             bool store) {
  std::vector<Chunk> chunks;
  const uint32_t last = used.back();
  for (size_t at = 0; at < used.size();) {
    Chunk chunk{used[at], 1};
    const auto end_of = [&](uint32_t end) { return std::ranges::lower_bound(used, end) - used.begin(); };
    for (uint32_t width = kVectorBytes / element_bytes; width > 1; width /= 2) {
      const uint32_t first = used[at] / width * width;
      // Of a vector's elements, those before the first used one of the row and after the last might lie outside the
      // tensor.
      const bool readable = first >= used.front() && first + width <= last + 1;
      const auto members = static_cast<uint32_t>(end_of(first + width)) - static_cast<uint32_t>(at);
      if (readable && alignment >= width * element_bytes && members > 1 &&
          (!store || (first == used[at] && members == width))) {
        chunk = {first, width};
        break;
      }
    }
    chunks.push_back(chunk);
    at = static_cast<size_t>(end_of(chunk.first + chunk.width));
  }
  return chunks;
}

KernelFacts facts_of(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout) {
  const std::vector<bool> rounds = rounding_accesses(graph, outline);
  const std::vector<bool> of_rows = gathers_of_rows(graph, outline, layout);
  const std::vector<uint32_t> phases = phases_of_accesses(graph, outline);
  const auto calls = [&](ir::NodeId id) { return is_function(graph, id); };
  const auto has_bits = [&](ir::NodeId id) { return has_bits_of_vectors(graph, id); };
  KernelFacts facts{.accesses = {},
                    .rank = layout.rank,
                    .inner_multiple = layout.inner_multiple,
                    .cost = cost_of(graph, outline),
                    .has_functions = std::ranges::any_of(nodes_of(graph, outline), calls),
                    .has_bits_of_vectors = std::ranges::any_of(nodes_of(graph, outline), has_bits),
                    .long_axes = layout.long_axes,
                    .results_alias = layout.results_alias,
                    .has_short_rows = layout.has_short_rows,
                    .has_long_rows = layout.has_long_rows,
                    .has_many_steps = layout.has_many_steps,
                    .row_multiple = layout.row_multiple,
                    .row_cost = cost_of_row(graph, outline, layout),
                    .quotients = quotients_of(graph, outline)};
  if (outline.passed.empty()) facts.early_phase = early_phase(graph, outline, layout);
  for (const KernelOutline::ReductionRef& reduction : outline.reductions) {
    const auto bytes = static_cast<uint32_t>(ir::size_of(graph[reduction.node].dtype));
    if (has_order(graph, reduction.node)) facts.ordered_bytes += bytes;
    facts.found_bytes += bytes + (ir::info(graph.reduction(reduction.node).kind).values > 1 ? 8 : 0);
  }
  facts.goes_again = outline.phases() > 1;
  facts.phases = outline.phases();
  for (const KernelOutline::ReductionRef& reduction : outline.passed)
    facts.passed_bytes += static_cast<uint32_t>(ir::size_of(graph[reduction.node].dtype));
  facts.is_passed = outline.pieces_of.has_value();
  for (uint32_t a = 0; a < outline.accesses.size(); ++a) {
    const AccessUse& use = outline.accesses[a];
    const AccessLayout& access = layout.accesses[a];
    AccessFacts& of = facts.accesses.emplace_back();
    facts.loads += use.kind == Kind::Load && !use.in_workspace;
    of.bytes = static_cast<uint32_t>(ir::size_of(use.dtype));
    of.inner = layout.rank == 0 ? StrideClass::Zero : access.axes.back();
    of.widens = ir::compute_type(use.dtype) != use.dtype;
    of.rounds = rounds[a];
    of.shares_place = of_rows[a];
    of.across = layout.rank < 2 ? StrideClass::Zero : access.axes[layout.rank - 2];
    of.inner_step = access.inner_step;
    of.linear = access.linear;
    const auto zeros = static_cast<size_t>(std::ranges::count(access.axes, StrideClass::Zero));
    of.broadcasts = zeros > 0;
    of.still = zeros == access.axes.size();
    of.alignment = access.alignment;
    of.kind = use.kind;
    of.unit_axis = kNoAxis;
    for (uint32_t d = 0; d < layout.rank; ++d)
      if (access.axes[d] == StrideClass::One) of.unit_axis = d;
    if (layout.reduces) {
      of.moves_in_row = moves_in_rows(layout, access);
      of.phase = phases[a];
      const uint32_t kept = layout.rank - layout.reduced_axes;
      if (kept > 0) of.along_rows = access.axes[kept - 1];
      if (layout.reduced_axes == 0) of.inner = StrideClass::Zero;
    }
    of.grouped = (!layout.reduces || of.moves_in_row) &&
                 std::ranges::count(layout.accesses, access.leader, &AccessLayout::leader) > 1;
  }
  return facts;
}

// An operand that is read against the grain costs a cache line an element; transposed in registers, a tile at a time,
// it costs little: relu(x.t()) + y of 1024 x 1024 takes 0.25 to 0.36 ns an element for 5.0, of 4096 x 4096 0.8 for 7.5,
// of 1000 x 1050 0.22 for 0.85. Where results may be inputs, all of which a tile must have read before it writes,
// elements stay in their order.
uint32_t cpu_axis_across(const KernelFacts& facts) {
  const auto gathers = [](const AccessFacts& access) { return access.kind == Kind::Gather; };
  if (facts.rank < 2 || facts.results_alias || std::ranges::any_of(facts.accesses, gathers)) return kNoAxis;
  return most_turned_axis(facts);
}

// 64 unless the tiles would not stay in the first cache.
uint32_t cpu_tile_rows(const KernelFacts& facts) {
  constexpr uint32_t kCacheBytes = 48 << 10;
  return turned_bytes(facts, cpu_axis_across(facts)) * 64 * kCpuTileColumns <= kCacheBytes ? 64 : 32;
}

// A loop over a row of n elements that starts and ends for each of them takes, in ns an element of relu(x) + y, 1.8
// where n is 3, 0.68 where it is 8 and 0.19 where it is 32; one loop over a chunk, whose y is repeated or spread
// before, 0.09 to 0.27, 0.08 to 0.14 and 0.08 to 0.10. From 64 on they are alike.
How how_of_row(const AccessFacts& access) {
  return access.inner == StrideClass::Zero ? access.across == StrideClass::Zero ? How::Fixed : How::Spread
                                           : How::Repeated;
}

std::optional<How> how_in_chunk(const AccessFacts& access, const KernelFacts& facts) {
  if (!is_element_wise(access)) return std::nullopt;
  if (access.linear) return How::Single;
  if (access.kind == Kind::Store) return std::nullopt;
  if (access.inner == StrideClass::Zero || access.across == StrideClass::Zero) return how_of_row(access);
  if (is_turned(access, facts.rank - 2)) return How::Staged;
  return std::nullopt;
}

// What a row shares is computed for each of its elements then, which must be cheap.
uint32_t cpu_chunk(const KernelFacts& facts) {
  constexpr uint32_t kCheap = 4;
  if (!facts.has_short_rows || facts.results_alias || facts.row_cost > kCheap) return 0;
  bool turns = false;
  for (const AccessFacts& access : facts.accesses) {
    const std::optional<How> how = how_in_chunk(access, facts);
    if (!how) return 0;
    turns |= how == How::Staged;
  }
  return turns ? 4096 : 1024;
}

// GCC has no vectors of float16 without AVX512-FP16, and a formula in integers takes 0.34 ns an element of
// relu(x * 2 + y) * y; the processor's own conversions, by runs, 0.09. Runs of 64 elements take a tenth longer than
// those of 256, longer ones as long. bfloat16 is two shifts, which are vectors as they are.
bool is_widened(const AccessFacts& access, How how) {
  if (!access.rounds) return false;
  return how == How::Spread || how == How::Repeated || (how == How::Single && access.inner == StrideClass::One);
}

// What waits for memory is read and written 32 bytes at a time; of 64 bytes, on a processor that has such vectors,
// `x * y` takes 1.08 of the time, leaky_relu 1.2, adamw 1.2, a permutation 1.1 to 1.2. What computes is faster with
// them: elu takes half the time, tanh 0.6, gelu 0.8, and loads that are strided are, too.
uint32_t cpu_simd(const KernelFacts& facts) {
  constexpr uint32_t kCheapForAccess = 6, kBytes = 32;
  if (facts.has_functions || facts.has_regions) return 0;
  if (facts.cost > kCheapForAccess * facts.accesses.size()) return 0;
  uint32_t bytes = 0;
  for (const AccessFacts& access : facts.accesses) {
    if (access.inner == StrideClass::Zero) continue;
    const bool runs = access.inner == StrideClass::One || access.unit_axis != kNoAxis;
    if (!is_element_wise(access) || !runs || access.widens || (bytes != 0 && access.bytes != bytes)) return 0;
    bytes = access.bytes;
  }
  return bytes == 0 ? 0 : kBytes / bytes;
}

uint32_t cpu_weight(uint32_t cost, uint32_t accesses) {
  // An element of `relu(x) + y + b` takes a tenth of a nanosecond on one thread with AVX-512, a transcendental a fifth
  // to a half; without vectors four times that. An eighth of a nanosecond is the unit.
  return std::max(1u, accesses / 2 + cost / 4);
}

}  // namespace ingot::codegen
