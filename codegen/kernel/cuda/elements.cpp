#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "codegen/kernel/computation.h"
#include "codegen/kernel/cuda/group_vectors.h"
#include "codegen/kernel/cuda/thread.h"
#include "codegen/kernel/memory.h"
#include "codegen/kernel/targets.h"

// A kernel that reduces nothing: a thread computes a vector of elements (`lanes`). The thread computes their position,
// loads vectors, loads single elements, computes, and stores vectors and single elements. A thread that takes several
// steps through a row or the domain does all of this in each step.

namespace ingot::codegen {
namespace {

using How = AccessSchedule::How;
using Kind = AccessUse::Kind;

/// Builds a kernel that reduces nothing and has no tiles.
class ElementsKernel : public AccessEmitter {
 public:
  explicit ElementsKernel(const KernelContext& context)
      : context_(context),
        schedule_(context.schedule),
        assembly_(context),
        memory_(context, assembly_),
        elements_(context, assembly_, memory_, body_),
        group_vectors_(context, assembly_, memory_) {
    memory_.set_space(elements_);
  }

  Kernel build() {
    elements_.find();
    load_vectors();
    const Job job = job_of_output_blocks(context_.graph, context_.outline);
    load_hoisted(job);
    const std::vector<ValueId> results = compute(context_, assembly_, memory_, *this, job);
    store(results);
    assemble();
    memory_.describe_pointers();
    return assembly_.finish(context_);
  }

  // AccessEmitter

  ValueId load(uint32_t access) override {
    switch (schedule_.accesses[access].how) {
      case How::Vector:
      case How::Shifted:
        return assembly_.lane(assembly_.read(vectors_.at(access)), elements_.lane_number(Level::Element));
      case How::Grouped:
        if (const GroupVector* group_vector = memory_.group_vector_of(access))
          return group_element(access, *group_vector);
        return single(access);
      case How::Single:
        return single(access);
      default:
        break;
    }
    return memory_.load(access, Level::Thread);
  }

  std::vector<ValueId> wrap_indices(uint32_t access, const std::vector<ValueId>& indices,
                                    ValueId entry_condition) override {
    std::vector<ValueId> wrapped;
    const ValueId error = context_.options.check_indices ? assembly_.read(memory_.status()) : ValueId{};
    for (uint32_t l = 0; l < indices.size(); ++l)
      wrapped.push_back(memory_.wrap_index(access, l, indices[l], error, entry_condition));
    if (schedule_.accesses[access].how == How::Vector) fetch_row(access, wrapped, entry_condition);
    return wrapped;
  }

  ValueId gather(uint32_t access, const std::vector<ValueId>& wrapped) override {
    if (schedule_.accesses[access].how != How::Vector) return memory_.load(access, Level::Element, wrapped);
    return assembly_.lane(assembly_.read(vectors_.at(access)), elements_.lane_number(Level::Element));
  }

  /// If the position is the linear index and a thread's elements are adjacent, their positions differ only in the
  /// lowest bits. If positions are combined with a bitwise or, NVRTC sees which positions share a block of random words
  /// (docs/performance.md: shared-philox-block). Past the end of the domain the position may be wrong, so this form
  /// requires that nothing is gathered or divided.
  std::optional<ValueId> position(uint32_t access) override {
    const KernelOutline& outline = context_.outline;
    const bool may_be_wrong_past_end =
        outline.divisions.empty() && std::ranges::count(outline.accesses, Kind::Gather, &AccessUse::kind) == 0;
    if (!may_be_wrong_past_end || !elements_.has_neighbours() || !context_.layout.accesses[access].is_linear)
      return memory_.position(access, Level::Element);
    return assembly_.index(IndexOp::BitOr, elements_.first(), elements_.lane_number(Level::Element));
  }

  std::optional<ValueId> quotient(ValueId value, ValueId divisor) override {
    const Level of_elements = elements_.has_lanes() ? Level::Fetch : Level::Thread;
    if (!schedule_.uses_quotient_of || assembly_[divisor].level < of_elements) return std::nullopt;
    return assembly_.add({.kind = Value::Kind::Quotient, .type = {ir::DType::F32}, .operands = {value, divisor}});
  }

 private:
  /// Loads a thread's elements of the row that a gather's indices select, as a vector; if `entry_condition` is given,
  /// only if it holds.
  void fetch_row(uint32_t access, const std::vector<ValueId>& wrapped, ValueId entry_condition) {
    if (schedule_.accesses[access].is_masked && !entry_condition)
      throw_internal("a row is fetched that a `where` may exclude");
    const SymbolId row = vector_of(access);
    const ValueId vector = vector_at(access, Value::Kind::Vector, wrapped);
    body_.thread.push_back({Declare{row, entry_condition ? ValueId{} : vector}});
    if (entry_condition) body_.thread.push_back({If{entry_condition, {{Assign{assembly_.read(row), vector}}}, {}}});
  }

  // Loads

  void load_vectors() {
    Body inside, rest;
    for (uint32_t a = 0; a < schedule_.accesses.size(); ++a) {
      const How how = schedule_.accesses[a].how;
      if (context_.outline.accesses[a].kind != Kind::Load) continue;
      if (how == How::Grouped && context_.layout.accesses[a].leader == a && !schedule_.accesses[a].is_masked)
        for (const GroupVector& group_vector : schedule_.accesses[a].group_vectors) load_group_vector(a, group_vector);
      if (how != How::Vector && how != How::Shifted) continue;
      const SymbolId vector = vector_of(a);
      const ValueId value = vector_at(a, how == How::Vector ? Value::Kind::Vector : Value::Kind::Shifted);
      if (!schedule_.has_partial_vectors && how == How::Vector) {
        body_.loads.push_back({Declare{vector, value}});
        continue;
      }
      body_.loads.push_back({Declare{vector}});
      inside.push_back({Assign{assembly_.read(vector), value}});
      rest.push_back({Assign{assembly_.read(vector), vector_at(a, Value::Kind::VectorEnd)}});
    }
    if (!inside.empty())
      body_.loads.push_back({If{has_shifted() ? is_inside() : is_whole(), std::move(inside), std::move(rest)}});
  }

  bool has_shifted() const { return std::ranges::count(schedule_.accesses, How::Shifted, &AccessSchedule::how) > 0; }

  SymbolId vector_of(uint32_t access) {
    const Type type{memory_.type_in_memory(access), schedule_.lanes()};
    const SymbolId vector = assembly_.variable(memory_.vector_name(access, schedule_.lanes()), type, Level::Thread);
    assembly_[vector].meaning = assembly_[memory_.pointer(access)].name;
    vectors_[access] = vector;
    return vector;
  }

  ValueId vector_at(uint32_t access, Value::Kind kind, const std::vector<ValueId>& gathered = {}) {
    std::vector<ValueId> operands = {elements_.base(access), memory_.index(access, Level::Thread, 0, gathered)};
    if (kind == Value::Kind::VectorEnd) operands.push_back(elements_.end());
    return assembly_.add({.kind = kind,
                          .type = {memory_.type_in_memory(access), schedule_.lanes()},
                          .operands = std::move(operands),
                          .naming = Value::Naming::Inline});
  }

  /// Whether all of a thread's elements are in the domain. One condition guards all vectors of a thread, so that no
  /// branch separates its loads (docs/performance.md: one-guard).
  ValueId is_whole() {
    if (whole_) return whole_;
    if (const ValueId is_known_whole = elements_.is_whole()) return whole_ = is_known_whole;
    const ValueId vector_end = assembly_.index(IndexOp::Add, elements_.first(), assembly_.integer(schedule_.lanes()));
    ValueId is_whole = assembly_.index(IndexOp::LessEqual, vector_end, elements_.end());
    if (const ValueId begin = elements_.begin())
      is_whole = assembly_.index(IndexOp::And, assembly_.index(IndexOp::LessEqual, begin, elements_.first()), is_whole);
    // The block-wide condition is tested once: the compiler then makes two loops, one without guards.
    if (const ValueId is_sure = elements_.is_within_row()) is_whole = assembly_.index(IndexOp::Or, is_sure, is_whole);
    whole_ = assembly_.let(elements_.of_step(), is_whole, assembly_.claim("whole"));
    return whole_;
  }

  /// Whether the aligned vectors around all of a thread's elements are inside the tensor.
  ValueId is_inside() {
    const ValueId vector_end =
        assembly_.index(IndexOp::Add, elements_.first(), assembly_.integer(2 * schedule_.lanes()));
    const ValueId ends = assembly_.index(IndexOp::LessEqual, vector_end, elements_.end());
    const ValueId begins = assembly_.index(IndexOp::Less, assembly_.integer(0), elements_.first());
    return assembly_.index(IndexOp::And, begins, ends);
  }

  /// Loads a vector of an access group: for all of a thread's elements before anything is computed; or, if masked,
  /// where it is used.
  void load_group_vector(uint32_t leader, const GroupVector& group_vector) {
    if (group_vector.width == 1) return;
    const bool is_masked = schedule_.accesses[leader].is_masked, is_fetched = elements_.has_lanes() && !is_masked;
    const Level level = is_fetched ? Level::Fetch : is_masked ? Level::Element : Level::Thread;
    const SymbolId vector = group_vectors_.declare(leader, group_vector, is_masked ? Level::Element : Level::Thread,
                                                   is_fetched ? schedule_.lanes() : 0);
    const ValueId value = memory_.vector(leader, group_vector, level);
    if (is_fetched) {
      body_.fetched_vectors.push_back({Declare{vector}});
      body_.fetch.push_back(
          {Assign{assembly_.item(assembly_.read(vector), elements_.lane_number(Level::Fetch)), value}});
    } else {
      (is_masked ? assembly_.block(Level::Element) : body_.loads).push_back({Declare{vector, value}});
    }
  }

  /// Loads the masked access groups that have hoisted predicates. The predicates and these loads come after the loads
  /// of all elements, and before the computation of any element.
  void load_hoisted(const Job& job) {
    const auto [conditions, groups] = hoisted_predicates_of(context_, job);
    if (groups.empty()) return;
    const std::vector<ValueId> values = compute(context_, assembly_, memory_, *this, conditions);
    for (size_t g = 0; g < groups.size(); ++g) {
      const auto [leader, holds] = groups[g];
      Body vectors = group_vectors_.load_all(leader, schedule_.lanes(), elements_.lane_number(Level::Element),
                                             Level::Element, body_.fetched_vectors);
      body_.element.push_back({If{holds ? values[g] : assembly_.inverse(values[g]), std::move(vectors)}});
    }
    body_.hoisted = std::exchange(body_.element, {});
    elements_.forget_element();
  }

  /// The element of an access, from a vector of its access group.
  ValueId group_element(uint32_t access, const GroupVector& group_vector) {
    const uint32_t leader = context_.layout.accesses[access].leader;
    if (!group_vectors_.contains(leader, group_vector)) load_group_vector(leader, group_vector);
    return group_vectors_.element(access, group_vector, elements_.lane_number(Level::Element));
  }

  /// An element that is loaded alone, not in a vector.
  ValueId single(uint32_t access) {
    if (schedule_.accesses[access].is_masked) return memory_.load(access, Level::Element);
    return elements_.has_lanes() ? fetched(access) : memory_.load(access, Level::Thread);
  }

  /// As `single`, but loaded for all of a thread's elements before anything is computed.
  ValueId fetched(uint32_t access) {
    if (!vectors_.contains(access)) {
      const ValueId vector = assembly_.read(vector_of(access));
      body_.fetched_vectors.push_back({Declare{vectors_.at(access)}});
      body_.fetch.push_back(
          {Assign{assembly_.lane(vector, elements_.lane_number(Level::Fetch)), memory_.load(access, Level::Fetch)}});
    }
    return assembly_.lane(assembly_.read(vectors_.at(access)), elements_.lane_number(Level::Element));
  }

  // Stores

  void store(const std::vector<ValueId>& results) {
    const auto first_store = static_cast<uint32_t>(schedule_.accesses.size() - results.size());
    Body whole, rest;
    for (uint32_t a = first_store; a < schedule_.accesses.size(); ++a) {
      switch (schedule_.accesses[a].how) {
        case How::Grouped:
          if (context_.layout.accesses[a].leader == a) store_group_vectors(a, results);
          break;
        case How::Vector: {
          const SymbolId vector = vector_of(a);
          body_.thread.push_back({Declare{vector}});
          body_.element.push_back({Assign{assembly_.lane(assembly_.read(vector), elements_.lane_number(Level::Element)),
                                          results[a - first_store]}});
          const StoreVector all{elements_.base(a), memory_.index(a, Level::Thread, 0), assembly_.read(vector)};
          (schedule_.has_partial_vectors ? whole : body_.stores).push_back({all});
          if (schedule_.has_partial_vectors)
            rest.push_back({StoreVector{all.pointer, all.index, all.vector, elements_.end(), elements_.begin()}});
          break;
        }
        default:
          store_one(a, results[a - first_store]);
      }
    }
    if (!whole.empty()) body_.stores.push_back({If{is_whole(), std::move(whole), std::move(rest)}});
  }

  /// Stores a single element.
  void store_one(uint32_t access, ValueId value) {
    Body& stores = stores_of_a_lane();
    stores.push_back({Assign{memory_.element_lvalue(access, Level::Element), value}});
  }

  /// The block of statements for an element's stores. It has a guard if elements may be past the end.
  Body& stores_of_a_lane() {
    if (!elements_.has_lanes()) return body_.thread;
    if (!schedule_.has_partial_vectors) return body_.element;
    store_guard_ = assembly_.index(IndexOp::Less, elements_.stored_index(), elements_.end());
    return guarded_stores_;
  }

  void store_group_vectors(uint32_t leader, const std::vector<ValueId>& results) {
    const auto first_store = static_cast<uint32_t>(schedule_.accesses.size() - results.size());
    std::map<uint32_t, ValueId> values;
    for (uint32_t a = first_store; a < schedule_.accesses.size(); ++a)
      if (const AccessLayout& layout = context_.layout.accesses[a]; layout.leader == leader)
        values.emplace(layout.neighbour, results[a - first_store]);
    Body& stores = stores_of_a_lane();  // defines the index that the stores use
    append(stores, group_vectors_.stores(leader, values));
  }

  // Assembly

  void assemble() {
    Body step = std::move(body_.loads);
    append(step, std::move(body_.fetched_vectors));
    if (!body_.fetch.empty()) {
      append(body_.fetch, elements_.to_next_lane());
      step.push_back({elements_.over_lanes(std::move(body_.fetch))});
    }
    append(step, std::move(body_.thread));
    if (!body_.hoisted.empty()) step.push_back({elements_.over_lanes(std::move(body_.hoisted))});
    if (!guarded_stores_.empty()) body_.element.push_back({If{store_guard_, std::move(guarded_stores_)}});
    if (!body_.element.empty()) step.push_back({elements_.over_lanes(std::move(body_.element))});
    append(step, std::move(body_.stores));
    elements_.assemble(std::move(step));
  }

  const KernelContext& context_;
  const Schedule& schedule_;
  Assembly assembly_;
  Memory memory_;
  ThreadBody body_;
  ThreadElements elements_;
  GroupVectors group_vectors_;
  ValueId whole_, store_guard_;           ///< see is_whole; the condition of guarded_stores_
  std::map<uint32_t, SymbolId> vectors_;  ///< by access
  Body guarded_stores_;
};

}  // namespace

Kernel build_cuda(const KernelContext& context) { return ElementsKernel(context).build(); }

}  // namespace ingot::codegen
