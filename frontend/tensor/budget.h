#pragma once

#include <cstddef>
#include <cstdint>

#include "frontend/tensor/diagnostics.h"

namespace ingot::frontend {

/// What lowering one op may spend, so that it ends within a second and a gigabyte whatever the text says. What is spent
/// is never given back. Past a limit it is an author's error where evaluation is.
class Budget {
 public:
  explicit Budget(const Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// One step of evaluation, of statements, expressions and builtin loops.
  void step();
  /// Items of tuples, lists and dicts, to be asked for before they are made.
  void items(uint64_t count);
  /// Characters of strings.
  void bytes(uint64_t count);
  /// Blocks of tensors that cat and stack made of several, each time that they are looked at.
  void blocks(uint64_t count);
  /// Nodes that a view looks at: each goes down to the loads.
  void nodes(uint64_t count);

  /// Operands of the arithmetic of sizes and numbers (ir::HostPool::limit_work), and the error past that.
  static constexpr uint64_t kHostWork = 2'000'000;
  [[noreturn]] void fail_host_work() const;

 private:
  const Diagnostics& diagnostics_;
  uint64_t steps_ = 0, items_ = 0, bytes_ = 0, tiles_ = 0, nodes_ = 0;
};

}  // namespace ingot::frontend
