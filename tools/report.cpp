#include "tools/report.h"

#include <ATen/ATen.h>

#include <cstdio>

#include "base/text.h"
#include "runtime/call/dtypes.h"

namespace ingot::tools {

namespace {

using nlohmann::ordered_json;

/// "1.23 ms", "45.6 µs".
std::string time_text(double microseconds) {
  char buffer[32];
  if (microseconds >= 1e6)
    std::snprintf(buffer, sizeof buffer, "%.3g s", microseconds / 1e6);
  else if (microseconds >= 1e3)
    std::snprintf(buffer, sizeof buffer, "%.3g ms", microseconds / 1e3);
  else
    std::snprintf(buffer, sizeof buffer, "%.3g µs", microseconds);
  return buffer;
}

double gigabytes_per_second(int64_t bytes, double microseconds) {
  return microseconds > 0 ? static_cast<double>(bytes) / (microseconds * 1e3) : 0;
}

/// min, max and mean, in float64; empty for an empty tensor.
std::optional<std::array<double, 3>> summary(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return std::nullopt;
  at::Tensor values = tensor.to(at::kDouble);
  return std::array{values.min().item<double>(), values.max().item<double>(), values.mean().item<double>()};
}

std::string summary_text(const at::Tensor& tensor) {
  auto numbers = summary(tensor);
  if (!numbers) return describe(tensor) + "  empty";
  char buffer[96];
  std::snprintf(buffer, sizeof buffer, "  min %.6g  max %.6g  mean %.6g", (*numbers)[0], (*numbers)[1], (*numbers)[2]);
  return describe(tensor) + buffer;
}

/// The command that prints the kernel.
std::string emit_command(const Report& report) {
  const BoundOp& bound = report.bound;
  std::string text = "ingot emit " + bound.location;
  for (size_t i = 0; i < bound.values.size(); ++i) {
    if (std::holds_alternative<std::monostate>(bound.values[i])) continue;
    std::string value = describe(bound.values[i]);
    std::erase(value, ' ');
    text += " " + bound.op.parameters()[i].name + "=" + value.substr(0, value.find("strides"));
  }
  return text + " --device " + (report.device.is_cpu() ? "cpu" : "cuda");
}

std::string verdict_text(const nlohmann::json& verdict) {
  std::string message = verdict.at("message").get<std::string>();
  return (verdict.at("ok").get<bool>() ? "as eager PyTorch: " : "MISMATCH: ") + message;
}

void print_timing(const Report& report) {
  std::string where = report.device.is_cpu()
                          ? std::to_string(report.threads) + (report.threads == 1 ? " thread" : " threads")
                          : report.device.str();
  std::printf("time     ingot %s (%.1f GB/s)", time_text(report.ingot_us).c_str(),
              gigabytes_per_second(report.bytes, report.ingot_us));
  if (report.verdict && report.verdict->contains("eager_us")) {
    double eager = report.verdict->at("eager_us").get<double>();
    std::printf(", eager %s, %.2f times as fast", time_text(eager).c_str(), eager / report.ingot_us);
  }
  std::printf("; %s, medians\n", where.c_str());
}

}  // namespace

void print_text(const Report& report) {
  std::printf("op       %s\n", report.bound.op.name().c_str());
  std::printf("with     %s\n", report.bound.describe().c_str());
  for (size_t i = 0; i < report.results.size(); ++i)
    std::printf("%s %s\n", i == 0 ? "result  " : "        ", summary_text(report.results[i]).c_str());
  std::printf("check    %s\n", report.verdict ? verdict_text(*report.verdict).c_str() : "skipped (--no-check)");
  print_timing(report);
  const Counters& c = report.first_call;
  std::printf("first    %llu compiled, %llu from disk, %llu launched, %llu allocated\n",
              static_cast<unsigned long long>(c.compiles), static_cast<unsigned long long>(c.disk_hits),
              static_cast<unsigned long long>(c.launches), static_cast<unsigned long long>(c.allocations));
  std::printf("kernel   %s\n", emit_command(report).c_str());
}

void print_json(const Report& report) {
  ordered_json arguments = ordered_json::object(), results = ordered_json::array();
  for (size_t i = 0; i < report.bound.values.size(); ++i)
    arguments[report.bound.op.parameters()[i].name] = describe(report.bound.values[i]);
  for (const at::Tensor& tensor : report.results) {
    ordered_json result = {{"shape", tensor.sizes().vec()},
                           {"strides", tensor.strides().vec()},
                           {"dtype", ir::name_of(*runtime::dtype_of(tensor.scalar_type()))}};
    if (auto numbers = summary(tensor))
      result["min"] = (*numbers)[0], result["max"] = (*numbers)[1], result["mean"] = (*numbers)[2];
    results.push_back(result);
  }
  const Counters& c = report.first_call;
  ordered_json out = {{"op", report.bound.op.name()},
                      {"device", report.device.str()},
                      {"arguments", arguments},
                      {"results", results},
                      {"check", report.verdict ? ordered_json(*report.verdict) : ordered_json()},
                      {"time",
                       {{"ingot_us", report.ingot_us},
                        {"gigabytes_per_second", gigabytes_per_second(report.bytes, report.ingot_us)},
                        {"threads", report.threads}}},
                      {"first_call",
                       {{"lowerings", c.lowerings},
                        {"plans", c.plans},
                        {"compiles", c.compiles},
                        {"disk_hits", c.disk_hits},
                        {"launches", c.launches},
                        {"allocations", c.allocations},
                        {"loads", c.loads},
                        {"eager_fallbacks", c.eager_fallbacks}}}};
  std::printf("%s\n", out.dump(2).c_str());
}

}  // namespace ingot::tools
