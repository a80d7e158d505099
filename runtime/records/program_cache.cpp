#include "runtime/records/program_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/api/runtime.h"
#include "runtime/records/serialize.h"

namespace ingot::runtime {

namespace {

std::string text_of(const Symbol& symbol) {
  if (symbol.kind == Symbol::Kind::Gradients) return "gradients";
  if (symbol.kind == Symbol::Kind::Scatters) return "scatters";
  return symbol.kind == Symbol::Kind::Size ? fmt::format("size {} {}", symbol.param, symbol.dim)
                                           : fmt::format("number {}", symbol.param);
}

bool same_symbol(const Symbol& a, const Symbol& b) { return a.kind == b.kind && a.param == b.param && a.dim == b.dim; }

Symbol symbol_of(const ir::HostPool& pool, ir::HostId id, bool touched) {
  const ir::HostNode& node = pool[id];
  if (node.op == ir::HostOp::Size) return {Symbol::Kind::Size, touched, node.a, node.b};
  return {Symbol::Kind::Number, touched, node.a, 0};
}

constexpr const char* kLarge = "large";

/// The value of a symbol as a key has it. A touched size that is not small is just that.
std::string value_text(const Symbol& symbol, const Facts& facts, Variant variant) {
  if (symbol.kind == Symbol::Kind::Gradients) return fmt::format("{:#x}", variant.gradients);
  if (symbol.kind == Symbol::Kind::Scatters) return variant.scatters ? "yes" : "no";
  const Actual& actual = facts.actuals[symbol.param];
  if (symbol.kind == Symbol::Kind::Number)
    return fmt::format("{}:{}", static_cast<int>(actual.number.kind), actual.number.integer);
  const int64_t size = actual.tensor->size(symbol.dim);
  return symbol.touched && size > ir::kTouchedSize ? kLarge : std::to_string(size);
}

/// What is known of the symbols so far, in the order in which it was asked.
class Statics {
 public:
  bool has(const Symbol& wanted) const {
    return std::ranges::any_of(entries_, [&](const Entry& entry) {
      return same_symbol(entry.symbol, wanted) && (wanted.touched || entry.value != kLarge);
    });
  }
  void add(const Symbol& symbol, std::string value) { entries_.push_back({symbol, std::move(value)}); }
  std::string text() const {
    std::string text;
    for (const Entry& entry : entries_) text += fmt::format("{} = {}\n", text_of(entry.symbol), entry.value);
    return text;
  }

 private:
  struct Entry {
    Symbol symbol;
    std::string value;
  };
  std::vector<Entry> entries_;
};

}  // namespace

/// A lowered op with what it asked for on the way.
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

ProgramCache::Lowered ProgramCache::lower(const Facts& facts, Variant variant) {
  Tally::add(runtime_.tally.lowerings);
  const frontend::Actuals actuals = actuals_of(facts);
  frontend::Signature signature = signature_of(facts, numerics_);
  signature.gradients = variant.gradients, signature.scatters = variant.scatters;
  const ir::Graph lowered = frontend::lower(*definition_, signature, actuals);
  ir::verify(lowered);

  Lowered result;
  for (const ir::Static& known : lowered.statics)
    result.symbols.push_back(symbol_of(lowered.host, known.symbol, known.touched));
  for (const ir::HostId id : lowered.touched) result.symbols.push_back(symbol_of(lowered.host, id, true));
  // Without reductions there is nothing to keep, whichever gradients are asked.
  if (lowered.reduction_count() > 0) result.symbols.push_back({.kind = Symbol::Kind::Gradients});
  const auto hangs_on_sizes = [](const ir::Condition& one) { return one.kind == ir::Condition::Kind::Affordable; };
  const auto is_sum = [](const ir::Result& one) { return !one.scatters.empty(); };
  if (std::ranges::any_of(lowered.conditions, hangs_on_sizes) || std::ranges::any_of(lowered.results, is_sum))
    result.symbols.push_back({.kind = Symbol::Kind::Scatters});
  // Calls go first: what they bound is simplified together with what is around them.
  ir::Graph graph = ir::contract(ir::simplify(ir::inline_calls(lowered)));
  if (definition_->may_return_arguments()) graph = ir::forward_params(std::move(graph));
  result.graph = std::make_shared<const ir::Graph>(ir::align_rows(graph));
  ir::verify(*result.graph);
  return result;
}

std::shared_ptr<const ir::Graph> ProgramCache::graph(const Facts& facts, Variant variant) {
  return lower(facts, variant).graph;
}

ProgramCache::Found ProgramCache::find(const Facts& facts, Variant variant) {
  const std::string signature = signature_of(facts, numerics_).text() + "\n";
  Statics statics;
  std::optional<Lowered> lowered;  // at most once, however many records it leaves behind
  Found found;
  for (;;) {
    const std::string key = signature + statics.text();
    const std::shared_ptr<const ProgramRecord> record = this->record(key, [&] {
      if (!lowered) lowered = lower(facts, variant);
      ProgramRecord made;
      for (const Symbol& symbol : lowered->symbols)
        if (!statics.has(symbol)) made.asks.push_back(symbol);
      if (!made.asks.empty()) return made;
      made.program = make_program(lowered->graph);
      return made;
    });
    if (record->program) {
      found.program = {record, &*record->program};
      found.watched.values |= found.program->shape_numbers;
      found.watched.written = written_params(*found.program);
      return found;
    }
    const std::string before = statics.text();
    for (const Symbol& symbol : record->asks) {
      if (statics.has(symbol)) continue;
      statics.add(symbol, value_text(symbol, facts, variant));
      if (symbol.kind == Symbol::Kind::Gradients) found.watched.gradients = true;
      if (symbol.kind == Symbol::Kind::Number && symbol.param < 64) found.watched.values |= uint64_t{1} << symbol.param;
    }
    if (statics.text() == before) throw_internal("a program record asks for what is known", key);
  }
}

/// None where the store has nothing that reads as a record: it is made anew then and takes its place.
std::optional<ProgramRecord> ProgramCache::stored(const std::string& key) const {
  if (identity_.empty()) return std::nullopt;
  const std::optional<std::string> bytes = runtime_.store.find("program", identity_ + key);
  std::optional<ProgramRecord> record = bytes ? from_bytes<ProgramRecord>(*bytes) : std::nullopt;
  return record && record->asks.empty() == record->program.has_value() ? std::move(record) : std::nullopt;
}

std::shared_ptr<const ProgramRecord> ProgramCache::record(const std::string& key,
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
    if (std::optional<ProgramRecord> known = stored(key)) {
      Tally::add(runtime_.tally.disk_hits);
      record = std::make_shared<const ProgramRecord>(*std::move(known));
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
