#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "frontend/frontend.h"
#include "runtime/cache/single_flight.h"
#include "runtime/call/call_key.h"
#include "runtime/records/program.h"

namespace ingot::runtime {

struct Runtime;

/// Selects among an op's programs for one signature (frontend::Signature).
struct Variant {
  uint64_t gradients = 0;    ///< the parameters (bits) for whose gradients the program saves residuals of reductions
  bool may_scatter = false;  ///< whether gradients of gathers may be sums that `run` computes (call/scatter_sums.h)
};

/// An input of a lowering beyond the signature: a size, a number, a part of the variant, or whether tensors share
/// memory.
struct Symbol {
  enum class Kind : uint8_t { Size, Number, Gradients, Scatters, Alias } kind = Kind::Size;
  bool only_if_special = false;  ///< distinguishes only the special values: sizes up to ir::kSpecializedSize, and 0
  uint32_t param = 0, dim = 0;
  std::optional<ir::AliasQuery> query = {};  ///< if `kind` is Alias; `param` is then the query's index
};

/// The entry for a signature and some specialised values: the program, or the further values on which it depends. A new
/// process follows such records from the signature to the program without lowering anything.
struct ProgramRecord {
  std::vector<Symbol> requests;
  std::optional<Program> program;  ///< empty if the record requests values
};

/// The programs of one op: a memory cache, then the store, then lowering. Safe from several threads.
class ProgramCache {
 public:
  /// `source_name` is part of the records' keys, because a program contains locations for its messages.
  ProgramCache(std::shared_ptr<const frontend::Definition> definition, frontend::Numerics numerics,
               std::string_view source_name, Runtime& runtime);

  struct Match {
    std::shared_ptr<const Program> program;
    KeyedParams keyed;  ///< the parameters on which this program makes a call's key depend
  };
  /// Finds or makes the program. Errors: Error(Author) of lowering.
  Match find(const CallKey& key, Variant variant = {});

  /// Returns the op's graph for this key, ready for codegen: simplified, calls inlined.
  std::shared_ptr<const ir::Graph> graph(const CallKey& key, Variant variant = {});
  /// Returns the graph from which a program of this cache was made. A program from the store has none: the first call
  /// lowers it. `key` and `variant`: those of any call that uses the program.
  std::shared_ptr<const ir::Graph> graph_of(const std::shared_ptr<const Program>& program, const CallKey& key,
                                            Variant variant = {});

 private:
  struct Lowered;
  Lowered lower(const CallKey& key, Variant variant);
  /// Calls `lower`, and remembers an error for `throw_known_failure`.
  Lowered lower_or_remember_failure(const CallKey& key, Variant variant);
  /// Throws the error of an earlier lowering with the same inputs, if there is one.
  void throw_known_failure(const CallKey& key, Variant variant);
  /// Returns a record from memory, else from the store, else from `make`.
  std::shared_ptr<const ProgramRecord> find_or_make_record(const std::string& key,
                                                           const std::function<ProgramRecord()>& make);
  std::optional<ProgramRecord> read_record(const std::string& key) const;

  std::shared_ptr<const frontend::Definition> definition_;
  frontend::Numerics numerics_;
  std::string identity_;  ///< the op's part of every key; empty for an op without source
  Runtime& runtime_;
  SingleFlight<ProgramRecord> flights_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const ProgramRecord>> records_;
  /// The graphs of programs from the store; records are never removed.
  std::unordered_map<const Program*, std::shared_ptr<const ir::Graph>> graphs_;
  /// Errors of lowering, by all inputs of lowering. For example, each backward pass requests again a gradient that no
  /// rule provides.
  std::unordered_map<std::string, Error> failures_;
};

}  // namespace ingot::runtime
