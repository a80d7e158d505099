#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "runtime/host/cuda_backend.h"
#include "tools/commands.h"
#include "tools/eager_check.h"
#include "tools/op_input.h"
#include "tools/report.h"
#include "tools/tensor_files.h"
#include "tools/timing.h"

namespace ingot::tools {

namespace {

/// The largest accepted thread count: more than any machine's processors. PyTorch starts as many threads as requested.
constexpr int kMaxThreads = 1024;

struct RunInput {
  OpInput op;
  std::string device = "cpu";
  std::string save;
  bool json = false;
  bool no_check = false;
  int threads = 0;
};

c10::Device device_named(const std::string& name) {
  c10::Device device(name);
  if (device.is_cpu()) return device;
  int count = runtime::cuda_backend().device_count();
  if (count == 0) throw_environment("this machine's driver reports no CUDA device");
  c10::DeviceIndex index = device.has_index() ? device.index() : c10::DeviceIndex{0};
  if (index >= count)
    throw_author({}, "there is no device " + name, "the machine has " + std::to_string(count) + " CUDA devices");
  return c10::Device(c10::DeviceType::CUDA, index);
}

int64_t bytes_of(const BoundOp& bound, const std::vector<at::Tensor>& results) {
  int64_t bytes = 0;
  for (const ArgumentValue& value : bound.values)
    if (auto tensor = std::get_if<at::Tensor>(&value)) bytes += static_cast<int64_t>(tensor->nbytes());
  for (const at::Tensor& result : results) bytes += static_cast<int64_t>(result.nbytes());
  return bytes;
}

/// Calls the op and returns the tensor arguments that the call changed, then its results: the order in which the check
/// gets eager's values.
std::vector<at::Tensor> call_once(const BoundOp& bound, const std::vector<Argument>& arguments) {
  std::vector<at::Tensor> tensors, values;
  for (const ArgumentValue& value : bound.values)
    if (auto tensor = std::get_if<at::Tensor>(&value)) tensors.push_back(*tensor);
  std::vector<int64_t> versions;
  for (const at::Tensor& tensor : tensors) versions.push_back(tensor._version());
  const std::vector<at::Tensor> results = bound.op.call(arguments);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i]._version() > versions[i]) values.push_back(tensors[i].clone());
  values.insert(values.end(), results.begin(), results.end());
  return values;
}

int run(const RunInput& input) {
  if (input.threads > 0) at::set_num_threads(input.threads);
  c10::Device device = device_named(input.device);
  BoundOp bound = bind_op(input.op, /*meta=*/false);
  for (ArgumentValue& value : bound.values)
    if (auto tensor = std::get_if<at::Tensor>(&value)) *tensor = tensor->to(device);
  std::vector<Argument> arguments = bound.arguments();

  Report report{bound, device, {}, {}, 0, 0, at::get_num_threads(), {}};
  Counters before = counters();
  std::optional<EagerCheck> check;
  if (!input.no_check && !input.op.is_gradient()) check.emplace(bound, input.op, device);
  at::manual_seed(0);  // as in the check, so that random numbers are equal
  report.results = call_once(bound, arguments);
  report.first_call = counters().since(before);
  report.ingot_us = median_microseconds([&] { bound.op.call(arguments); }, device);
  report.bytes = bytes_of(bound, report.results);
  if (check) report.verdict = check->compare(report.results);
  if (!input.save.empty()) {
    if (report.results.size() == 1)
      save_tensor(input.save, report.results[0]);
    else
      save_tensors(input.save, report.results);
  }
  input.json ? print_json(report) : print_text(report);
  return !report.verdict || report.verdict->at("ok").get<bool>() ? kOk : kMismatch;
}

}  // namespace

void add_run(CLI::App& program, int& status) {
  auto input = std::make_shared<RunInput>();
  CLI::App* command = program.add_subcommand("run", "Run an op, check it against eager PyTorch and time both");
  input->op.add_to(*command);
  command->add_option("--device", input->device, "cpu (the default), cuda or cuda:1")
      ->check([](const std::string& name) {
        bool is_known =
            name == "cpu" || name == "cuda" || (name.starts_with("cuda:") && name.size() == 6 && std::isdigit(name[5]));
        return is_known ? std::string() : "the devices are cpu, cuda and cuda:N";
      });
  command->add_option("--save", input->save, "write the result to this file, as torch.save would");
  command->add_flag("--json", input->json, "print the report as JSON");
  command->add_flag("--no-check", input->no_check,
                    "skip the check against eager PyTorch, which needs a Python with torch");
  command->add_option("--threads", input->threads, "CPU threads (default: all)")->check(CLI::Range(1, kMaxThreads));
  command->add_flag("--debug", input->op.debug, "check gathered indices and wait for the GPU after each launch");
  command->callback([input, &status] { status = run(*input); });
}

}  // namespace ingot::tools
