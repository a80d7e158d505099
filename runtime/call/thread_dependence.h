#pragma once

#include <string>

#include "frontend/frontend.h"
#include "ir/graph.h"

namespace ingot::runtime {

/// The functions of an op to which the state of the calling thread means something in eager PyTorch; empty where there
/// is none.
struct ThreadDependence {
  std::string autocast;  ///< under torch.autocast for the op's device it computes in other types
};

/// `lowered` is as the front end gives it.
ThreadDependence thread_dependence_of(const ir::Graph& lowered, frontend::Device device);

}  // namespace ingot::runtime
