#include "ir/eager_layout.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace ingot::ir {
namespace {

// PyTorch's strides, recorded by tests/data/make_eager_strides.py, which describes the format.
constexpr const char* kRecord = "tests/data/eager_strides.txt";

Sizes numbers(const std::string& text, char separator) {
  Sizes result;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) result.push_back(std::stoll(word));
  return result;
}

SizesAndStrides tensor(const std::string& text) {
  const size_t at = text.find('@');
  return {numbers(text.substr(0, at), 'x'), numbers(text.substr(at + 1), ',')};
}

struct Case {
  std::string op, argument;
  std::vector<SizesAndStrides> inputs;
  SizesAndStrides result;
};

Case parse(const std::string& line) {
  Case parsed;
  std::istringstream stream(line);
  stream >> parsed.op >> parsed.argument;
  std::string word = parsed.argument;
  if (parsed.argument == "|") parsed.argument = "";
  if (word != "|") stream >> word;
  while (stream >> word && word != "|") parsed.inputs.push_back(tensor(word));
  stream >> word;
  parsed.result = tensor(word);
  return parsed;
}

Sizes strides_of(const Case& test_case) {
  const auto& [op, argument, inputs, result] = test_case;
  if (op == "pointwise") return pointwise_strides(result.sizes, inputs);
  if (op == "preserve") return preserve_strides(inputs.at(0));
  if (op == "reshape") return reshape_strides(inputs.at(0), numbers(argument, 'x'));
  if (op == "channels_last") return channels_last_strides(result.sizes);
  if (op == "cat") return cat_strides(result.sizes, inputs);
  std::vector<uint32_t> dims;
  for (const int64_t dim : numbers(argument, ',')) dims.push_back(static_cast<uint32_t>(dim));
  return gather_strides(result.sizes, inputs.at(0), dims, std::span(inputs).subspan(1));
}

TEST(EagerLayout, MatchesRecordedStrides) {
  std::ifstream record(kRecord);
  ASSERT_TRUE(record) << "no " << kRecord;
  size_t cases = 0;
  for (std::string line; std::getline(record, line); ++cases) {
    const Case test_case = parse(line);
    EXPECT_EQ(strides_of(test_case), test_case.result.strides) << line;
  }
  EXPECT_GE(cases, 1000u);
}

TEST(EagerLayout, AppliesRulesOpByOp) {
  // (a + b) + c of sizes [2, 1], [1, 3] and [3, 2].t(): PyTorch gives (3, 1).
  const SizesAndStrides a{{2, 1}, {1, 1}}, b{{1, 3}, {3, 1}}, c{{2, 3}, {1, 2}};
  const Sizes sizes{2, 3};
  const SizesAndStrides sum{sizes, pointwise_strides(sizes, std::vector{a, b})};
  EXPECT_EQ(pointwise_strides(sizes, std::vector{sum, c}), (Sizes{3, 1}));
  EXPECT_EQ(pointwise_strides(sizes, std::vector{a, b, c}), (Sizes{1, 2}));
}

TEST(EagerLayout, EvaluatesStepsInOrder) {
  // The steps of cat([x.t() + 1, x.t() + 1]) and of x[None], for x of shape [n, 3]. Step 2 is the number 1.
  HostPool pool;
  const HostId n = pool.size(0, 0), one = pool.integer(1), three = pool.integer(3);
  using Kind = LayoutStep::Kind;
  std::vector<LayoutStep> steps(6);
  steps[0] = {.kind = Kind::Param, .param = 0, .shape = {n, three}};
  steps[1] = {.kind = Kind::View, .inputs = {0}, .shape = {three, n}, .stride_map = {{{1, one}}, {{0, one}}}};
  steps[2] = {.kind = Kind::Contiguous};
  steps[3] = {.kind = Kind::Pointwise, .inputs = {1, 2}, .shape = {three, n}};
  steps[4] = {.kind = Kind::Cat, .inputs = {3, 3}, .shape = {pool.integer(6), n}};
  steps[5] = {
      .kind = Kind::View, .inputs = {0}, .shape = {one, n, three}, .stride_map = {{{0, n}}, {{0, one}}, {{2, one}}}};
  std::vector<HostValue> slots(pool.count());
  evaluate(pool, {.size = [](uint32_t, uint32_t) { return 5; }, .scalar = {}}, slots);
  const std::vector<SizesAndStrides> arguments{{{5, 3}, {3, 1}}};
  const auto tensors = eager_tensors(steps, slots, arguments);
  EXPECT_EQ(tensors[3].strides, (Sizes{1, 3}));
  EXPECT_EQ(tensors[4].strides, (Sizes{5, 1}));
  EXPECT_EQ(tensors[5].strides, (Sizes{15, 3, 1}));  // the last stride is the constant 1
}

TEST(EagerLayout, TellsWhetherAViewExists) {
  const SizesAndStrides matrix{{4, 6}, {6, 1}}, transposed{{6, 4}, {1, 6}}, columns{{4, 3}, {6, 1}},
      single{{1, 4}, {9, 1}};
  EXPECT_TRUE(has_view(matrix, Sizes{24}));
  EXPECT_TRUE(has_view(transposed, Sizes{2, 3, 4}));
  EXPECT_FALSE(has_view(transposed, Sizes{24}));
  EXPECT_FALSE(has_view(columns, Sizes{12}));
  EXPECT_TRUE(has_view(columns, Sizes{2, 2, 3}));
  EXPECT_TRUE(has_view(single, Sizes{2, 2}));
}

TEST(EagerLayout, PadsAChannelsLastImageAndAMatrix) {
  // F.pad of a channels_last image and of a transposed matrix, with and without added elements.
  const SizesAndStrides image{{2, 3, 4, 5}, {60, 1, 15, 3}}, matrix{{3, 2}, {1, 3}};
  EXPECT_EQ(pad_strides(Sizes{2, 3, 4, 6}, image, image), (Sizes{72, 1, 18, 3}));
  EXPECT_EQ(pad_strides(Sizes{3, 4}, matrix, matrix), (Sizes{4, 1}));
  EXPECT_EQ(pad_strides(Sizes{3, 2}, matrix, matrix), (Sizes{1, 3}));
  // Only the order of dims matters in the part that negative padding leaves.
  const SizesAndStrides cropped{{3, 1, 4, 5}, {60, 1, 15, 3}};
  EXPECT_EQ(pad_strides(Sizes{3, 1, 4, 5}, cropped, image), preserve_strides(cropped));
}

}  // namespace
}  // namespace ingot::ir
