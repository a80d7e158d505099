#include "runtime/programs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/json.h"
#include "runtime/runtime.h"

namespace ingot::runtime {

namespace {

std::string text_of(const Symbol& symbol) {
  return symbol.is_size ? fmt::format("size {} {}", symbol.param, symbol.dim) : fmt::format("number {}", symbol.param);
}

bool same_symbol(const Symbol& a, const Symbol& b) {
  return a.is_size == b.is_size && a.param == b.param && a.dim == b.dim;
}

Symbol symbol_of(const ir::HostPool& pool, ir::HostId id, bool touched) {
  const ir::HostNode& node = pool[id];
  return {node.op == ir::HostOp::Size, touched, node.a, node.op == ir::HostOp::Size ? node.b : 0};
}

constexpr const char* kLarge = "large";

/// The value of a symbol as a key has it. A touched size that is not small is just that.
std::string value_text(const Symbol& symbol, const Facts& facts) {
  const Actual& actual = facts.actuals[symbol.param];
  if (!symbol.is_size) return fmt::format("{}:{}", static_cast<int>(actual.number.kind), actual.number.integer);
  const int64_t size = actual.tensor->size(symbol.dim);
  return symbol.touched && size > ir::kTouchedSize ? kLarge : std::to_string(size);
}

}  // namespace

void to_json(nlohmann::json& json, const Symbol& symbol) {
  json = nlohmann::json::array({symbol.is_size, symbol.touched, symbol.param, symbol.dim});
}
void from_json(const nlohmann::json& json, Symbol& symbol) {
  symbol = {json.at(0).get<bool>(), json.at(1).get<bool>(), json.at(2).get<uint32_t>(), json.at(3).get<uint32_t>()};
}

void to_json(nlohmann::json& json, const ProgramRecord& record) {
  json["asks"] = record.asks;
  if (record.program) json["program"] = *record.program;
}
void from_json(const nlohmann::json& json, ProgramRecord& record) {
  json.at("asks").get_to(record.asks);
  if (json.contains("program")) record.program = std::make_shared<const Program>(json.at("program").get<Program>());
}

namespace {

/// What is known of the symbols so far, in the order in which it was asked.
class Known {
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
struct Programs::Lowered {
  std::shared_ptr<const ir::Graph> graph;
  std::vector<Symbol> symbols;
};

Programs::Programs(std::shared_ptr<const frontend::Definition> definition, frontend::Numerics numerics,
                   std::string_view source_name, Runtime& runtime)
    : definition_(std::move(definition)), numerics_(numerics), runtime_(runtime) {
  if (!definition_->text().empty())
    identity_ =
        fmt::format("ingot {}\n{} {}\n{}\n", build_identity(), source_name, definition_->name(), definition_->text());
}

Programs::Lowered Programs::lower(const Facts& facts) {
  Tally::add(runtime_.tally.lowerings);
  const frontend::Actuals actuals = actuals_of(facts);
  const ir::Graph lowered = frontend::lower(*definition_, signature_of(facts, numerics_), actuals);
  ir::verify(lowered);

  Lowered result;
  for (const ir::Static& known : lowered.statics)
    result.symbols.push_back(symbol_of(lowered.host, known.symbol, known.touched));
  for (const ir::HostId id : lowered.touched) result.symbols.push_back(symbol_of(lowered.host, id, true));
  // Calls go first: what they bound is simplified together with what is around them.
  result.graph = std::make_shared<const ir::Graph>(ir::simplify(ir::inline_calls(lowered)));
  ir::verify(*result.graph);
  return result;
}

std::shared_ptr<const ir::Graph> Programs::graph(const Facts& facts) { return lower(facts).graph; }

Programs::Found Programs::find(const Facts& facts) {
  const std::string signature = signature_of(facts, numerics_).text() + "\n";
  Known known;
  std::shared_ptr<const Lowered> lowered;  // at most once, however many records it leaves behind
  Found found;
  for (;;) {
    const std::string key = signature + known.text();
    const auto record = this->record(key, [&] {
      if (!lowered) lowered = std::make_shared<const Lowered>(lower(facts));
      auto made = std::make_shared<ProgramRecord>();
      for (const Symbol& symbol : lowered->symbols)
        if (!known.has(symbol)) made->asks.push_back(symbol);
      if (made->asks.empty()) made->program = std::make_shared<const Program>(make_program(lowered->graph));
      return made;
    });
    if (record->program) {
      found.program = record->program;
      found.watched.values |= record->program->shape_numbers;
      found.watched.written = written_params(*record->program);
      return found;
    }
    const std::string before = known.text();
    for (const Symbol& symbol : record->asks) {
      if (known.has(symbol)) continue;
      known.add(symbol, value_text(symbol, facts));
      if (!symbol.is_size && symbol.param < 64) found.watched.values |= uint64_t{1} << symbol.param;
    }
    if (known.text() == before) throw_internal("a program record asks for what is known", key);
  }
}

std::shared_ptr<const ProgramRecord> Programs::record(
    const std::string& key, const std::function<std::shared_ptr<const ProgramRecord>()>& make) {
  const auto find = [&]() -> std::shared_ptr<const ProgramRecord> {
    const std::lock_guard lock(mutex_);
    const auto found = records_.find(key);
    return found == records_.end() ? nullptr : found->second;
  };
  if (auto record = find()) return record;
  return flights_.run(key, [&] {
    if (auto record = find()) return record;
    std::shared_ptr<const ProgramRecord> made;
    ProgramRecord stored;
    const auto bytes = identity_.empty() ? std::nullopt : runtime_.store.find("program", identity_ + key);
    if (bytes && from_bytes(*bytes, stored)) {
      Tally::add(runtime_.tally.disk_hits);
      made = std::make_shared<const ProgramRecord>(std::move(stored));
    } else {
      made = make();
      if (!identity_.empty()) runtime_.store.publish("program", identity_ + key, to_bytes(*made));
    }
    const std::lock_guard lock(mutex_);
    records_.emplace(key, made);
    return made;
  });
}

}  // namespace ingot::runtime
