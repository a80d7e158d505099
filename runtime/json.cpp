#include "runtime/json.h"

#include <bit>

using nlohmann::json;

namespace ingot::ir {

namespace {

/// Enumerators travel as numbers; the store's key names the build that wrote them.
template <typename E>
  requires std::is_enum_v<E>
int number(E value) {
  return static_cast<int>(value);
}
template <typename E>
E enumerator(const json& value) {
  return static_cast<E>(value.get<int>());
}

}  // namespace

void to_json(json& j, const HostId& id) { j = id.index; }
void from_json(const json& j, HostId& id) { id.index = j.get<uint32_t>(); }

void to_json(json& j, const HostValue& value) {
  j = json::array({number(value.kind), value.integer});
}  // a float's bits
void from_json(const json& j, HostValue& value) {
  value.kind = enumerator<HostKind>(j.at(0));
  value.integer = j.at(1).get<int64_t>();
}

void to_json(json& j, const HostPool& pool) {
  j = json::array();
  for (uint32_t i = 0; i < pool.count(); ++i) {
    const HostNode& node = pool[{i}];
    j.push_back(json::array(
        {number(node.op), number(node.kind), node.per_call, node.a, node.b, node.value, node.args, node.coefs}));
  }
}
void from_json(const json& j, HostPool& pool) {
  for (const json& row : j) {
    HostNode node{.op = enumerator<HostOp>(row.at(0)),
                  .kind = enumerator<HostKind>(row.at(1)),
                  .per_call = row.at(2).get<bool>(),
                  .a = row.at(3).get<uint32_t>(),
                  .b = row.at(4).get<uint32_t>(),
                  .value = row.at(5).get<HostValue>(),
                  .args = row.at(6).get<std::vector<HostId>>(),
                  .coefs = row.at(7).get<std::vector<int64_t>>()};
    pool.append(std::move(node));
  }
}

void to_json(json& j, const Term& term) { j = json::array({term.dim, term.coef}); }
void from_json(const json& j, Term& term) { j.at(0).get_to(term.dim), j.at(1).get_to(term.coef); }
void to_json(json& j, const AccessDim& dim) { j = json::array({dim.size, dim.terms}); }
void from_json(const json& j, AccessDim& dim) { j.at(0).get_to(dim.size), j.at(1).get_to(dim.terms); }
void to_json(json& j, const Lead& lead) { j = json::array({lead.extent, lead.terms}); }
void from_json(const json& j, Lead& lead) { j.at(0).get_to(lead.extent), j.at(1).get_to(lead.terms); }

void to_json(json& j, const Access& access) {
  j = json::array({number(access.source.kind), access.source.index, access.offsets, access.dims, access.leads});
}
void from_json(const json& j, Access& access) {
  access.source = {enumerator<SourceRef::Kind>(j.at(0)), j.at(1).get<uint32_t>()};
  j.at(2).get_to(access.offsets);
  j.at(3).get_to(access.dims);
  j.at(4).get_to(access.leads);
}

void to_json(json& j, const Condition& condition) {
  j = json::array({number(condition.kind), condition.a, condition.b, condition.message});
}
void from_json(const json& j, Condition& condition) {
  condition.kind = enumerator<Condition::Kind>(j.at(0));
  j.at(1).get_to(condition.a);
  j.at(2).get_to(condition.b);
  j.at(3).get_to(condition.message);
}

void to_json(json& j, const LayoutStep& step) {
  j = json::array({number(step.kind), step.param, step.inputs, step.shape, step.rows});
}
void from_json(const json& j, LayoutStep& step) {
  step.kind = enumerator<LayoutStep::Kind>(j.at(0));
  j.at(1).get_to(step.param);
  j.at(2).get_to(step.inputs);
  j.at(3).get_to(step.shape);
  j.at(4).get_to(step.rows);
}

}  // namespace ingot::ir

namespace ingot::codegen {

void to_json(json& j, const AccessUse& use) {
  j = json::array({static_cast<int>(use.kind), use.tensor, static_cast<int>(use.dtype), use.access, use.text});
}
void from_json(const json& j, AccessUse& use) {
  use.kind = static_cast<AccessUse::Kind>(j.at(0).get<int>());
  j.at(1).get_to(use.tensor);
  use.dtype = static_cast<ir::DType>(j.at(2).get<int>());
  j.at(3).get_to(use.access);
  j.at(4).get_to(use.text);
}

void to_json(json& j, const ScalarUse& use) { j = json::array({use.value, static_cast<int>(use.dtype)}); }
void from_json(const json& j, ScalarUse& use) {
  j.at(0).get_to(use.value);
  use.dtype = static_cast<ir::DType>(j.at(1).get<int>());
}

void to_json(json& j, const KernelOutline::PartRef& part) { j = json::array({part.result, part.part}); }
void from_json(const json& j, KernelOutline::PartRef& part) { j.at(0).get_to(part.result), j.at(1).get_to(part.part); }

void to_json(json& j, const KernelOutline& kernel) {
  j = json::array({kernel.name, kernel.domain, kernel.accesses, kernel.scalars, kernel.parts, kernel.divisions});
}
void from_json(const json& j, KernelOutline& kernel) {
  j.at(0).get_to(kernel.name);
  j.at(1).get_to(kernel.domain);
  j.at(2).get_to(kernel.accesses);
  j.at(3).get_to(kernel.scalars);
  j.at(4).get_to(kernel.parts);
  j.at(5).get_to(kernel.divisions);
}

void to_json(json& j, const Argument& argument) {
  j = json::array(
      {static_cast<int>(argument.kind), argument.a, argument.b, static_cast<int>(argument.dtype), argument.name});
}
void from_json(const json& j, Argument& argument) {
  argument.kind = static_cast<Argument::Kind>(j.at(0).get<int>());
  j.at(1).get_to(argument.a);
  j.at(2).get_to(argument.b);
  argument.dtype = static_cast<ir::DType>(j.at(3).get<int>());
  j.at(4).get_to(argument.name);
}

void to_json(json& j, const LaunchInfo& info) {
  j = json::array({info.entry, info.arguments, info.block_threads, info.elements_per_thread, info.weight});
}
void from_json(const json& j, LaunchInfo& info) {
  j.at(0).get_to(info.entry);
  j.at(1).get_to(info.arguments);
  j.at(2).get_to(info.block_threads);
  j.at(3).get_to(info.elements_per_thread);
  j.at(4).get_to(info.weight);
}

}  // namespace ingot::codegen

namespace ingot::runtime {

void to_json(json& j, const Program::Check& check) { j = json::array({check.condition, check.place}); }
void from_json(const json& j, Program::Check& check) { j.at(0).get_to(check.condition), j.at(1).get_to(check.place); }

void to_json(json& j, const Program::Result& result) {
  j = json::array({result.name, static_cast<int>(result.dtype), result.shape, result.layout,
                   result.mutates ? json(*result.mutates) : json()});
}
void from_json(const json& j, Program::Result& result) {
  j.at(0).get_to(result.name);
  result.dtype = static_cast<ir::DType>(j.at(1).get<int>());
  j.at(2).get_to(result.shape);
  j.at(3).get_to(result.layout);
  if (!j.at(4).is_null()) result.mutates = j.at(4).get<uint32_t>();
}

void to_json(json& j, const Program& program) {
  j = json::array({program.name, program.host, program.outline.kernels, program.checks, program.results, program.steps,
                   program.permutes, program.shape_numbers, program.digest});
}
void from_json(const json& j, Program& program) {
  j.at(0).get_to(program.name);
  j.at(1).get_to(program.host);
  j.at(2).get_to(program.outline.kernels);
  j.at(3).get_to(program.checks);
  j.at(4).get_to(program.results);
  j.at(5).get_to(program.steps);
  j.at(6).get_to(program.permutes);
  j.at(7).get_to(program.shape_numbers);
  j.at(8).get_to(program.digest);
}

}  // namespace ingot::runtime
