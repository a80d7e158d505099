#include "codegen/schedule/schedule.h"

#include <algorithm>

#include "codegen/schedule/cost.h"
#include "codegen/schedule/policy.h"

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

bool is_grouped(const KernelLayout& layout, uint32_t access) {
  return std::ranges::count(layout.accesses, layout.accesses[access].leader, &AccessLayout::leader) > 1;
}

StrideClass inner_class(const KernelLayout& layout, uint32_t access) {
  return layout.rank == 0 ? StrideClass::Zero : layout.accesses[access].axes.back();
}

std::vector<Chunk> chunks_of_group(const KernelOutline& outline, const KernelLayout& layout, uint32_t leader) {
  std::vector<uint32_t> used;
  for (const AccessLayout& access : layout.accesses)
    if (access.leader == leader) used.push_back(access.neighbour);
  std::ranges::sort(used);
  const auto repeats = std::ranges::unique(used);
  used.erase(repeats.begin(), repeats.end());
  const AccessUse& use = outline.accesses[leader];
  return chunks_of(used, static_cast<uint32_t>(ir::size_of(use.dtype)), layout.accesses[leader].alignment,
                   use.kind == Kind::Store);
}

uint32_t lanes_of(const KernelOutline& outline, const KernelLayout& layout, uint32_t cost) {
  LaneFacts facts{{}, layout.rank, layout.inner_multiple, cost};
  for (uint32_t a = 0; a < outline.accesses.size(); ++a) {
    const AccessUse& use = outline.accesses[a];
    if (!use.has_tensor()) continue;
    facts.accesses.push_back({static_cast<uint32_t>(ir::size_of(use.dtype)), inner_class(layout, a),
                              layout.accesses[a].alignment, use.kind == Kind::Gather, is_grouped(layout, a)});
  }
  return lanes_for(facts);
}

AccessSchedule access_schedule(const KernelOutline& outline, const KernelLayout& layout, uint32_t access,
                               uint32_t lanes) {
  const Kind kind = outline.accesses[access].kind;
  const bool moves = inner_class(layout, access) != StrideClass::Zero;
  if (kind != Kind::Load && kind != Kind::Store) return {moves ? How::Single : How::Fixed};
  if (is_grouped(layout, access)) {
    AccessSchedule grouped{How::Grouped};
    if (layout.accesses[access].leader == access) grouped.chunks = chunks_of_group(outline, layout, access);
    return grouped;
  }
  if (!moves) return {How::Fixed};
  return lanes > 1 ? AccessSchedule{How::Vector, lanes} : AccessSchedule{How::Single};
}

Schedule cuda_schedule(const KernelOutline& outline, const KernelLayout& layout, uint32_t cost) {
  Schedule schedule;
  schedule.index_bits = layout.index_bits;
  schedule.threads = layout.rank == 0 ? 1 : block_threads();
  schedule.lanes = lanes_of(outline, layout, cost);
  for (uint32_t a = 0; a < outline.accesses.size(); ++a)
    schedule.accesses.push_back(access_schedule(outline, layout, a, schedule.lanes));
  if (layout.rank == 0) return schedule;
  Walk walk{0, layout.rank, {{Scope::Grid}, {Scope::Block, schedule.threads}}};
  if (schedule.lanes > 1) walk.steps.push_back({Scope::Vector, schedule.lanes});
  schedule.walks.push_back(std::move(walk));
  schedule.ragged = schedule.lanes > 1 && layout.rank == 1;
  if (layout.rank > 1) schedule.coordinates = Coordinates::Thread;
  return schedule;
}

Schedule cpu_schedule(const KernelOutline& outline, const KernelLayout& layout, uint32_t cost) {
  Schedule schedule;
  schedule.index_bits = 64;
  schedule.weight = cpu_weight(cost, static_cast<uint32_t>(outline.accesses.size()));
  for (uint32_t a = 0; a < outline.accesses.size(); ++a)
    schedule.accesses.push_back({inner_class(layout, a) == StrideClass::Zero ? How::Fixed : How::Single});
  if (layout.rank > 1) schedule.walks.push_back({0, layout.rank - 1, {{Scope::Grid}, {Scope::Serial}}});
  const uint32_t inner = std::max(layout.rank, 1u) - 1;
  schedule.walks.push_back({inner, 1, {{Scope::Grid}, {Scope::Vector}}});
  return schedule;
}

}  // namespace

Schedule schedule(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                  const Target& target) {
  const uint32_t cost = cost_of(graph, outline);
  return target.cuda() ? cuda_schedule(outline, layout, cost) : cpu_schedule(outline, layout, cost);
}

bool Schedule::interleaved() const {
  return !walks.empty() && !walks.back().steps.empty() && lanes > 1 && walks.back().steps.back().scope == Scope::Block;
}

}  // namespace ingot::codegen
