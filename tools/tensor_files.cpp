#include "tools/tensor_files.h"

#include <torch/csrc/jit/serialization/pickle.h>

#include <fstream>

#include "base/error.h"

namespace ingot::tools {

namespace {

void save(const std::filesystem::path& path, const c10::IValue& value) {
  std::vector<char> bytes = torch::jit::pickle_save(value);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw_environment("cannot write " + path.string());
}

}  // namespace

void save_tensors(const std::filesystem::path& path, const std::vector<at::Tensor>& tensors) {
  std::vector<c10::IValue> values;
  for (const at::Tensor& tensor : tensors) values.emplace_back(tensor.cpu());
  save(path, c10::ivalue::Tuple::create(std::move(values)));
}

void save_tensor(const std::filesystem::path& path, const at::Tensor& tensor) { save(path, tensor.cpu()); }

}  // namespace ingot::tools
