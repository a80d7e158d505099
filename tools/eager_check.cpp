#include "tools/eager_check.h"

#include <ATen/Parallel.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "runtime/compile/subprocess.h"
#include "tools/python.h"
#include "tools/tensor_files.h"

namespace ingot::tools {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void write(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw_environment("cannot write " + path.string());
}

/// Describes a value as JSON. A float is text, because JSON has neither NaN nor infinity.
json describe_value(const ArgumentValue& value, std::vector<at::Tensor>& tensors) {
  if (auto tensor = std::get_if<at::Tensor>(&value)) {
    tensors.push_back(*tensor);
    return {{"tensor", tensors.size() - 1}};
  }
  if (std::holds_alternative<NoneType>(value)) return {{"none", nullptr}};
  auto number = std::get_if<ir::HostValue>(&value);
  if (!number) return nullptr;
  switch (number->kind) {
    case ir::HostKind::Bool:
      return {{"bool", number->integer != 0}};
    case ir::HostKind::Int:
      return {{"int", number->integer}};
    case ir::HostKind::Float:
      return {{"float", round_trip(number->real)}};
  }
  return nullptr;
}

}  // namespace

EagerCheck::EagerCheck(const BoundOp& bound, const OpInput& input, c10::Device device) {
  std::vector<at::Tensor> tensors;
  json parameters = json::array();
  for (size_t i = 0; i < bound.values.size(); ++i)
    parameters.push_back(
        {{"name", bound.op.parameters()[i].name}, {"value", describe_value(bound.values[i], tensors)}});
  json request = {{"text", bound.op.text()},         {"name", bound.op.name()},  {"file", bound.file},
                  {"numerics", input.numerics},      {"parameters", parameters}, {"device", device.str()},
                  {"threads", at::get_num_threads()}};
  write(folder_.path() / "request.json", request.dump());
  save_tensors(folder_.path() / "arguments.pt", tensors);
}

json EagerCheck::compare(const std::vector<at::Tensor>& results) const {
  save_tensors(folder_.path() / "results.pt", results);
  prefer_bundled_package();
  std::string python = find_python();
  runtime::Outcome outcome;
  try {
    outcome = runtime::run_program({python, "-P", "-m", "ingot._check", folder_.path()}, folder_.path());
  } catch (const Error& error) {
    outcome.output = error.message();
  }
  std::ifstream answer(folder_.path() / "answer.json");
  if (!outcome.succeeded || !answer)
    throw_environment("the check against eager PyTorch could not be made with " + python,
                      outcome.output +
                          "\nSet INGOT_PYTHON to a Python with torch and ingot, or skip the check "
                          "with --no-check.");
  return json::parse(answer);
}

}  // namespace ingot::tools
