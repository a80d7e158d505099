#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <vector>

namespace ingot::tools {

/// Writes tensors as torch.save would write a tuple of them on the CPU. Errors: Error(Environment).
void save_tensors(const std::filesystem::path& path, const std::vector<at::Tensor>& tensors);
/// Writes a tensor as torch.save would write it alone.
void save_tensor(const std::filesystem::path& path, const at::Tensor& tensor);

}  // namespace ingot::tools
