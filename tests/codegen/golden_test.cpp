// Golden files: the source that is generated for a corpus of ops, signatures and layouts. A change of code generation
// is therefore reviewed as a change of generated code. Only script/rebase-goldens writes the golden files.
//
// tests/golden/CASE/op.py is the op; for each layout of the table below there are LAYOUT.cuda.cu and LAYOUT.cpu.cpp.
// They show what a call runs, with eager's strides of the results, and how it is launched; instead of the prelude, they
// list the names that they use from it. ir.txt, schedule.txt and kernel.txt belong to the first layout on CUDA.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "codegen/print/header_comment.h"
#include "codegen/print/launch_comment.h"
#include "frontend/frontend.h"
#include "tests/codegen/op_call.h"

namespace ingot::codegen {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = "tests/golden";

struct GoldenCase {
  std::string_view op, layout;
  std::vector<std::string_view> arguments;  ///< one per parameter (op_call.h)
  bool check_indices = false;
  /// A digit per parameter: the case is the op's gradient with respect to the parameters marked 1. The last argument is
  /// then the gradient with respect to its result.
  std::string_view gradient = {};
  bool has_value = false;  ///< the op returns its value together with these gradients
};

const std::vector<GoldenCase>& table() {
  static const std::vector<GoldenCase> rows = {
      {"relu_add", "contiguous", {"f32 1000x1000", "f32 1000x1000", "float 0.5"}},
      {"relu_add", "row", {"f32 1000x1000", "f32 1000", "float 0.5"}},
      {"relu_add", "column", {"f32 1000x1000", "f32 1000x1", "float 0.5"}},
      {"relu_add", "odd_column", {"f32 1000x1001", "f32 1000x1", "float 0.5"}},
      {"relu_add", "transposed", {"f32 1000x1000 / 1x1000", "f32 1000x1000", "float 0.5"}},
      {"relu_add", "short_row", {"f32 1000x3", "f32 3", "float 0.5"}},
      {"relu_add", "short_column", {"f32 1000x3", "f32 1000x1", "float 0.5"}},
      {"relu_add", "short_transposed", {"f32 4x100x3 / 300x1x100", "f32 4x100x3", "float 0.5"}},
      {"relu_add", "padded_rows", {"f32 1000x1000 / 1024x1", "f32 1000x1000", "float 0.5"}},
      {"relu_add", "misaligned", {"f32 1000000 @ 4", "f32 1000000", "float 0.5"}},
      {"relu_add", "huge", {"f32 3000000000", "f32 3000000000", "float 0.5"}},
      {"relu_add", "scalar_tensors", {"f32", "f32", "float 0.5"}},
      {"mul", "f32", {"f32 1000", "f32 1000"}},
      {"mul", "f64", {"f64 1000", "f64 1000"}},
      {"mul", "i64", {"i64 1000", "i64 1000"}},
      {"mul", "u8_and_f32", {"u8 1000", "f32 1000"}},
      {"mul", "bool", {"bool 1000", "bool 1000"}},
      {"giou", "contiguous", {"f32 1000x4", "f32 1000x4"}},
      {"giou", "f64", {"f64 1000x4", "f64 1000x4"}},
      {"giou", "f16", {"f16 1000x4", "f16 1000x4"}},
      {"giou", "transposed", {"f32 1000x4 / 1x1000", "f32 1000x4"}},
      {"denoise", "one_step", {"f32 8x3x64x64", "f32 8x3x64x64", "f32 8x3x64x64", "f32 5x1000", "i64"}},
      {"denoise", "a_step_each", {"f32 8x3x64x64", "f32 8x3x64x64", "f32 8x3x64x64", "f32 5x1000", "i64 8x1x1x1"}},
      {"denoise", "checked", {"f32 8x3x64x64", "f32 8x3x64x64", "f32 8x3x64x64", "f32 5x1000", "i64 8x1x1x1"}, true},
      {"half", "f16", {"f16 1000x64", "f16 64"}},
      {"half", "bf16", {"bf16 1000x64", "bf16 64"}},
      {"integers", "i32", {"i32 1000", "i32 1000"}},
      {"integers", "u8", {"u8 1000", "u8 1000"}},
      {"activations", "f32", {"f32 1000", "f32 1000"}},
      {"boxes", "contiguous", {"f32 1000x4"}},
      {"boxes", "f64", {"f64 1000x4"}},
      {"comparisons", "f32", {"f32 1000", "i64 1000", "bool 1000"}},
      {"gather", "f16", {"f16 50257x768", "i64 8x128", "f16 128x768"}},
      {"lazy_where", "f32", {"f32 1000x4", "f32 1000x4"}},
      {"lazy_where", "padded", {"f32 30x8x4 / 36x4x1", "f32 30x8x4"}},
      {"masked_gather", "f32", {"f32 100", "i64 1000", "i64 1000", "f32 1000"}},
      {"positions", "f32", {"f32 100x64"}},
      {"roll", "f32", {"f32 100x64"}},
      {"pad", "f32", {"f32 100x64"}},
      {"tril", "f32", {"f32 8x100x64"}},
      {"windows", "f32", {"f32 100x64"}},
      {"dropout", "f32", {"f32 8x100x64", "f32 8x100x64", "float 0.1"}},
      {"dropout", "bf16_row", {"bf16 100x64", "bf16 64", "float 0.1"}},
      {"dropout", "transposed", {"f32 100x64 / 1x100", "f32 100x64 / 1x100", "float 0.1"}},
      {"reserved_names", "f32", {"f32 1000", "f32 1000", "f32 1000", "f32 1000", "float 0.5"}},
      {"scalars", "f32", {"f32 1000", "f32 1000", "float 0.5", "int 10", "bool 0"}},
      {"statistics", "u8", {"u8 8x3x64x64", "f32 3", "f32 3"}},
      {"casts", "f32", {"f32 1000", "f32 1", "float 128"}},
      {"softmax", "rows", {"f32 1000x4096"}},
      {"softmax", "odd", {"f32 1000x1023"}},
      {"softmax", "short", {"bf16 1000x32"}},
      {"softmax", "batches", {"f32 10000x75"}},
      {"softmax", "cluster", {"f32 10x100000"}},
      {"softmax", "long", {"f32 10x300000"}},
      {"softmax", "shared", {"f32 1000x40000"}},
      {"softmax", "transposed", {"f32 1000x500 / 1x1000"}},
      {"softmax", "transposed_half", {"f16 4096x512 / 1x4096"}},
      {"squared_error", "f32", {"f32 1000x1000", "f32 1000x1000"}},
      {"squared_error", "f16", {"f16 1000", "f16 1000"}},
      {"column_sum", "f32", {"f32 10000x512", "f32 10000x512"}},
      {"largest", "f32", {"f32 100x1000"}},
      {"largest", "ragged", {"bf16 4000x1001"}},
      {"giou_loss", "f32", {"f32 100000x4", "f32 100000x4"}},
      {"standard_scores", "alone", {"f32 100x70"}},
      {"standard_scores", "long", {"f32 1000x70"}},
      {"centred", "f32", {"f32 1000x512", "f32 1000x512"}},
      {"normalizer", "short", {"bf16 1000x200"}},
      {"normalizer", "odd", {"bf16 1000x50257"}},
      {"bias_gelu_backward", "bf16", {"bf16 10000x512", "bf16 512", "bf16 10000x512", "bf16 10000x512"}, false, "111"},
      {"swiglu_backward", "bf16", {"bf16 1000x1024", "bf16 1000x512"}, false, "1"},
      {"giou_loss_backward", "f32", {"f32 100000x4", "f32 100000x4", "f32"}, false, "10"},
      {"giou_loss_and_grad", "f32", {"f32 100000x4", "f32 100000x4"}, false, "10", true},
      {"softmax_backward", "rows", {"f32 1000x4096", "f32 1000x4096"}, false, "1"},
      {"layer_norm_backward", "f32", {"f32 16384x4096", "f32 4096", "f32 4096", "f32 16384x4096"}, false, "111"},
      {"cross_entropy_backward", "bf16", {"bf16 1000x5000", "i64 1000", "bf16"}, false, "10"},
  };
  return rows;
}

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The source of a call, with the names of the prelude's sections instead of their text.
std::string source_of(const ir::Graph& graph, const Prepared& prepared, std::span<const ir::SizesAndStrides> params,
                      const Target& target, const Options& options, std::string_view op_source) {
  const DescribedCall call{.graph = graph,
                           .outline = prepared.outline,
                           .layouts = prepared.layouts,
                           .target = target,
                           .host = prepared.host,
                           .shapes = {params, prepared.results, prepared.workspaces},
                           .geometries = prepared.geometries};
  LaunchComments comments(call);
  const std::string functions =
      generate_functions(prepared.graph, prepared.outline, prepared.layouts, target, options, "", &comments).text;
  std::string names;
  for (const std::string& name : prelude_names(target.kind, functions)) names += " " + name;
  return comment_out(op_source) + (names.empty() ? "" : "//\n// prelude:" + names + "\n") + "\n" + functions;
}

/// The expected files of a row of the table: path → contents.
std::map<fs::path, std::string> texts_of(const GoldenCase& golden, bool first) {
  const fs::path folder = kRoot / golden.op;
  const std::string text = read(folder / "op.py");
  auto definition = frontend::define(text, "op.py");
  if (!golden.gradient.empty()) {
    std::vector<bool> requires_grad;
    for (const char mark : golden.gradient) requires_grad.push_back(mark == '1');
    definition = golden.has_value
                     ? frontend::value_and_grad(definition, std::move(requires_grad), /*has_aux=*/false)
                     : frontend::backward(definition, std::move(requires_grad), 1, {}, /*returns_arguments=*/true);
  }
  std::map<fs::path, std::string> texts;
  for (const Target& target : {kCuda, kCpu}) {
    const bool is_cuda = target.kind == Target::Kind::Cuda;
    OpCall call(golden.arguments, is_cuda ? frontend::Device::Cuda : frontend::Device::Cpu);
    ir::Graph graph = frontend::lower(*definition, call.signature, call.symbol_values());
    ir::verify(graph);
    graph = ir::contract(ir::simplify(ir::inline_calls(graph)));
    if (definition->may_return_arguments()) graph = ir::forward_params(std::move(graph));
    graph = ir::align_rows(graph);
    ir::verify(graph);
    const Prepared prepared = prepare(graph, call.tensors, false, {}, /*on_cuda=*/is_cuda);
    const Options options{golden.check_indices, false};
    call.tensors.params.resize(graph.params.size());  // a random seed is a parameter without dims
    texts[folder / (std::string(golden.layout) + (is_cuda ? ".cuda.cu" : ".cpu.cpp"))] =
        source_of(graph, prepared, call.tensors.params, target, options, definition->source_text());
    if (!first || !is_cuda) continue;
    texts[folder / "ir.txt"] = print(graph);
    texts[folder / "schedule.txt"] = schedule_text(prepared.graph, prepared.outline, prepared.layouts, target, options);
    texts[folder / "kernel.txt"] = kernel_text(prepared.graph, prepared.outline, prepared.layouts, target, options);
  }
  return texts;
}

TEST(Golden, MatchesTheGoldenFiles) {
  const bool rebase = std::getenv("INGOT_REBASE_GOLDENS") != nullptr;
  std::set<fs::path> expected;
  std::set<std::string_view> seen_ops;
  for (const GoldenCase& golden : table()) {
    const bool first = seen_ops.insert(golden.op).second;
    if (first) expected.insert(kRoot / golden.op / "op.py");
    for (const auto& [path, text] : texts_of(golden, first)) {
      expected.insert(path);
      if (rebase) std::ofstream(path, std::ios::binary) << text;
      ASSERT_TRUE(fs::exists(path)) << path << " is missing: script/rebase-goldens writes it";
      EXPECT_EQ(read(path), text) << path << " has changed: script/rebase-goldens writes it anew";
    }
  }
  for (const auto& entry : fs::recursive_directory_iterator(kRoot)) {
    const bool is_expected = !entry.is_regular_file() || expected.contains(entry.path());
    EXPECT_TRUE(is_expected) << entry.path() << " belongs to no row of the table";
  }
}

TEST(Golden, IsDeterministic) {
  for (const GoldenCase& golden : table())
    EXPECT_EQ(texts_of(golden, true), texts_of(golden, true)) << golden.op << " " << golden.layout;
}

}  // namespace
}  // namespace ingot::codegen
