#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/cpp_functions.h"
#include "frontend/frontend.h"
#include "tests/ir/reference.h"

// Lowers ops for arguments described by strings, and runs graphs on small arrays, element by element.

namespace ingot::frontend {

/// The arguments of a call, and its signature. Texts describe the arguments: "f32:3x4" is a tensor of that dtype and
/// shape ("u8:" has 0 dims), "cpu f32" a CPU scalar in an op on CUDA, "float=0.5", "int=3" and "bool=1" are numbers,
/// and "None" is None.
struct LoweringCase {
  Signature signature;
  std::vector<std::vector<int64_t>> sizes;
  std::vector<ir::HostValue> scalars;

  LoweringCase(std::initializer_list<std::string> arguments) {
    for (const std::string& text : arguments) add(text);
  }

  LoweringCase& on(Device device) {
    signature.device = device;
    return *this;
  }
  LoweringCase& with(Numerics numerics) {
    signature.numerics = numerics;
    return *this;
  }

  ir::Graph lower(const Definition& definition) const {
    ir::Graph graph = frontend::lower(definition, signature, symbol_values());
    ir::verify(graph);
    return graph;
  }
  ir::Graph lower(const std::string& text) const { return lower(*frontend::define(text)); }
  /// The printed graph after the passes that apply to every op.
  std::string simplified_text(const std::string& text) const {
    const ir::Graph graph = ir::align_rows(ir::contract(ir::simplify(ir::inline_calls(lower(text)))));
    ir::verify(graph);
    return ir::print(graph);
  }

  SymbolValues symbol_values() const {
    return {[this](uint32_t param, uint32_t dim) { return sizes[param][dim]; },
            [this](uint32_t param) { return scalars[param]; }};
  }

 private:
  void add(const std::string& text) {
    ArgumentSpec spec;
    std::vector<int64_t> shape;
    ir::HostValue scalar = ir::HostValue::of(int64_t{0});
    const size_t equals = text.find('='), colon = text.find(':');
    if (text == "None") {
      spec.kind = ArgumentSpec::Kind::None;
    } else if (equals != std::string::npos) {
      spec.kind = ArgumentSpec::Kind::Number;
      const std::string kind = text.substr(0, equals), value = text.substr(equals + 1);
      if (kind != "float" && kind != "int" && kind != "bool") throw std::invalid_argument("not an argument: " + text);
      spec.number = kind == "float" ? ir::HostKind::Float : kind == "int" ? ir::HostKind::Int : ir::HostKind::Bool;
      scalar = kind == "float" ? ir::HostValue::of(std::stod(value))
               : kind == "int" ? ir::HostValue::of(static_cast<int64_t>(std::stoll(value)))
                               : ir::HostValue::of(value != "0");
    } else if (text.starts_with("cpu ")) {
      spec.kind = ArgumentSpec::Kind::CpuScalar;
      spec.dtype = ir::parse_dtype(text.substr(4)).value();
    } else {
      spec.dtype = ir::parse_dtype(text.substr(0, colon)).value();
      std::stringstream sizes_text(text.substr(colon + 1));
      for (std::string size; std::getline(sizes_text, size, 'x');) shape.push_back(std::stoll(size));
      spec.rank = static_cast<uint8_t>(shape.size());
      for (size_t d = 0; d < shape.size(); ++d) spec.ones |= static_cast<uint64_t>(shape[d] == 1) << d;
    }
    signature.arguments.push_back(spec);
    sizes.push_back(shape);
    scalars.push_back(scalar);
  }
};

/// The error message of an op, or "accepted".
inline std::string rejection_message(const std::string& text, const LoweringCase& call) {
  try {
    call.lower(text);
  } catch (const Error& error) {
    return error.fault() == Fault::Author ? error.what() : "not an author's error: " + std::string(error.what());
  }
  return "accepted";
}

/// A dense array of integers.
struct Array {
  std::vector<int64_t> shape;
  std::vector<int64_t> data;

  explicit Array(std::vector<int64_t> sizes) : shape(std::move(sizes)), data(static_cast<size_t>(count(shape))) {}
  static int64_t count(const std::vector<int64_t>& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  }

  size_t offset(const std::vector<int64_t>& index) const {
    int64_t offset = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      EXPECT_TRUE(0 <= index[d] && index[d] < shape[d]) << "coordinate " << index[d] << " of " << shape[d];
      offset = offset * shape[d] + index[d];
    }
    return static_cast<size_t>(offset);
  }
  int64_t operator[](const std::vector<int64_t>& index) const { return data[offset(index)]; }
  int64_t& operator[](const std::vector<int64_t>& index) { return data[offset(index)]; }

  /// An array whose elements are a function of the index.
  static Array of(std::vector<int64_t> sizes, const std::function<int64_t(const std::vector<int64_t>&)>& value) {
    Array result(std::move(sizes));
    for_each_index(result.shape, [&](const std::vector<int64_t>& index) { result[index] = value(index); });
    return result;
  }
  static void for_each_index(const std::vector<int64_t>& sizes,
                             const std::function<void(const std::vector<int64_t>&)>& visit) {
    std::vector<int64_t> index(sizes.size(), 0);
    for (int64_t remaining = count(sizes); remaining > 0; --remaining) {
      visit(index);
      for (size_t d = sizes.size(); d-- > 0 && ++index[d] == sizes[d];) index[d] = 0;
    }
  }
};

/// Runs an int64 graph on arrays.
class GraphRun {
 public:
  /// `number`: the value of every number parameter.
  GraphRun(const ir::Graph& graph, const std::vector<Array>& arguments, int64_t number = 0)
      : graph_(graph), arguments_(arguments), host_(graph.host.count()) {
    const ir::HostInputs inputs{[this](uint32_t param, uint32_t dim) { return arguments_[param].shape[dim]; },
                                [number](uint32_t) { return ir::HostValue::of(number); }};
    ir::evaluate(graph.host, inputs, host_);
  }

  /// Whether all conditions of the graph hold.
  bool conditions_hold() const {
    return std::ranges::all_of(graph_.conditions, [&](const ir::Condition& condition) {
      return ir::holds(condition.kind, host_[condition.a.index], host_[condition.b.index]);
    });
  }

  Array result(size_t index) {
    const ir::Result& result = graph_.results[index];
    // Elements that no block writes keep the parameter's values.
    Array array = result.mutates ? arguments_[*result.mutates] : Array(sizes(result.shape));
    std::vector<int> write_counts(array.data.size(), result.mutates ? 1 : 0);
    for (const ir::OutputBlock& block : result.blocks) {
      Array::for_each_index(sizes(block.domain), [&](const std::vector<int64_t>& position) {
        memo_.clear();
        const size_t offset = array.offset(coordinates(block.store, position, {}));
        array.data[offset] = value(block.node, position);
        if (!result.mutates) ++write_counts[offset];
      });
    }
    for (const int write_count : write_counts) EXPECT_EQ(write_count, 1) << "an element is not written exactly once";
    return array;
  }

 private:
  int64_t host(ir::HostId id) const { return host_[id.index].as_int(); }
  std::vector<int64_t> sizes(const std::vector<ir::HostId>& ids) const {
    std::vector<int64_t> result;
    for (const ir::HostId id : ids) result.push_back(host(id));
    return result;
  }

  std::vector<int64_t> coordinates(const ir::Access& access, const std::vector<int64_t>& index,
                                   const std::vector<int64_t>& gathered) const {
    std::vector<int64_t> result = sizes(access.offsets);
    for (size_t j = 0; j < access.dims.size(); ++j) {
      if (host(access.dims[j].size) == 1) continue;
      const int64_t position = index[index.size() - access.dims.size() + j];
      for (const ir::Term& term : access.dims[j].terms) result[term.dim] += host(term.coef) * position;
    }
    for (size_t k = 0; k < access.indirect.size(); ++k) {
      const int64_t extent = host(access.indirect[k].extent);
      const int64_t wrapped = gathered[k] < 0 ? gathered[k] + extent : gathered[k];
      EXPECT_TRUE(0 <= wrapped && wrapped < extent);
      for (const ir::Term& term : access.indirect[k].terms) result[term.dim] += host(term.coef) * wrapped;
    }
    return result;
  }

  int64_t value(ir::NodeId id, const std::vector<int64_t>& index) {
    if (const auto cached = memo_.find(id.index); cached != memo_.end()) return cached->second;
    const ir::Node& node = graph_[id];
    std::vector<int64_t> args;
    for (const ir::NodeId arg : node.args) args.push_back(value(arg, index));
    int64_t result = 0;
    switch (node.op) {
      case ir::Op::Load:
      case ir::Op::Gather: {
        const ir::Access& access = graph_.access(id);
        result = arguments_[access.source.index][coordinates(access, index, args)];
        break;
      }
      case ir::Op::Scalar:
        result = host(graph_.host_of(id));
        break;
      case ir::Op::Index:
        result = coordinates(graph_.access(id), index, {})[0];
        break;
      case ir::Op::Cast:
      case ir::Op::Call:
        result = args[0];
        break;
      default: {
        std::vector<ir::Element> elements;
        for (size_t i = 0; i < args.size(); ++i) elements.push_back({graph_[node.args[i]].dtype, args[i], 0});
        result = ir::reference::primitive(node, elements).integer;
      }
    }
    return memo_[id.index] = result;
  }

  const ir::Graph& graph_;
  const std::vector<Array>& arguments_;
  std::vector<ir::HostValue> host_;
  std::map<uint32_t, int64_t> memo_;
};

}  // namespace ingot::frontend
