#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot {

/// The stages of an op for some arguments, and the origin of each part of a stage.
struct Explanation {
  /// Characters of the op's source, [begin, end).
  struct TextRange {
    uint32_t begin = 0, end = 0;
  };
  /// A read or write of a kernel, over the axes of its loops. Dims that are contiguous with each other count as one
  /// axis; dims of size 1 are omitted.
  struct Access {
    std::string kernel;
    uint32_t access_index = 0;  ///< index among the kernel's accesses, as the schedule counts them
    uint32_t node = 0;          ///< index in the graph: the node that reads, or the stored node
    std::string tensor;         ///< the parameter, or the result: "x", "out"
    std::string dtype;
    bool is_written = false;
    bool is_gathered = false;               ///< at computed indices, which the strides do not describe
    std::string how;                        ///< as the schedule names it: "vector"
    std::vector<int64_t> extents, strides;  ///< outermost first, in elements
    int64_t offset = 0;                     ///< of the first element, from the tensor's first
  };

  /// The launch of a kernel.
  struct Launch {
    std::string kernel;
    int64_t units = 0;                             ///< blocks on CUDA, iterations of the parallel loop on the CPU
    uint32_t block_threads = 1;                    ///< CUDA
    int64_t shared_bytes = 0;                      ///< CUDA: dynamic shared memory of a block
    std::vector<std::optional<double>> arguments;  ///< the numbers among the kernel's arguments; none for a pointer
  };

  std::string op_source;
  int64_t operations = 0;  ///< floating-point operations of the op's formula (ir/flop_count.h)
  std::string graph, schedule;
  std::string kernel_source;  ///< the generated source
  /// For each node %k of the graph: its locations in the op's source, first its own, then those of expressions that
  /// yield the same node.
  std::vector<std::vector<TextRange>> nodes;
  std::vector<std::vector<uint32_t>> lines;  ///< for each line of the generated source, the nodes that it computes
  std::vector<Launch> launches;
  std::vector<Access> accesses;

  std::string json() const;
};

}  // namespace ingot
