#include "tests/frontend/tensor_testing.h"

// Memory formats and the layout steps that they give.

namespace ingot::frontend {
namespace {

TEST(TensorLayouts, RecordsTheMemoryFormatOfTheResult) {
  using Kind = ir::LayoutStep::Kind;
  const auto kind = [](const std::string& text) {
    const ir::Graph graph = LoweringCase{"f32:2x3x4x5"}.lower(text);
    return graph.eager_layouts[graph.results[0].layout].kind;
  };
  for (const char* text :
       {"x.contiguous(memory_format=torch.channels_last)", "x.half(memory_format=torch.channels_last)",
        "x.clone(memory_format=torch.channels_last)", "x.to(memory_format=torch.channels_last)",
        "torch.zeros_like(x, memory_format=torch.channels_last)"}) {
    EXPECT_EQ(kind(text), Kind::ChannelsLast) << text;
  }
  EXPECT_EQ(kind("x.clone(memory_format=torch.contiguous_format)"), Kind::Contiguous);
  EXPECT_EQ(kind("x.clone(memory_format=torch.preserve_format)"), Kind::Preserve);
  EXPECT_NE(rejection_message("x.clone(memory_format=torch.channels_last)", {"f32:3x4x5"})
                .find("required rank 4 tensor to use channels_last format"),
            std::string::npos);
  EXPECT_NE(
      rejection_message("x.contiguous(memory_format=torch.preserve_format)", {"f32:3"}).find("preserve memory format"),
      std::string::npos);
}

}  // namespace
}  // namespace ingot::frontend
