#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/error.h"
#include "runtime/api/op.h"

namespace ingot::testing_support {

inline constexpr const char* kReluAdd = "def relu_add(x, y, bias: float):\n    return relu(x) + y + bias\n";

inline constexpr const char* kGiou = R"(
def giou(pred, target):
    target = target.float()
    px1, py1, px2, py2 = pred.unbind(-1)
    tx1, ty1, tx2, ty2 = target.unbind(-1)
    w = (torch.min(px2, tx2) - torch.max(px1, tx1)).clamp(min=0)
    h = (torch.min(py2, ty2) - torch.max(py1, ty1)).clamp(min=0)
    inter = w * h
    union = (px2 - px1) * (py2 - py1) + (tx2 - tx1) * (ty2 - ty1) - inter
    hull = (torch.max(px2, tx2) - torch.min(px1, tx1)) * (torch.max(py2, ty2) - torch.min(py1, ty1))
    return inter / union - (hull - union) / hull
)";

inline constexpr const char* kDenoise = R"(
def denoise(eps, sample, noise, table, t):
    x0 = clamp((sample - table[0, t] * eps) * table[1, t], -1, 1)
    return table[2, t] * x0 + table[3, t] * sample + table[4, t] * noise
)";

/// The growth of the counters while `body` ran.
inline Counters growth(const std::function<void()>& body) {
  const Counters before = counters();
  body();
  return counters().since(before);
}

/// Returns the whole text of the error that `body` throws; "no error" if it throws none.
inline std::string error_of(const std::function<void()>& body, Fault fault = Fault::Author) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.fault()), static_cast<int>(fault)) << error.what();
    return error.what();
  } catch (const std::exception& error) {
    return std::string("not an ingot::Error: ") + error.what();
  }
  return "no error";
}

/// Expects equal dtypes, sizes, strides and values. NaN equals NaN, and -0 equals 0.
inline void expect_same(const at::Tensor& actual, const at::Tensor& expected, const std::string& context = {}) {
  ASSERT_EQ(actual.scalar_type(), expected.scalar_type()) << context;
  ASSERT_EQ(actual.sizes(), expected.sizes()) << context;
  EXPECT_EQ(actual.strides(), expected.strides()) << context;
  EXPECT_TRUE(at::allclose(actual.to(at::kDouble), expected.to(at::kDouble), 0, 0, true)) << context << "\n"
                                                                                          << actual << "\n"
                                                                                          << expected;
}

}  // namespace ingot::testing_support
