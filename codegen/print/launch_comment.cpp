#include "codegen/print/launch_comment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

#include "codegen/print/requirements.h"

namespace ingot::codegen {
namespace {

using Kind = KernelParameter::Kind;

/// "// KIND: a, b, c", in lines of at most 120 characters; nothing without items.
std::string comment_line(std::string_view kind, const std::vector<std::string>& items) {
  constexpr size_t kWidth = 120;
  if (items.empty()) return {};
  std::string text, line = fmt::format("// {}:", kind);
  for (size_t k = 0; k < items.size(); ++k) {
    const std::string item = " " + items[k] + (k + 1 < items.size() ? "," : "");
    if (k > 0 && line.size() + item.size() > kWidth) {
      text += line + "\n";
      line = "//  ";
    }
    line += item;
  }
  return text + line + "\n";
}

/// The layout without the properties that the target's kernels do not distinguish, but with its length_bits.
KernelLayout described_layout(const Target& target, const KernelLayout& layout) {
  KernelLayout described = relevant_to(target, layout);
  described.length_bits = layout.length_bits;
  return described;
}

}  // namespace

/// The launch comment of one kernel.
class LaunchComment {
 public:
  LaunchComment(LaunchComments& file, const Kernel& kernel)
      : file_(file),
        formulas_(file.formulas_),
        kernel_(kernel),
        info_(kernel.launch),
        described_{file.call_.target, file.call_.outline.kernels[info_.outline_kernel],
                   file.call_.geometries[info_.outline_kernel],
                   described_layout(file.call_.target, file.call_.layouts[info_.outline_kernel]),
                   formulas_.kernel(info_.outline_kernel)} {}

  std::string text() {
    name_sizes();
    std::vector<std::string> arguments;
    for (const KernelParameter& parameter : info_.parameters) arguments.push_back(argument(parameter));
    const std::string requirements = requirements_text(), launch = comment_line("launch", launch_fields(arguments));
    std::vector<std::string> definitions = formulas_.take_abbreviated();
    definitions.insert(definitions.end(), where_.begin(), where_.end());
    formulas_.clear_names();
    return comment_line("where", definitions) + requirements + comment_line("scratch", scratch_) + launch;
  }

 private:
  ir::HostPool& pool() { return formulas_.pool; }

  /// The first launch states the op's conditions, and the first launch of a kernel of the outline its sizes.
  std::string requirements_text() {
    Requirements requirements(formulas_, file_.call_.graph, described_);
    if (file_.described_.empty()) requirements.add_conditions(file_.call_.shapes.params);
    requirements.add_tensors(info_.parameters);
    if (file_.described_.insert(info_.outline_kernel).second) requirements.add_sizes();
    std::string text;
    for (const Requirements::Group& group : requirements.groups) text += comment_line("requires", group);
    return text;
  }

  /// Names the formulas of the kernel's parameters that are sizes or strides.
  void name_sizes() {
    for (const KernelParameter& parameter : info_.parameters) {
      const std::optional<ir::HostId> formula = size_argument(parameter, described_.formulas);
      if (!formula || file_.names_.contains(parameter.name) || pool().is_constant(pool().resolve(*formula))) continue;
      where_.push_back(fmt::format("{} = {}", parameter.name, formulas_.print(*formula)));
      formulas_.name(*formula, parameter.name);
    }
  }

  // --- Arguments

  std::string argument(const KernelParameter& parameter) {
    switch (parameter.kind) {
      case Kind::Pointer:
        return formulas_.address(tensor_name(parameter.a), described_.formulas.accesses[parameter.a].offset);
      case Kind::Partials:
        return buffer(fmt::format("partials {} {}", info_.partials_writer, parameter.a), parameter.name,
                      empty(info_.partials[parameter.a], product(info_.partial_count)));
      case Kind::Status:
        return buffer("status", parameter.name, "zeros(i32, 1)");
      case Kind::Scalar:
        return with_type(parameter, formulas_.print(described_.outline.scalars[parameter.a].value));
      default:
        return with_type(parameter, formulas_.text(*size_argument(parameter, described_.formulas)));
    }
  }

  /// CPU: the arguments have no types in the function's declaration.
  std::string with_type(const KernelParameter& parameter, const std::string& text) const {
    return kernel_.target.cuda() ? text : fmt::format("{}({})", ir::short_name(parameter.dtype), text);
  }

  std::string tensor_name(uint32_t a) {
    const AccessUse& use = described_.outline.accesses[a];
    const TensorFormulas& tensor = formulas_.tensor_of(use);
    if (!is_scratch(file_.call_.graph, use)) return tensor.name;
    const bool is_seed = !use.in_workspace && use.kind != AccessUse::Kind::Store;
    if (is_seed) return buffer("seed", "seed", "zeros(i64, 1)");
    return buffer(fmt::format("{} {}", use.in_workspace ? "workspace" : "result", use.tensor), tensor.name,
                  empty(tensor.dtype, formulas_.print(pool().product(tensor.sizes))));
  }

  static std::string empty(ir::DType dtype, const std::string& size) {
    return fmt::format("empty({}, {})", ir::short_name(dtype), size);
  }

  /// The name of a buffer, which the first kernel that needs it declares.
  std::string buffer(const std::string& purpose, const std::string& preferred, const std::string& value) {
    const auto [entry, is_new] = file_.scratch_.try_emplace(purpose);
    if (is_new) {
      entry->second = file_.unused_name(preferred);
      scratch_.push_back(fmt::format("{} = {}", entry->second, value));
    }
    return entry->second;
  }

  // --- The launch

  std::vector<std::string> launch_fields(const std::vector<std::string>& arguments) {
    std::vector<std::string> fields = {"entry=" + info_.entry};
    if (kernel_.target.cuda()) {
      fields.push_back("grid=" + product(info_.grid));
      fields.push_back(fmt::format("block={}", info_.block_threads));
      if (kernel_.cluster_blocks > 1) fields.push_back(fmt::format("cluster={}", kernel_.cluster_blocks));
      if (info_.shared.bytes > 0)
        fields.push_back(fmt::format("shared=max(0, {} - {}) * {}", product(info_.shared.needed), info_.shared.first,
                                     info_.shared.bytes));
    } else {
      fields.push_back("units=" + product(info_.grid));
    }
    for (size_t k = 0; k < arguments.size(); ++k) fields.push_back((k == 0 ? "args=" : "") + arguments[k]);
    return fields;
  }

  /// The product of the factors.
  std::string product(const std::vector<GridFactor>& factors) {
    std::vector<std::string> texts;
    int64_t times = 1;
    for (const GridFactor& factor : factors) {
      times *= factor.times;
      if (factor.axes == 0) continue;
      const std::span extents = std::span(described_.formulas.extents).subspan(factor.first, factor.axes);
      const std::string size = formulas_.text(pool().product(extents));
      texts.push_back(factor.step > 1 ? fmt::format("ceil({} / {})", as_operand(size), factor.step) : size);
    }
    if (times != 1 || texts.empty()) texts.push_back(fmt::to_string(times));
    if (texts.size() > 1)
      for (std::string& text : texts)
        if (!text.starts_with("ceil(")) text = as_operand(text);
    return fmt::format("{}", fmt::join(texts, " * "));
  }

  LaunchComments& file_;
  Formulas& formulas_;
  const Kernel& kernel_;
  const LaunchInfo& info_;
  const DescribedKernel described_;
  std::vector<std::string> where_, scratch_;
};

LaunchComments::LaunchComments(const DescribedCall& call) : call_(call), formulas_(call), obstacle_(call.obstacle) {
  const ir::Graph& graph = call.graph;
  for (uint32_t p = 0; p < graph.params.size(); ++p)
    if (graph.seed != p) names_.insert(graph.params[p].name);
  for (uint32_t r = 0; r < graph.results.size(); ++r) {
    const ir::Result& result = graph.results[r];
    const std::string& name = formulas_.tensors().results[r].name;
    if (result.use == ir::Use::Returned) names_.insert(name);
    if (!obstacle_.empty()) continue;
    if (!result.scatters.empty())
      obstacle_ = fmt::format("scattered values are added to `{}` after the kernels", name);
    else if (result.forwards)
      obstacle_ = fmt::format("the result `{}` is the argument `{}`", name, graph.params[*result.forwards].name);
  }
}

std::string LaunchComments::of_file() const {
  std::string text = call_.compiler_options.empty() ? "" : fmt::format("// options: {}\n", call_.compiler_options);
  if (!obstacle_.empty())
    text += fmt::format("// incomplete: {}\n", obstacle_);
  else if (call_.graph.seed)
    text += "// incomplete: the seed of the random numbers comes from PyTorch's generator\n";
  return text;
}

std::string LaunchComments::above(const Kernel& kernel) {
  return obstacle_.empty() ? LaunchComment(*this, kernel).text() : "";
}

std::string LaunchComments::unused_name(const std::string& preferred) {
  std::string name = preferred;
  for (int number = 1; !names_.insert(name).second; ++number) name = fmt::format("{}_{}", preferred, number);
  return name;
}

}  // namespace ingot::codegen
