#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/kernel/assembly.h"

// Where in memory each access goes: pointers, strides and the index of an element, over coordinates that the target
// knows how to find.

namespace ingot::codegen {

/// Where the elements are that a thread works on.
class Space {
 public:
  virtual ~Space() = default;

  /// The index of an element from `base`, of what lies in the order of the domain, and its coordinate along an axis. At
  /// Level::Thread and above those of a thread's first element, further in those of each lane.
  virtual ValueId linear(Level level) = 0;
  /// Whether elements are counted along the domain at all.
  virtual bool has_linear() const { return true; }
  /// Whether they are counted from the domain's first element on, and not from that of a row.
  virtual bool counts_domain() const { return false; }
  virtual ValueId coordinate(uint32_t axis, Level level) = 0;
  /// The pointer from which an access counts, and the axes along which it counts from there.
  virtual ValueId base(uint32_t access) = 0;
  virtual uint32_t first_axis(uint32_t access) const = 0;
  /// From this axis on, elements that are computed together differ.
  virtual uint32_t first_inner_axis() const = 0;
  /// Where coordinates have the names that comments call them by.
  virtual Level level_of_names() const = 0;
  /// What stands behind a pointer's name in that of one of its elements: "_k".
  virtual std::string suffix() = 0;
};

class Memory {
 public:
  /// Claims the names of tensors, of scalars, and then the author's other names.
  Memory(const KernelContext& context, Assembly& assembly);

  void set_space(Space& space) { space_ = &space; }

  /// The pointer of the access's group.
  SymbolId pointer(uint32_t access) const { return pointers_[layout(access).leader]; }
  SymbolId scalar(uint32_t number) const { return scalars_[number]; }
  /// Along an axis; a number where the layout knows it.
  ValueId stride(uint32_t access, uint32_t axis);
  SymbolId lead_stride(uint32_t access, uint32_t lead);
  SymbolId lead_extent(uint32_t access, uint32_t lead);
  SymbolId extent(uint32_t axis);
  SymbolId numel();
  /// The coordinate along an axis of what has this index among all along the axes [first, last), by division.
  /// `is_short`: there are at most 2^15 of them.
  ValueId quotient(ValueId index, uint32_t first, uint32_t last, uint32_t axis, bool is_short = false);
  SymbolId status();
  /// The first access that has the same strides by construction, and so shares its parameters.
  uint32_t stride_owner(uint32_t access) const;

  /// The index from `Space::base` of the element that lies `neighbour` behind the leader's; `leads`: gathered
  /// coordinates.
  ValueId index(uint32_t access, Level level, uint32_t neighbour, const std::vector<ValueId>& leads = {});
  /// An element of memory, of the type in which it lies there: to be loaded, or to be assigned to.
  /// If there is a condition, zero where it does not hold.
  ValueId load(uint32_t access, Level level, const std::vector<ValueId>& leads = {}, ValueId condition = {});
  ValueId target(uint32_t access, Level level);
  /// An index made one of the tensor's. If one that is out of range is to be told, `bad` is where its code is left, and
  /// the `guard`, if any, says whether it counts.
  ValueId wrap(uint32_t access, uint32_t lead, ValueId index, ValueId bad, ValueId guard);
  /// The position that an Index access stands for; none where it moves along no axis, so that it is always 0.
  std::optional<ValueId> position(uint32_t access, Level level);

  /// Whether elements that are computed together differ in what the access touches.
  bool moves(uint32_t access) const;
  /// The type of elements in memory. A bool is read as a byte, since views of other bytes as bool exist.
  ir::DType type_in_memory(uint32_t access) const;
  const std::string& tensor_name(uint32_t access) const;
  /// What a vector of `width` elements is called: "x4", but "x1_4".
  std::string vector_name(uint32_t access, uint32_t width) const;
  /// The vector that an access is an element of, where its group is cut into some.
  const Chunk* chunk_of(uint32_t access) const;
  /// Such a vector, where it lies.
  ValueId vector(uint32_t leader, const Chunk& chunk, Level level);
  /// What such a vector is called: "x4", or of several "x_01" and "x_23".
  std::string chunk_name(uint32_t leader, const Chunk& chunk) const;
  /// The author's name of a node's value, claimed; empty where there is none.
  std::string author_name(ir::NodeId node) const;

  /// Says beside each pointer which elements are touched.
  void describe_pointers();

 private:
  const AccessUse& use(uint32_t access) const { return context_.outline.accesses[access]; }
  const AccessLayout& layout(uint32_t access) const { return context_.layout.accesses[access]; }
  void name_tensors();
  void name_scalars();
  void claim_author_names();
  /// Whether it lies in the order of a domain of several axes.
  bool is_linear(uint32_t access) const;
  /// What an element's distance from `base` is the sum of: from this axis on.
  std::vector<ValueId> terms(uint32_t access, Level level, uint32_t first_axis);
  /// 0, for an element of a tensor that has none.
  ValueId nothing_of(uint32_t access);
  const std::string& pointer_name(ValueId load) const;
  SymbolId size(KernelParameter::Kind kind, uint32_t a, uint32_t b, ir::DType dtype, const std::string& name,
                const std::string& of = {});

  const KernelContext& context_;
  Assembly& assembly_;
  Space* space_ = nullptr;
  std::vector<SymbolId> pointers_;  ///< of leaders
  std::vector<SymbolId> scalars_;
  std::map<ir::NodeId, std::string> author_names_;
  std::map<uint32_t, std::string> workspace_names_;
};

}  // namespace ingot::codegen
