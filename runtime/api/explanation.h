#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ingot {

/// What an op becomes for some arguments, stage by stage, and what each part of a stage came from.
struct Explanation {
  /// Characters of the text, [begin, end).
  struct Stretch {
    uint32_t begin = 0, end = 0;
  };
  /// What a kernel reads or writes, over the axes that it walks: dims that lie as one are one, those of size 1 none.
  struct Access {
    std::string kernel;
    uint32_t number = 0;  ///< of the kernel's accesses, as the schedule counts them
    uint32_t node = 0;    ///< of the graph: what reads, or what is written
    std::string tensor;   ///< the parameter, or the result: "x", "out"
    std::string dtype;
    bool is_written = false;
    bool is_gathered = false;               ///< at indices that are computed, of which the strides say nothing
    std::string how;                        ///< as the schedule says it: "vector"
    std::vector<int64_t> extents, strides;  ///< outermost first, in elements
    int64_t offset = 0;                     ///< of the first element, from the tensor's
  };

  std::string text;        ///< the author's
  int64_t operations = 0;  ///< of floating point, of the formula (ir/flop_count.h)
  std::string graph, schedule, source;
  /// Of each node of the graph, which %k is, where it stands in the text, and where else an expression comes to it.
  std::vector<std::vector<Stretch>> nodes;
  std::vector<std::vector<uint32_t>> lines;  ///< of each line of the source, the nodes that it computes
  std::vector<std::string> kernels;          ///< their names, in the order of their launches
  std::vector<Access> accesses;

  std::string json() const;
};

}  // namespace ingot
