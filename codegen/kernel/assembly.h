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

// A kernel under construction: names that are free, symbols, and values that are made once.

namespace ingot::codegen {

/// What one kernel is made of.
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
  /// Of what only divides, and is never negative.
  ir::DType extent_dtype() const;
};

class Assembly {
 public:
  explicit Assembly(const KernelContext& context);

  Kernel kernel;

  std::string claim(std::string_view wanted) { return names_.claim(wanted); }
  const Symbol& operator[](SymbolId id) const { return kernel.symbols[id.index]; }
  Symbol& operator[](SymbolId id) { return kernel.symbols[id.index]; }
  const Value& operator[](ValueId id) const { return kernel.values[id.index]; }
  Value& operator[](ValueId id) { return kernel.values[id.index]; }

  /// A variable of a free name.
  SymbolId variable(std::string_view wanted, Type type, Level level);
  /// A variable of a name that is claimed already, or that several loops share.
  SymbolId variable_called(const std::string& name, Level level, Type type = {});
  /// A parameter of a free name; the same one where it is asked for again.
  SymbolId parameter(const KernelParameter& parameter, Type type, std::string_view wanted);

  /// The value, made once; its level is raised to its operands'. Unless it stands inline it is computed in the block of
  /// its level.
  ValueId add(Value value);
  /// Where what is computed at these levels stands.
  void place(std::initializer_list<Level> levels, Body& block) {
    for (const Level level : levels) blocks_[static_cast<size_t>(level)] = &block;
  }
  /// What is made from here on is told apart from the same made in another scope: each has a name where it is declared.
  void enter(uint32_t scope) { scope_ = scope; }
  /// What is computed from here on stands in this block, of elements, whatever its level; null: in those of the levels.
  void stand_in(Body* block) { standing_in_ = block; }
  bool stands_in() const { return standing_in_ != nullptr; }
  /// Where what is computed at this level stands now.
  Body& block(Level level) { return standing_in_ ? *standing_in_ : *blocks_[static_cast<size_t>(level)]; }
  /// The node for which values are made from here on.
  void making(ir::NodeId node) { node_ = node; }

  ValueId read(SymbolId symbol);
  /// Of a loop's variable, as the body of that loop sees it.
  ValueId read(SymbolId symbol, Level level);
  ValueId whole(int64_t number);
  ValueId index(IndexOp op, ValueId a, ValueId b);
  /// The sum of some indices; 0 of none.
  ValueId sum(const std::vector<ValueId>& terms);
  ValueId lane(ValueId vector, ValueId number);
  /// Of an array of elements or vectors.
  ValueId item(ValueId array, ValueId number);
  /// Whether a condition does not hold.
  ValueId inverse(ValueId condition);
  /// An inline value under a name of its own, computed at the end of this block.
  ValueId let(Body& block, ValueId value, std::string name);

  /// Drops what no statement needs, and puts the parameters that are left in order.
  Kernel finish(const KernelContext& context);

 private:
  using Key = std::tuple<Value::Kind, Type, Level, ir::Op, ir::DType, IndexOp, SymbolId, uint8_t, int64_t, uint32_t,
                         std::vector<ValueId>>;
  using ParameterKey = std::tuple<KernelParameter::Kind, uint32_t, uint32_t>;

  Names names_;
  std::array<Body*, 5> blocks_{};
  Body* standing_in_ = nullptr;
  ir::NodeId node_ = kNoNode;
  uint32_t scope_ = 0;
  std::map<Key, ValueId> values_;
  std::map<ParameterKey, SymbolId> parameters_;
};

}  // namespace ingot::codegen
