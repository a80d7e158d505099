#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <vector>

namespace ingot::tools {

/// Writes tensors as torch.save would, on the CPU: a tuple of them. Errors: Error(Environment).
void save_tensors(const std::filesystem::path& path, const std::vector<at::Tensor>& tensors);
void save_tensor(const std::filesystem::path& path, const at::Tensor& tensor);

}  // namespace ingot::tools
