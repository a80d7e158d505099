#pragma once

#include <array>
#include <initializer_list>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "codegen/kernel/kernel.h"
#include "codegen/schedule/schedule.h"
#include "codegen/target/names.h"

// A kernel under construction.

namespace ingot::codegen {

/// The inputs from which one kernel is built.
struct KernelContext {
  const ir::Graph& graph;
  const KernelOutline& outline;
  const KernelLayout& layout;
  const Schedule& schedule;
  Target target;
  Options options;

  bool cuda() const { return target.cuda(); }
  uint32_t rank() const { return layout.rank; }
  ir::DType index_dtype() const { return schedule.index_bits == 32 ? ir::DType::I32 : ir::DType::I64; }
  /// The type of the extents of axes: unsigned on CUDA, except in tiles, because division by an unsigned number is
  /// faster.
  ir::DType extent_dtype() const;
};

/// Builds a kernel. Claims unique names, creates each distinct value only once, and computes each value in the block of
/// its level.
class Assembly {
 public:
  explicit Assembly(const KernelContext& context);

  Kernel kernel;

  std::string claim(std::string_view preferred) { return names_.claim(preferred); }
  const Symbol& operator[](SymbolId id) const { return kernel.symbols[id.index]; }
  Symbol& operator[](SymbolId id) { return kernel.symbols[id.index]; }
  const Value& operator[](ValueId id) const { return kernel.values[id.index]; }
  Value& operator[](ValueId id) { return kernel.values[id.index]; }

  /// A variable whose name is made unique.
  SymbolId variable(std::string_view preferred, Type type, Level level);
  /// A variable with a name that is already claimed, or that several loops share.
  SymbolId variable_called(const std::string& name, Level level, Type type = {});
  /// A parameter whose name is made unique; the same parameter again if it is requested again.
  SymbolId parameter(const KernelParameter& parameter, Type type, std::string_view preferred);

  /// Adds a value; an equal value is created only once. Its level becomes the latest of its own and its
  /// operands' levels. Unless it is inline, a Let in the block of its level computes it.
  ValueId add(Value value);
  /// Sets the block in which values of these levels are computed from now on (the insertion point).
  void set_block(std::initializer_list<Level> levels, Body& block) {
    for (const Level level : levels) blocks_[static_cast<size_t>(level)] = &block;
  }
  /// Separates values created from now on from equal values of other scopes: each scope declares its own names.
  void set_scope(uint32_t scope) { scope_ = scope; }
  /// From now on computes all values in this block, as values of an element, whatever their level; null ends this.
  void redirect(Body* block) { redirected_ = block; }
  bool is_redirected() const { return redirected_ != nullptr; }
  /// The block in which values of this level are computed now.
  Body& block(Level level) { return redirected_ ? *redirected_ : *blocks_[static_cast<size_t>(level)]; }
  /// Sets the graph node to which values created from now on belong.
  void set_node(ir::NodeId node) { node_ = node; }

  /// The value of a parameter or variable.
  ValueId read(SymbolId symbol);
  /// The value of a loop's variable at the level of that loop's body. Several loops may share a variable.
  ValueId read(SymbolId symbol, Level level);
  /// An integer literal.
  ValueId integer(int64_t number);
  /// The index as int64.
  ValueId as_int64(ValueId index);
  /// An operation on two indices, inline.
  ValueId index(IndexOp op, ValueId a, ValueId b);
  /// The sum of indices; 0 if there are none.
  ValueId sum(const std::vector<ValueId>& terms);
  /// An element of a vector.
  ValueId lane(ValueId vector, ValueId number);
  /// An element of an array of elements or vectors.
  ValueId item(ValueId array, ValueId number);
  /// The negation of a condition.
  ValueId inverse(ValueId condition);
  /// Gives an inline value this name, and adds a Let that computes it to the end of this block.
  ValueId let(Body& block, ValueId value, std::string name);

  /// Removes values that no statement needs, and sorts the remaining parameters.
  Kernel finish(const KernelContext& context);

 private:
  using Key = std::tuple<Value::Kind, Type, Level, ir::Op, ir::DType, IndexOp, SymbolId, uint8_t, int64_t, uint32_t,
                         std::vector<ValueId>>;
  using ParameterKey = std::tuple<KernelParameter::Kind, uint32_t, uint32_t>;

  Names names_;
  std::array<Body*, 5> blocks_{};
  Body* redirected_ = nullptr;
  ir::NodeId node_ = kNoNode;
  uint32_t scope_ = 0;  ///< see set_scope
  std::map<Key, ValueId> values_;
  std::map<ParameterKey, SymbolId> parameters_;
};

}  // namespace ingot::codegen
