#pragma once

#include <string>
#include <string_view>

#include "codegen/print/expressions.h"
#include "codegen/print/print.h"
#include "codegen/print/usage.h"
#include "codegen/target/names.h"

namespace ingot::codegen {

/// Prints statements in order. A computed value is written inline if the author did not name it, it is used once, in
/// the block that computes it, and the line stays short. Otherwise a statement computes it.
class Statements {
 public:
  explicit Statements(const Kernel& kernel);

  void print(const Body& block, int indent);
  /// Prints a line of text that is not an indented statement.
  void line(std::string_view text, ComputedNodes nodes = {});
  const Expressions& expressions() const { return expressions_; }
  Printed take() { return std::move(printed_); }

 private:
  void print_one(const Let& let);
  void print_one(const Declare& declare);
  void print_one(const Assign& assign);
  void print_one(const Advance& advance);
  void print_one(const StoreVector& store);
  void print_one(const If& branch);
  void print_one(const Loop& loop);
  void print_one(const Return& leave);
  void print_one(const Barrier& barrier);
  void print_one(const Call& call);
  void print_one(const PieceLoop& loop);
  void print_one(const Combine& combine);
  /// Combines the accumulators of several adjacent rows (CPU): the results are arrays.
  void print_rows(const Combine& combine);
  void print_one(const MergeAccumulators& merge);
  void print_one(const CombineRun& combine);

  void statement(const std::string& text, ComputedNodes nodes = {});
  void print_block(const Body& inner);
  /// Prints a loop: the line `begin`, the body, and the line `end`.
  void print_loop(const std::string& begin, const Body& body, const std::string& end);
  std::string text(ValueId id) const { return expressions_.text(id).text; }
  const std::string& name(SymbolId id) const { return kernel_[id].name; }
  /// The nodes computed by the expression that is written for a value: the nodes of the value, and of all values
  /// inlined in it. If the value has a name, only the nodes of the value.
  ComputedNodes nodes_of_expression(ValueId value) const;
  void add_nodes(ValueId id, ComputedNodes& nodes) const;
  /// Whether a statement must compute the value, however short its line is.
  bool needs_name(ValueId id) const;
  /// Whether the value is only stored, to a pointer of its name: a statement with its name would repeat the name.
  bool is_named_by_store(ValueId id) const;
  /// Whether the value is a load that must not be inlined in an arm of a `? :` (CPU): see the definition.
  bool must_load_unconditionally(ValueId id) const;
  /// Prints a statement that computes the value and gives it a name.
  void print_named(ValueId id);
  /// Prints statements for the values in `parts`, widest first, until the text that `make` returns fits on a line after
  /// `prefix` characters.
  template <typename Make>
  void fit(std::vector<ValueId> parts, size_t prefix, Make make);
  /// The value, if a Let computes it; otherwise the values computed by a Let in its formula.
  std::vector<ValueId> computed_parts(ValueId id) const;

  const Kernel& kernel_;
  Usage usage_;
  Names names_;
  Expressions expressions_;
  Printed printed_;
  int indent_ = 0;
  int generated_names_ = 0;  ///< the number of names v1, v2, … so far
};

}  // namespace ingot::codegen
