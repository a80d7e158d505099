#pragma once

#include <cstddef>
#include <cstdint>

#include "frontend/tensor/diagnostics.h"

namespace ingot::frontend {

/// Limits the work of lowering one op, so that it ends within about a second and a gigabyte, whatever the op's source.
/// Spent budget is never returned. Exceeding a limit is an author's error at the current location of evaluation.
class Budget {
 public:
  explicit Budget(const Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  /// Counts one step of evaluation: a statement, an expression, or one iteration of the loop in a builtin.
  void spend_step();
  /// Counts items of tuples, lists and dicts. Must be called before the items are created.
  void spend_items(uint64_t count);
  /// Counts bytes of strings, in UTF-8.
  void spend_string_bytes(uint64_t count);
  /// Counts concat blocks, each time that they are processed.
  void spend_blocks(uint64_t count);
  /// Counts the nodes that views rewrite. Each view is pushed down to the loads, so one view may rewrite many nodes.
  void spend_rewritten_nodes(uint64_t count);

  /// The limit on the operands of all arithmetic on sizes and numbers (ir::HostPool::limit_work counts them), and the
  /// error past the limit.
  static constexpr uint64_t kHostWork = 2'000'000;
  [[noreturn]] void fail_host_work() const;

 private:
  const Diagnostics& diagnostics_;
  uint64_t steps_ = 0, items_ = 0, string_bytes_ = 0, blocks_ = 0, rewritten_nodes_ = 0;
};

}  // namespace ingot::frontend
