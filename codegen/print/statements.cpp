#include "codegen/print/statements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "codegen/target/spellings.h"

namespace ingot::codegen {
namespace {

using Kind = AccessUse::Kind;

constexpr size_t kColumns = 100;
constexpr size_t kIndent = 12;  // of the innermost statements

/// A value that nobody has named and that is used once stands where it is used, as long as the line stays short; every
/// other value is a statement. What does not differ between the elements of the inner loop is computed before it.
class Writer {
 public:
  Writer(const KernelContext& context, const Accesses& accesses, const Values& values, Names& names, KernelPlan& plan)
      : context_(context),
        accesses_(accesses),
        values_(values.all),
        results_(values.results),
        names_(names),
        plan_(plan),
        texts_(values.all.size()),
        inlined_(values.all.size()) {}

  void write() {
    has_loop_ = !context_.cuda() || plan_.lanes > 1;
    find_hoisted();
    find_used();
    if (!context_.cuda()) start_cpu();
    for (uint32_t a = 0; a < accesses_.count(); ++a) load_vectors(a);
    for (uint32_t v = 0; v < values_.size(); ++v)
      if (values_[v].uses > 0) value(v);
    stores();
    if (has_loop_) {
      plan_.body.push_back({loop()});
      for (Statement& statement : after_loop_) plan_.body.push_back(std::move(statement));
    }
  }

 private:
  Block& block_of(uint32_t v) { return has_loop_ && values_[v].inner ? inner_ : plan_.body; }
  /// Where what is done once an element stands.
  Block& element_block() { return has_loop_ ? inner_ : plan_.body; }

  void find_hoisted() {
    hoisted_.resize(values_.size());
    if (!has_loop_) return;
    const auto hoist = [&](uint32_t v) {
      if (!values_[v].inner && values_[v].kind != Value::Kind::Leaf) hoisted_[v] = true;
    };
    for (const Value& value : values_)
      if (value.inner && value.uses > 0) std::ranges::for_each(value.operands, hoist);
    std::ranges::for_each(results_, hoist);
  }

  /// Of which groups something is needed; every store is.
  void find_used() {
    used_.resize(accesses_.count());
    for (const Value& value : values_)
      if (value.uses > 0 && value.access != Value::kNoAccess) used_[accesses_[value.access].group] = true;
    for (size_t a = accesses_.count() - results_.size(); a < accesses_.count(); ++a)
      used_[accesses_[static_cast<uint32_t>(a)].group] = true;
  }

  // Loads

  void load_vectors(uint32_t a) {
    const AccessPlan& access = accesses_[a];
    if (context_.outline.accesses[a].kind != Kind::Load || !used_[access.group]) return;
    if (access.vector)
      plan_.body.push_back({Let{"auto", accesses_.vector_name(a), vector_call("load", a, plan_.lanes, "")}});
    if (access.group != a) return;
    for (const Chunk& chunk : accesses_.chunks(a)) {
      if (chunk.width == 1) continue;
      plan_.body.push_back({Let{"auto", accesses_.chunk_name(a, chunk),
                                fmt::format("load<{}>({}, {})", chunk.width, access.pointer, chunk_offset(a, chunk))}});
    }
  }

  /// load<4>(x, i0 * x_stride + i1), or, where the vector may reach past the end, load_tile<4>(x, i, n).
  std::string vector_call(std::string_view name, uint32_t a, uint32_t lanes, const std::string& value) const {
    const bool tile = accesses_.is_tile();
    std::string text = fmt::format("{}{}", name, tile ? "_tile" : "");
    if (value.empty()) text += fmt::format("<{}>", lanes);
    text += fmt::format("({}, {}", accesses_[a].pointer, accesses_.offset(a, false));
    if (tile) text += ", " + plan_.numel;
    if (!value.empty()) text += ", " + value;
    return text + ")";
  }

  std::string chunk_offset(uint32_t leader, const Chunk& chunk) const {
    const std::string base = accesses_.offset(leader, false);
    if (chunk.first == 0) return base;
    return base == "0" ? std::to_string(chunk.first) : fmt::format("{} + {}", base, chunk.first);
  }

  // Values

  void value(uint32_t v) {
    const Value& value = values_[v];
    if (value.kind == Value::Kind::Leaf) {
      texts_[v] = value.text;
      return;
    }
    if (value.kind == Value::Kind::NonZero) {
      check_divisor(v);
      return;
    }
    std::string name = value.authored && !is_only_stored_as(v, value.name) ? value.name : "";
    const size_t prefix = std::string_view("const double ").size() + std::max<size_t>(name.size(), 5) + 4;
    fit(value.operands, prefix, [&] { return compute(v); });
    texts_[v] = compute(v);
    // A load must not slip behind a store that may change what it reads.
    const bool early_load = value.kind == Value::Kind::Element && context_.layout.results_alias && results_.size() > 1;
    // A check must not depend on whether an arm of a `where` is taken.
    const bool check = value.kind == Value::Kind::Wrap && !accesses_.status.empty();
    if (!name.empty() || value.uses > 1 || hoisted_[v] || early_load || check)
      give_name(v);
    else
      inlined_[v] = true;
  }

  void check_divisor(uint32_t v) {
    static const Spelling check("a == 0 ? b : c");
    const uint32_t divisor = values_[v].operands[0];
    if (inlined_[divisor]) give_name(divisor);
    const size_t code = accesses_.count() + values_[v].number + 1;
    const std::array<Text, 3> operands = {texts_[divisor], Text{std::to_string(code)}, Text{bad_}};
    block_of(v).push_back({Assign{bad_, check.fill(operands).text}});
    texts_[v] = texts_[divisor];
  }

  /// Whether the value's only use is a store to a result of its own name, which says it already.
  bool is_only_stored_as(uint32_t v, const std::string& name) const {
    const auto result = std::ranges::find(results_, v);
    if (result == results_.end() || values_[v].uses > 1) return false;
    const uint32_t first_store = static_cast<uint32_t>(accesses_.count() - results_.size());
    const auto store = first_store + static_cast<uint32_t>(result - results_.begin());
    return name.starts_with(accesses_[store].pointer);
  }

  /// Names operands, widest first, until what is made of them fits on a line after `prefix` characters.
  template <typename Compute>
  void fit(const std::vector<uint32_t>& operands, size_t prefix, Compute compute_text) {
    while (kIndent + prefix + compute_text().text.size() > kColumns) {
      const auto width = [&](uint32_t v) { return inlined_[v] ? texts_[v].text.size() : 0; };
      const auto widest = std::ranges::max_element(operands, std::less{}, width);
      if (widest == operands.end() || width(*widest) == 0) return;
      give_name(*widest);
    }
  }

  void give_name(uint32_t v) {
    const Value& value = values_[v];
    std::string name = value.name;
    if (!value.authored) name = names_.claim(name.empty() ? fmt::format("v{}", ++unnamed_) : name);
    const std::string type = value.kind == Value::Kind::Wrap ? plan_.index_type : std::string(type_name(value.dtype));
    block_of(v).push_back({Let{type, name, texts_[v].text}});
    texts_[v] = {name};
    inlined_[v] = false;
  }

  Text compute(uint32_t v) const {
    const Value& value = values_[v];
    std::vector<Text> operands;
    for (const uint32_t operand : value.operands) operands.push_back(texts_[operand]);
    const Target::Kind target = context_.target.kind;
    switch (value.kind) {
      case Value::Kind::Leaf:
        return value.text;
      case Value::Kind::NonZero:
        return operands[0];
      case Value::Kind::Element:
        return {element(value, operands)};
      case Value::Kind::Wrap:
        return {wrap(value, operands[0])};
      case Value::Kind::Primitive:
        return spell(target, value.op, value.work, operands);
      case Value::Kind::Cast:
        return spell_cast(target, value.work, value.dtype, operands[0]);
      case Value::Kind::Bitcast:
        return {fmt::format("bit_cast<{}>({})", type_name(value.dtype), operands[0].text)};
    }
    return {};
  }

  std::string element(const Value& value, const std::vector<Text>& wrapped) const {
    static const Spelling product("a * b");
    const AccessPlan& access = accesses_[value.access];
    std::vector<std::string> terms;
    if (const std::string offset = accesses_.offset(value.access, true); offset != "0" || wrapped.empty())
      terms.push_back(offset);
    for (size_t l = 0; l < wrapped.size(); ++l)
      terms.push_back(product.fill(std::array{wrapped[l], Text{access.lead_strides[l]}}).text);
    return fmt::format("{}[{}]", access.row, fmt::join(terms, " + "));
  }

  std::string wrap(const Value& value, const Text& index) const {
    const std::string& size = accesses_[value.access].lead_extents[value.number];
    if (accesses_.status.empty()) return fmt::format("wrap_index({}, {})", index.text, size);
    return fmt::format("check_index({}, {}, {}, {})", index.text, size, context_.cuda() ? accesses_.status : bad_,
                       value.access + 1);
  }

  // Stores

  void stores() {
    const auto first_store = static_cast<uint32_t>(accesses_.count() - results_.size());
    for (uint32_t a = first_store; a < accesses_.count(); ++a) {
      if (!accesses_.chunks(accesses_[a].group).empty()) {
        if (accesses_[a].group == a) store_group(a, first_store);
      } else {
        store_one(a, results_[a - first_store]);
      }
    }
  }

  void store_one(uint32_t a, uint32_t result) {
    const AccessPlan& access = accesses_[a];
    std::string target = fmt::format("{}[{}]", access.row, accesses_.offset(a, true));
    if (access.vector) {
      const std::string& name = accesses_.vector_name(a);
      target = fmt::format("{}[{}]", name, accesses_.lane_name());
      plan_.body.push_back(
          {Declare{fmt::format("Vec<{}, {}>", type_name(context_.outline.accesses[a].dtype), plan_.lanes), name, ""}});
      after_loop_.push_back({Do{vector_call("store", a, plan_.lanes, name)}});
    }
    const std::vector<uint32_t> operands = {result};
    fit(operands, target.size() + 4, [&] { return texts_[result]; });
    element_block().push_back({Assign{target, texts_[result].text}});
  }

  void store_group(uint32_t leader, uint32_t first_store) {
    const auto value_at = [&](uint32_t shift) {
      for (uint32_t a = first_store;; ++a)
        if (accesses_[a].group == leader && accesses_[a].shift == shift) return results_[a - first_store];
    };
    const std::string_view type = type_name(context_.outline.accesses[leader].dtype);
    for (const Chunk& chunk : accesses_.chunks(leader)) {
      std::vector<uint32_t> members;
      for (uint32_t k = 0; k < chunk.width; ++k) members.push_back(value_at(chunk.first + k));
      const std::string offset = chunk_offset(leader, chunk), &pointer = accesses_[leader].pointer;
      const auto call = [&]() -> Text {
        std::vector<std::string> items;
        for (const uint32_t member : members) items.push_back(texts_[member].text);
        return {fmt::format("store({}, {}, Vec<{}, {}>{{{}}})", pointer, offset, type, chunk.width,
                            fmt::join(items, ", "))};
      };
      if (chunk.width == 1) {
        const std::string target = fmt::format("{}[{}]", pointer, offset);
        fit(members, target.size() + 4, [&] { return texts_[members[0]]; });
        element_block().push_back({Assign{target, texts_[members[0]].text}});
      } else {
        fit(members, 1, call);
        element_block().push_back({Do{call().text}});
      }
    }
  }

  // Loops

  void start_cpu() {
    plan_.body = accesses_.row_pointers(used_);
    if (accesses_.status.empty()) return;
    bad_ = names_.claim("bad");
    plan_.before.push_back({Declare{"int", bad_, "0"}});
    plan_.after.push_back({If{bad_ + " != 0", {{Assign{"*" + accesses_.status, bad_}}}}});
  }

  Loop loop() {
    if (context_.cuda()) {
      if (lanes_read_alone()) inner_.insert(inner_.begin(), {accesses_.element()});
      return {"unroll", "int", accesses_.lane_name(), "0", std::to_string(plan_.lanes), std::move(inner_)};
    }
    const bool checks = std::ranges::any_of(values_, [](const Value& value) {
      const bool is_check = value.kind == Value::Kind::Wrap || value.kind == Value::Kind::NonZero;
      return is_check && value.inner && value.uses > 0;
    });
    const std::string pragma = checks ? fmt::format("omp simd reduction(max : {})", bad_) : "omp simd";
    return {pragma, plan_.index_type, accesses_.inner_name(), plan_.first, plan_.last, std::move(inner_)};
  }

  /// Whether something but vectors asks where a tile's lanes are: gathers and coordinates.
  bool lanes_read_alone() const {
    return accesses_.is_tile() && std::ranges::any_of(values_, [&](const Value& value) {
             return value.uses > 0 && value.access != Value::kNoAccess && value.kind != Value::Kind::Wrap &&
                    accesses_[value.access].moves_inside && !accesses_[value.access].vector;
           });
  }

  const KernelContext& context_;
  const Accesses& accesses_;
  const std::vector<Value>& values_;
  const std::vector<uint32_t>& results_;
  Names& names_;
  KernelPlan& plan_;
  std::vector<Text> texts_;
  std::vector<bool> inlined_, hoisted_, used_;
  bool has_loop_ = false;
  Block inner_, after_loop_;
  std::string bad_;
  int unnamed_ = 0;
};

}  // namespace

void write_statements(const KernelContext& context, const Accesses& accesses, const Values& values, Names& names,
                      KernelPlan& plan) {
  Writer(context, accesses, values, names, plan).write();
}

}  // namespace ingot::codegen
