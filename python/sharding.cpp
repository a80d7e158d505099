#include "python/sharding.h"

#include <pybind11/stl.h>
#include <torch/csrc/utils/pybind.h>

#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "runtime/api/op_state.h"

namespace ingot::python {

namespace {

namespace py = pybind11;

constexpr size_t kLeadingArguments = 4;  ///< number of arguments before the call's own arguments

py::object to_python(const std::optional<ShardedCall>& call) {
  if (!call) return py::none();
  py::list results;
  for (const ShardedCall::Result& result : call->results)
    results.append(py::make_tuple(result.dtype, result.sizes, result.strides, result.cuts));
  return py::make_tuple(call->tensors, results);
}

}  // namespace

PyObject* shard(const Op& op, const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords) {
  if (count < kLeadingArguments) throw_internal("_shard lacks its own arguments");
  const auto value = [&]<typename T>(size_t i, T) { return py::cast<T>(py::handle(args[i])); };
  const auto tensors = value(1, std::vector<at::Tensor>());
  ShardingRequest request{tensors, value(0, at::Device(at::kCPU)), {}, value(3, bool())};
  for (auto& [cuts, has_unit_shards, has_empty_shards] :
       value(2, std::vector<std::tuple<ir::ShardedDims, bool, bool>>()))
    request.mesh.push_back({std::move(cuts), has_unit_shards, has_empty_shards});
  const ArgumentList arguments = bind(form, args + kLeadingArguments, count - kLeadingArguments, keywords, nullptr);
  std::optional<ShardedCall> call;
  bool depends_on_numbers = false;
  {
    const py::gil_scoped_release released;
    call = op.state().shard(arguments, request, depends_on_numbers);
  }
  return py::make_tuple(depends_on_numbers, to_python(call)).release().ptr();
}

}  // namespace ingot::python
