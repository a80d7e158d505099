#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "codegen/kernel/assembly.h"

// The address of each access: pointers, strides and the index of an element, over coordinates that the target provides.

namespace ingot::codegen {

/// The coordinates of the elements that a thread computes; each kind of kernel provides its own.
class Space {
 public:
  virtual ~Space() = default;

  /// The index, counted from `base`, of an element in a tensor that has the elements of the domain one after the other
  /// (AccessLayout::is_linear). At the levels up to Thread: of the thread's first element; at Fetch and Element: of
  /// each of its elements.
  virtual ValueId linear(Level level) = 0;
  /// Whether `linear` may be used.
  virtual bool has_linear() const { return true; }
  /// Whether the linear index counts from the domain's first element, rather than from a row's first.
  virtual bool linear_spans_domain() const { return false; }
  /// The coordinate along an axis, of the same element as `linear` at this level.
  virtual ValueId coordinate(uint32_t axis, Level level) = 0;
  /// The pointer to which an access adds the index of an element; and the first axis that this index covers, since
  /// `base` covers the axes before it.
  virtual ValueId base(uint32_t access) = 0;
  virtual uint32_t first_axis(uint32_t access) const = 0;
  /// Elements that are computed together differ only along axes from this one on.
  virtual uint32_t first_inner_axis() const = 0;
  /// The level whose coordinates the comments of the generated source name.
  virtual Level level_of_names() const = 0;
  /// The suffix that makes a pointer's name the name of an element: "_k" for "x_k".
  virtual std::string suffix() = 0;
};

/// Computes the addresses of a kernel's accesses, and owns the names of tensors and scalars.
class Memory {
 public:
  /// Claims the names of tensors and scalars, then the author's other names.
  Memory(const KernelContext& context, Assembly& assembly);

  void set_space(Space& space) { space_ = &space; }

  /// The pointer that the accesses of an access group share.
  SymbolId pointer(uint32_t access) const { return pointers_[layout(access).leader]; }
  SymbolId scalar(uint32_t number) const { return scalars_[number]; }
  /// The stride along an axis. A stride that the layout knows is a constant, so that GCC can load whole vectors and
  /// shuffle them (docs/performance.md: cpu-strided-groups).
  ValueId stride(uint32_t access, uint32_t axis);
  /// The stride along the gathered coordinate with this number.
  SymbolId gather_stride(uint32_t access, uint32_t coordinate);
  /// The size of the dim that a gathered coordinate indexes.
  SymbolId gather_extent(uint32_t access, uint32_t coordinate);
  /// The extent of an axis.
  SymbolId extent(uint32_t axis);
  /// The number of elements of the domain.
  SymbolId numel();
  /// How the divisions for a coordinate are made: plainly; by a reciprocal, if many elements of a thread divide by the
  /// same extents; or by a less exact reciprocal, if the axes also have at most 2^15 elements in all.
  enum class Division : uint8_t { Plain, SharedReciprocal, ShortReciprocal };
  /// The coordinate of an element along `axis`, by division and remainder. `index` is the element's linear index over
  /// the axes [first, last).
  ValueId coordinate_of(ValueId index, uint32_t first, uint32_t last, uint32_t axis, Division = Division::Plain);
  /// The pointer through which errors are reported.
  SymbolId status();
  /// The first access whose strides are always equal to this access's. Its parameters serve both.
  uint32_t stride_owner(uint32_t access) const;

  /// The index, from `Space::base`, of the element `neighbour` elements after the leader's; `gathered`: the gathered
  /// coordinates.
  ValueId index(uint32_t access, Level level, uint32_t neighbour, const std::vector<ValueId>& gathered = {});
  /// An element of memory, in its type in memory. `load`: a value that may get a name; zero if there is a condition and
  /// it does not hold. `element_lvalue`: inline, as the target of an assignment, or to read it in one place.
  ValueId load(uint32_t access, Level level, const std::vector<ValueId>& gathered = {}, ValueId condition = {});
  ValueId element_lvalue(uint32_t access, Level level);
  /// Wraps and clamps an index of a gather. If `error` is given, an index out of range writes its code there, but only
  /// if the condition `entry_condition`, if given, holds.
  ValueId wrap_index(uint32_t access, uint32_t coordinate, ValueId index, ValueId error, ValueId entry_condition);
  /// The position that an Index access gives; nothing if it varies along no axis and so is always 0.
  std::optional<ValueId> position(uint32_t access, Level level);

  /// Whether elements that are computed together access different elements of the tensor.
  bool varies(uint32_t access) const;
  /// The type of elements in memory. Bools are read as bytes, since any bytes can be viewed as bool.
  ir::DType type_in_memory(uint32_t access) const;
  const std::string& tensor_name(uint32_t access) const;
  /// The name of a vector of `width` elements: "x4" for the pointer x; "x1_4" for the pointer x1.
  std::string vector_name(uint32_t access, uint32_t width) const;
  /// The vector that contains the access's element, if its access group is loaded in vectors; null otherwise.
  const GroupVector* group_vector_of(uint32_t access) const;
  /// Loads a vector of an access group.
  ValueId vector(uint32_t leader, const GroupVector& group_vector, Level level);
  /// Stores a vector of an access group, element by element if its width is 1.
  Statement store_vector(uint32_t leader, const GroupVector& group_vector, std::vector<ValueId> members);
  /// The name of a vector of an access group: "x4"; if the group has several, "x_01" and "x_23".
  std::string group_vector_name(uint32_t leader, const GroupVector& group_vector) const;
  /// The author's name of a node's value, claimed; empty if there is none.
  std::string author_name(ir::NodeId node) const;

  /// Records which elements each pointer accesses, for the pointer's comment.
  void describe_pointers();

 private:
  const AccessUse& use(uint32_t access) const { return context_.outline.accesses[access]; }
  const AccessLayout& layout(uint32_t access) const { return context_.layout.accesses[access]; }
  void name_tensors();
  void name_scalars();
  void claim_author_names();
  /// Whether the access is contiguous over a domain of several axes. (With one axis, its stride is enough.)
  bool is_linear(uint32_t access) const;
  /// The terms whose sum is an element's distance from `base`, from this axis on.
  std::vector<ValueId> terms(uint32_t access, Level level, uint32_t first_axis);
  /// 0, for an element of an empty tensor.
  ValueId zero_of(uint32_t access);
  const std::string& pointer_name(ValueId load) const;
  /// The parameter of this kind, for a size or a stride. `of` becomes its comment.
  SymbolId size_parameter(KernelParameter::Kind kind, uint32_t a, uint32_t b, ir::DType dtype, const std::string& name,
                          const std::string& of = {});

  const KernelContext& context_;
  Assembly& assembly_;
  Space* space_ = nullptr;
  std::vector<SymbolId> pointers_;  ///< of the group leaders
  std::vector<SymbolId> scalars_;
  std::map<ir::NodeId, std::string> author_names_;
  std::map<uint32_t, std::string> workspace_names_;
};

}  // namespace ingot::codegen
