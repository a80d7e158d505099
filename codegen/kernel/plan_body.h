#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "codegen/kernel/plan.h"

// What a plan is made of. Expressions are text in the target's spelling already, since whether a value gets a name or
// stands inside another depends on how long the line becomes.

namespace ingot::codegen {

struct Statement;
using Block = std::vector<Statement>;

/// const type name = value;
struct Let {
  std::string type, name, value;
  bool operator==(const Let&) const = default;
};
/// type name; or, with a value, type name = value; what later statements change
struct Declare {
  std::string type, name, value;
  bool operator==(const Declare&) const = default;
};
/// target = value;
struct Assign {
  std::string target, value;
  bool operator==(const Assign&) const = default;
};
/// call; a vector store
struct Do {
  std::string call;
  bool operator==(const Do&) const = default;
};
/// for (type variable = begin; variable < end; ++variable), after a line for the compiler
struct Loop {
  std::string pragma, type, variable, begin, end;
  Block body;
  bool operator==(const Loop&) const;
};
/// if (condition)
struct If {
  std::string condition;
  Block body;
  bool operator==(const If&) const;
};

struct Statement {
  std::variant<Let, Declare, Assign, Do, Loop, If> node;
  bool operator==(const Statement&) const = default;
};
inline bool Loop::operator==(const Loop&) const = default;
inline bool If::operator==(const If&) const = default;

/// What becomes of an axis of the domain.
struct Axis {
  enum class Role : uint8_t {
    Grid,    ///< found from the linear index of a thread's first element
    Vector,  ///< the same, and each thread takes `lanes` neighbours
    Rows,    ///< a loop around the innermost one (CPU)
    Inner,   ///< the innermost loop (CPU)
  } role;
  std::string index;   ///< the variable
  std::string extent;  ///< the argument; none for the outermost axis
  bool used = true;    ///< the body needs the variable
  bool operator==(const Axis&) const = default;
};

struct KernelPlan {
  enum class Kind : uint8_t {
    Pointwise,  ///< each element of the domain by itself; reductions over rows and columns will be other kinds
  } kind = Kind::Pointwise;
  LaunchInfo launch;
  std::string index_type;             ///< of all index arithmetic
  uint32_t lanes = 1;                 ///< elements of a vector
  std::vector<Axis> axes;             ///< outermost first; empty for a single element
  std::string linear;                 ///< the variable with the linear index of the first element
  std::string numel;                  ///< the argument with the number of elements (CUDA)
  std::string arguments, begin, end;  ///< the parameters of a CPU kernel
  std::string first, last;            ///< the bounds of the innermost loop (CPU)
  std::string row;                    ///< the variable with a row's linear index, where one is needed (CPU)
  bool restrict_pointers = true;
  std::vector<std::string> types;     ///< of launch.arguments, as the source spells them
  std::vector<std::string> comments;  ///< beside launch.arguments; may be empty
  Block before;                       ///< once a kernel (CPU)
  Block body;                         ///< once a thread, or a row
  Block after;                        ///< once a kernel (CPU)
  bool operator==(const KernelPlan&) const = default;
};

struct Plan {
  Target target;
  std::vector<KernelPlan> kernels;
  bool operator==(const Plan&) const = default;
};

/// Every decision. `layouts`: one a kernel of the outline. Errors: Error(Author) where a kernel would take more
/// arguments than the target can pass.
Plan plan(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
          const Target& target, const Options& options);

std::string print(const Plan& plan);

}  // namespace ingot::codegen
