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

/// Which of an op's programs for some facts (frontend::Signature).
struct Variant {
  uint64_t gradients = 0;  ///< those for which it keeps what they read of reductions
  bool scatters = false;   ///< whether gradients of gathers may be sums that the caller takes
};

/// What a lowering needed to know beyond the signature: a size, a number, what of the variant, or whether tensors share
/// memory.
struct Symbol {
  enum class Kind : uint8_t { Size, Number, Gradients, Scatters, Alias } kind = Kind::Size;
  bool specialized = false;  ///< a size that matters only where it is at most ir::kSpecializedSize
  uint32_t param = 0, dim = 0;
  std::optional<ir::AliasQuestion> question = {};  ///< of an Alias, whose place among the questions `param` is
};

/// What is known under a signature and some statics: the program, or which further values it depends on. A new process
/// follows such records from the signature to the program without lowering anything.
struct ProgramRecord {
  std::vector<Symbol> asks;
  std::optional<Program> program;  ///< none where something is asked
};

/// The programs of one op: in memory, behind them the store, behind it lowering. Safe from several threads.
class ProgramCache {
 public:
  ProgramCache(std::shared_ptr<const frontend::Definition> definition, frontend::Numerics numerics,
               std::string_view source_name, Runtime& runtime);

  struct Found {
    std::shared_ptr<const Program> program;
    KeyedParams keyed;  ///< what this program makes a call's key depend on
  };
  /// Errors: Error(Author) of lowering.
  Found find(const CallKey& key, Variant variant = {});

  /// The op for these facts, ready for codegen: simplified, calls dissolved.
  std::shared_ptr<const ir::Graph> graph(const CallKey& key, Variant variant = {});

 private:
  struct Lowered;
  Lowered lower(const CallKey& key, Variant variant);
  /// The same, but what it throws is kept, and thrown again for these facts.
  Lowered lower_once(const CallKey& key, Variant variant);
  void throw_known_failure(const CallKey& key, Variant variant);
  /// From memory, else from the store, else what `make` gives.
  std::shared_ptr<const ProgramRecord> record(const std::string& key, const std::function<ProgramRecord()>& make);
  std::optional<ProgramRecord> stored(const std::string& key) const;

  std::shared_ptr<const frontend::Definition> definition_;
  frontend::Numerics numerics_;
  std::string identity_;  ///< the part of every key that is the op's own; empty for an op without text
  Runtime& runtime_;
  SingleFlight<ProgramRecord> flights_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const ProgramRecord>> records_;
  /// Errors of lowering, by all that it may ask of the facts. A gradient that no rule gives is asked for in each
  /// backward pass.
  std::unordered_map<std::string, Error> failures_;
};

}  // namespace ingot::runtime
