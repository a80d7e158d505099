#include "runtime/records/program_cache.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <typeinfo>

#include "base/error.h"
#include "codegen/schedule/row_policy.h"
#include "ir/eager_layout.h"
#include "ir/host/gradient_condition.h"
#include "ir/passes/unroll_reductions.h"
#include "runtime/api/runtime.h"
#include "runtime/call/host_run.h"
#include "runtime/records/serialize.h"

namespace ingot::runtime {

namespace {

std::string text_of(const Symbol& symbol) {
  if (symbol.kind == Symbol::Kind::Gradients) return "gradients";
  if (symbol.kind == Symbol::Kind::Scatters) return "scatters";
  if (symbol.kind == Symbol::Kind::Alias) return fmt::format("alias {}", symbol.param);
  return symbol.kind == Symbol::Kind::Size ? fmt::format("size {} {}", symbol.param, symbol.dim)
                                           : fmt::format("number {}", symbol.param);
}

Symbol symbol_of(const ir::HostPool& pool, ir::HostId id, bool only_if_special) {
  const ir::HostNode& node = pool[id];
  if (node.op == ir::HostOp::Size) return {Symbol::Kind::Size, only_if_special, node.a, node.b};
  return {Symbol::Kind::Number, only_if_special, node.a, 0};
}

/// Stands for all values that are not special (a size up to kSpecializedSize, or the number 0), of a symbol that a
/// program uses only if its value is special.
constexpr const char* kOrdinary = "ordinary";

/// Answers whether tensors share memory. If arithmetic fails, resolving the program reports the error.
std::string answer_text(const ir::AliasQuery& query, const CallKey& key) {
  std::vector<ir::HostValue> host_values(query.host.count());
  std::string failure;
  run_host(query.host, key, host_values, failure);
  if (!failure.empty()) return "unknown";
  std::vector<ir::SizesAndStrides> arguments;
  for (const BoundArgument& argument : key.arguments) {
    ir::SizesAndStrides& extents = arguments.emplace_back();
    if (argument.kind != frontend::ArgumentSpec::Kind::Tensor) continue;
    extents = {argument.tensor->sizes().vec(), argument.tensor->strides().vec()};
  }
  return ir::shares_memory(query, host_values, arguments) ? "shared" : "apart";
}

/// Returns a symbol's value in a key: its exact value, or "ordinary".
std::string value_text(const Symbol& symbol, const CallKey& key, Variant variant) {
  if (symbol.kind == Symbol::Kind::Gradients) return fmt::format("{:#x}", variant.gradients);
  if (symbol.kind == Symbol::Kind::Scatters) return variant.may_scatter ? "yes" : "no";
  if (symbol.kind == Symbol::Kind::Alias) return answer_text(*symbol.query, key);
  const BoundArgument& argument = key.arguments[symbol.param];
  if (symbol.kind == Symbol::Kind::Number && symbol.only_if_special && argument.number.truthy()) return kOrdinary;
  if (symbol.kind == Symbol::Kind::Number)
    return fmt::format("{}:{}", static_cast<int>(argument.number.kind), argument.number.integer);
  const int64_t size = argument.tensor->size(symbol.dim);
  return symbol.only_if_special && size > ir::kSpecializedSize ? kOrdinary : std::to_string(size);
}

/// The known values of symbols, in the order in which lowering requested them.
class Statics {
 public:
  /// Whether enough is known of the symbol: its exact value or, if that is all a program needs, that it is ordinary.
  bool has(const Symbol& symbol) const {
    const auto found = is_ordinary_.find(key_of(symbol));
    return found != is_ordinary_.end() && (symbol.only_if_special || !found->second);
  }
  void add(const Symbol& symbol, const std::string& value) {
    const auto [entry, is_new] = is_ordinary_.emplace(key_of(symbol), value == kOrdinary);
    if (!is_new) entry->second &= value == kOrdinary;
    text_ += fmt::format("{} = {}\n", text_of(symbol), value);
  }
  const std::string& text() const { return text_; }

 private:
  using Key = std::tuple<Symbol::Kind, uint32_t, uint32_t>;
  static Key key_of(const Symbol& symbol) { return {symbol.kind, symbol.param, symbol.dim}; }

  std::map<Key, bool> is_ordinary_;  ///< whether it is only known that the symbol's value is ordinary
  std::string text_;
};

/// Returns the symbols that a record requests: those whose values the next lookup needs. Whether tensors share memory
/// may depend on all other values, so such a query comes last and alone.
std::vector<Symbol> next_requests(const std::vector<Symbol>& symbols, const Statics& statics) {
  std::vector<Symbol> requests, queries;
  for (const Symbol& symbol : symbols)
    if (!statics.has(symbol)) (symbol.kind == Symbol::Kind::Alias ? queries : requests).push_back(symbol);
  if (requests.empty() && !queries.empty()) requests.push_back(queries.front());
  return requests;
}

/// The parameters (bits) whose numbers affect the answer of a query.
uint64_t numbers_of(const ir::AliasQuery& query) {
  uint64_t numbers = 0;
  for (uint32_t i = 0; i < query.host.count(); ++i)
    if (const ir::HostNode& node = query.host[{i}]; node.op == ir::HostOp::Scalar && node.a < 64)
      numbers |= uint64_t{1} << node.a;
  return numbers;
}

/// How many errors of lowering an op remembers.
constexpr size_t kMaxFailures = 64;

/// Returns all inputs of lowering as text.
std::string inputs_text(const CallKey& key, frontend::Numerics numerics, Variant variant) {
  std::string text =
      fmt::format("{}\n{:#x} {}\n", signature_of(key, numerics).text(), variant.gradients, variant.may_scatter);
  for (const BoundArgument& argument : key.arguments) {
    if (argument.kind == frontend::ArgumentSpec::Kind::Tensor)
      text += fmt::format("{} by {}\n", argument.tensor->sizes().vec(), argument.tensor->strides().vec());
    else
      text += fmt::format("{}:{}\n", static_cast<int>(argument.number.kind), argument.number.integer);
  }
  return text;
}

}  // namespace

/// A lowered op, with the symbols that lowering requested.
struct ProgramCache::Lowered {
  std::shared_ptr<const ir::Graph> graph;
  std::vector<Symbol> symbols;
};

ProgramCache::ProgramCache(std::shared_ptr<const frontend::Definition> definition, frontend::Numerics numerics,
                           std::string_view source_name, Runtime& runtime)
    : definition_(std::move(definition)), numerics_(numerics), runtime_(runtime) {
  if (const std::string identity = definition_->identity(); !identity.empty())
    identity_ = fmt::format("ingot {}\n{} {}\n{}\n", build_identity(), source_name, definition_->name(), identity);
}

ProgramCache::Lowered ProgramCache::lower(const CallKey& key, Variant variant) {
  AtomicCounters::add(runtime_.counters.lowerings);
  const frontend::SymbolValues arguments = symbol_values_of(key);
  frontend::Signature signature = signature_of(key, numerics_);
  signature.gradients = variant.gradients, signature.may_scatter = variant.may_scatter;
  const ir::Graph lowered = frontend::lower(*definition_, signature, arguments);
  ir::verify(lowered);

  Lowered result;
  for (const ir::Static& entry : lowered.statics)
    result.symbols.push_back(symbol_of(lowered.host, entry.symbol, entry.only_if_special));
  // Lowering has relied on these values' not being special.
  for (const ir::HostId id : lowered.unspecialized)
    result.symbols.push_back(symbol_of(lowered.host, id, /*only_if_special=*/true));
  for (uint32_t i = 0; i < lowered.aliases.size(); ++i)
    result.symbols.push_back({.kind = Symbol::Kind::Alias, .param = i, .dim = 0, .query = lowered.aliases[i].query});
  // Without reductions there are no residuals, whichever gradients are requested.
  if (lowered.reduction_count() > 0 || std::ranges::any_of(lowered.conditions, ir::depends_on_gradients))
    result.symbols.push_back({.kind = Symbol::Kind::Gradients});
  const auto is_affordability = [&](const ir::Condition& condition) {
    return condition.kind == ir::Condition::Kind::Affordable;
  };
  const auto is_scattered = [](const ir::Result& lowered_result) { return !lowered_result.scatters.empty(); };
  if (std::ranges::any_of(lowered.conditions, is_affordability) || std::ranges::any_of(lowered.results, is_scattered))
    result.symbols.push_back({.kind = Symbol::Kind::Scatters});
  // Inlines calls first, so that their bodies are simplified together with the surrounding code.
  ir::Graph graph = ir::contract(ir::simplify(ir::inline_calls(lowered)));
  if (definition_->may_return_arguments()) graph = ir::forward_params(std::move(graph));
  // Unrolls before rows are aligned, because a block then reads no unrolled reduction with which to align.
  graph = ir::unroll_reductions(graph, codegen::reduction_order(signature.device == frontend::Device::Cuda));
  result.graph = std::make_shared<const ir::Graph>(ir::align_rows(graph));
  ir::verify(*result.graph);
  return result;
}

ProgramCache::Lowered ProgramCache::lower_or_remember_failure(const CallKey& key, Variant variant) {
  try {
    return lower(key, variant);
  } catch (const Error& error) {
    if (error.fault() == Fault::Author && typeid(error) == typeid(Error)) {
      const std::lock_guard lock(mutex_);
      if (failures_.size() >= kMaxFailures) failures_.clear();
      failures_.emplace(inputs_text(key, numerics_, variant), error);
    }
    throw;
  }
}

void ProgramCache::throw_known_failure(const CallKey& key, Variant variant) {
  const std::lock_guard lock(mutex_);
  if (failures_.empty()) return;
  const auto found = failures_.find(inputs_text(key, numerics_, variant));
  if (found != failures_.end()) throw Error(found->second);
}

std::shared_ptr<const ir::Graph> ProgramCache::graph(const CallKey& key, Variant variant) {
  return lower(key, variant).graph;
}

std::shared_ptr<const ir::Graph> ProgramCache::graph_of(const std::shared_ptr<const Program>& program,
                                                        const CallKey& key, Variant variant) {
  if (program->graph) return program->graph;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = graphs_.find(program.get()); known != graphs_.end()) return known->second;
  }
  std::shared_ptr<const ir::Graph> lowered = graph(key, variant);
  const std::lock_guard lock(mutex_);
  return graphs_.emplace(program.get(), std::move(lowered)).first->second;
}

ProgramCache::Match ProgramCache::find(const CallKey& key, Variant variant) {
  throw_known_failure(key, variant);
  const std::string signature = signature_of(key, numerics_).text() + "\n";
  Statics statics;
  std::optional<Lowered> lowered;  // lowered at most once, even if several records result
  Match match;
  for (;;) {
    const std::string program_key = signature + statics.text();
    const std::shared_ptr<const ProgramRecord> record = find_or_make_record(program_key, [&] {
      if (!lowered) lowered = lower_or_remember_failure(key, variant);
      ProgramRecord new_record;
      new_record.requests = next_requests(lowered->symbols, statics);
      if (!new_record.requests.empty()) return new_record;
      new_record.program = make_program(lowered->graph);
      return new_record;
    });
    if (record->program) {
      match.program = {record, &*record->program};
      match.keyed.values |= match.program->numbers_in_shapes;
      match.keyed.written = written_params(*match.program);
      return match;
    }
    const std::string before = statics.text();
    for (const Symbol& symbol : record->requests) {
      if (statics.has(symbol)) continue;
      statics.add(symbol, value_text(symbol, key, variant));
      if (symbol.query) match.keyed.values |= numbers_of(*symbol.query);
      if (symbol.kind == Symbol::Kind::Number && symbol.param < 64) match.keyed.values |= uint64_t{1} << symbol.param;
    }
    if (statics.text() == before) throw_internal("a program record requests known values", program_key);
  }
}

/// Reads a record from the store. Empty if there is no valid one; a new record then replaces it.
std::optional<ProgramRecord> ProgramCache::read_record(const std::string& key) const {
  if (identity_.empty()) return std::nullopt;
  const std::optional<std::string> bytes = runtime_.store.find("program", identity_ + key);
  std::optional<ProgramRecord> record = bytes ? from_bytes<ProgramRecord>(*bytes) : std::nullopt;
  return record && record->requests.empty() == record->program.has_value() ? std::move(record) : std::nullopt;
}

std::shared_ptr<const ProgramRecord> ProgramCache::find_or_make_record(const std::string& key,
                                                                       const std::function<ProgramRecord()>& make) {
  const auto find = [&]() -> std::shared_ptr<const ProgramRecord> {
    const std::lock_guard lock(mutex_);
    const auto found = records_.find(key);
    return found == records_.end() ? nullptr : found->second;
  };
  if (auto record = find()) return record;
  return flights_.run(key, [&] {
    if (auto record = find()) return record;
    std::shared_ptr<const ProgramRecord> record;
    if (std::optional<ProgramRecord> stored = read_record(key)) {
      AtomicCounters::add(runtime_.counters.disk_hits);
      record = std::make_shared<const ProgramRecord>(*std::move(stored));
    } else {
      record = std::make_shared<const ProgramRecord>(make());
      if (!identity_.empty()) runtime_.store.publish("program", identity_ + key, to_bytes(*record));
    }
    const std::lock_guard lock(mutex_);
    records_.emplace(key, record);
    return record;
  });
}

}  // namespace ingot::runtime
