#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "frontend/frontend.h"
#include "runtime/api/op_state.h"
#include "runtime/cache/record.h"
#include "runtime/records/serialize.h"
#include "tests/runtime/support.h"
#include "tests/scratch.h"

// The records on disk: a runtime that finds them lowers, plans and compiles nothing. Tested with two runtimes of one
// process, and with two processes.

namespace ingot {
namespace {

using namespace testing_support;
using runtime::Scratch;

constexpr const char* kSources[] = {kReluAdd,
                                    "def f(x, n: int):\n    for i in range(n):\n        x = x * x + i\n    return x\n",
                                    "def f(x):\n    return x[:, 0] * x[:, 1]\n"};

/// Calls the op `source` in a new runtime on the folder, and returns the runtime's counts.
nlohmann::json call_in(const std::filesystem::path& folder, const std::string& source,
                       std::initializer_list<Argument> arguments, at::Tensor& result) {
  runtime::Runtime runtime{runtime::Store(folder)};
  const OpState op(frontend::define(std::make_shared<const Source>("op.py", source)), {}, runtime);
  const std::vector<Argument> list(arguments);
  Results results;
  op.call(list, results);
  result = results[0];
  const runtime::AtomicCounters& counters = runtime.counters;
  return {{"lowerings", counters.lowerings.load()},
          {"plans", counters.plans.load()},
          {"compiles", counters.compiles.load()},
          {"disk_hits", counters.disk_hits.load()}};
}

TEST(Disk, LowersAndCompilesNothingOnAHit) {
  const Scratch scratch;
  const at::Tensor x = at::rand({40, 4}), y = at::rand({40, 4});
  at::Tensor first, second;
  const auto check_cold_and_warm = [&](const char* source, std::initializer_list<Argument> arguments) {
    const nlohmann::json cold = call_in(scratch.path(), source, arguments, first);
    EXPECT_EQ(cold["lowerings"], 1) << source;
    EXPECT_EQ(cold["compiles"], 1) << source;
    const nlohmann::json warm = call_in(scratch.path(), source, arguments, second);
    EXPECT_EQ(warm["lowerings"], 0) << source;
    EXPECT_EQ(warm["plans"], 0) << source;
    EXPECT_EQ(warm["compiles"], 0) << source;
    EXPECT_GE(warm["disk_hits"].get<int>(), 2) << source;
    expect_same(second, first, source);
  };
  check_cold_and_warm(kSources[0], {x, y, 0.5});
  check_cold_and_warm(kSources[1], {x, 3});
  check_cold_and_warm(kSources[2], {x});
  const at::Tensor table = at::rand({5, 3, 4}).permute({2, 0, 1}), i = at::tensor({3, 0, 0, 2}).view({2, 2}).t();
  check_cold_and_warm("def f(table, i):\n    return table[i]\n", {table, i});
  check_cold_and_warm("def f(table, i):\n    return table[:, i] + 1\n", {table, i});
}

TEST(Disk, MakesOneProgramPerStaticValue) {
  const Scratch scratch;
  const at::Tensor x = at::rand({40, 4});
  at::Tensor result;
  call_in(scratch.path(), kSources[1], {x, 2}, result);
  const nlohmann::json other = call_in(scratch.path(), kSources[1], {x, 1}, result);
  EXPECT_EQ(other["lowerings"], 1);
  expect_same(result, x * x + 0);
}

TEST(Disk, CompilesANewLayoutOfAKnownProgramOnce) {
  const Scratch scratch;
  const at::Tensor x = at::rand({40, 4}), y = at::rand({4, 40}).t();
  at::Tensor result;
  call_in(scratch.path(), kReluAdd, {x, x, 1.0}, result);
  const nlohmann::json counts = call_in(scratch.path(), kReluAdd, {x, y, 1.0}, result);
  EXPECT_EQ(counts["compiles"], 1);
  EXPECT_EQ(counts["disk_hits"], 1);
  expect_same(result, at::relu(x) + y + 1.0);
}

/// C++ ops of one name cannot be distinguished, so a gradient must not come from a record of another op.
TEST(Disk, DistinguishesGradientsOfCppOps) {
  const Scratch scratch;
  const at::Tensor x = at::rand({40, 4}), grad = at::rand({40, 4});
  const auto gradient_of = [&](auto function) {
    runtime::Runtime runtime{runtime::Store(scratch.path())};
    const auto op = std::make_shared<const OpState>(define("f", function), OpOptions{}, runtime);
    const Argument arguments[] = {x, grad};
    Results results;
    op->backward({true}, 1)->call(arguments, results);
    return results[0];
  };
  expect_same(gradient_of([](Value v) { return v * 2.0; }), grad * 2.0);
  expect_same(gradient_of([](Value v) { return v * 3.0; }), grad * 3.0);
}

TEST(Disk, KeepsErrorLocationsOfKnownPrograms) {
  const Scratch scratch;
  const at::Tensor x = at::rand({40, 4}), y = at::rand({41, 4});
  at::Tensor result;
  call_in(scratch.path(), kReluAdd, {x, x, 1.0}, result);
  const std::string text = error_of([&] { call_in(scratch.path(), kReluAdd, {x, y, 1.0}, result); });
  EXPECT_NE(text.find("op.py:2:12"), std::string::npos) << text;
  EXPECT_NE(text.find("(40)"), std::string::npos) << text;
}

TEST(Disk, TreatsDamagedRecordsAsMisses) {
  const Scratch scratch;
  const at::Tensor x = at::rand({40, 4});
  at::Tensor result;
  call_in(scratch.path(), kReluAdd, {x, x, 1.0}, result);
  for (const auto& file : std::filesystem::directory_iterator(scratch.path()))
    if (file.is_regular_file()) std::filesystem::resize_file(file, file.file_size() / 2);
  const nlohmann::json counts = call_in(scratch.path(), kReluAdd, {x, x, 1.0}, result);
  EXPECT_EQ(counts["compiles"], 1);
  expect_same(result, at::relu(x) + x + 1.0);
}

/// Replaces the payload of each record of a kind by `transform(payload)`, with a valid checksum. The offsets are in
/// record.h.
void replace_payloads(const std::filesystem::path& folder, std::string_view kind,
                      const std::function<std::string(std::string)>& transform) {
  size_t replaced = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (!file.path().filename().string().starts_with(kind)) continue;
    const std::string bytes = runtime::read_file(file.path());
    uint64_t key_length = 0;
    std::memcpy(&key_length, &bytes[16], sizeof(key_length));
    const std::string key = bytes.substr(64, key_length), payload = bytes.substr(64 + key_length);
    std::ofstream(file.path(), std::ios::binary) << runtime::encode_record(key, transform(payload));
    ++replaced;
  }
  EXPECT_GT(replaced, 0u) << kind;
}

TEST(Disk, ReplacesRecordsThatDoNotLoad) {
  const Scratch scratch;
  const at::Tensor x = at::rand({40, 4});
  at::Tensor result;
  const auto call = [&] { return call_in(scratch.path(), kReluAdd, {x, x, 1.0}, result); };
  // Damages the records of a kind. The next call must repeat the step that `counter` counts, and the call after it must
  // find a good record again.
  const auto expect_one_recovery = [&](std::string_view kind, std::string_view counter, const auto& damage) {
    replace_payloads(scratch.path(), kind, damage);
    EXPECT_EQ(call()[counter], 1) << kind;
    expect_same(result, at::relu(x) + x + 1.0);
    EXPECT_EQ(call()[counter], 0) << kind;
  };
  call();
  const auto other_bytes = [](const std::string&) { return std::string("no CBOR"); };
  const auto no_function = [](const std::string& payload) {
    runtime::KernelSetRecord record = runtime::from_bytes<runtime::KernelSetRecord>(payload).value();
    record.kernels[0].entry = "another";
    return runtime::to_bytes(record);
  };
  expect_one_recovery("program", "lowerings", other_bytes);
  expect_one_recovery("program", "lowerings",
                      [](const std::string&) { return runtime::to_bytes(runtime::ProgramRecord{}); });
  expect_one_recovery("kernel", "plans", other_bytes);
  expect_one_recovery("kernel", "plans", no_function);
  expect_one_recovery("library", "compiles", other_bytes);
}

// Two processes. The child is this program: if the variable is set, the program makes one call, reports, and exits.

constexpr const char* kReport = "INGOT_TEST_CHILD_REPORT";

class Child : public testing::Environment {
  void SetUp() override {
    const char* report = std::getenv(kReport);
    if (report == nullptr) return;
    const at::Tensor x = at::arange(1000).to(at::kFloat);
    const bool is_correct = at::equal(Op(kReluAdd)(x, x, 0.5), at::relu(x) + x + 0.5);
    const Counters counts = counters();
    std::ifstream maps("/proc/self/maps");
    const std::string mapped(std::istreambuf_iterator<char>(maps), {});
    std::ofstream(report) << nlohmann::json{{"is_correct", is_correct},
                                            {"lowerings", counts.lowerings},
                                            {"compiles", counts.compiles},
                                            {"disk_hits", counts.disk_hits},
                                            {"nvrtc", mapped.find("libnvrtc") != std::string::npos}};
    std::_Exit(0);
  }
};
[[maybe_unused]] testing::Environment* const child = testing::AddGlobalTestEnvironment(new Child);

nlohmann::json run_child(const std::filesystem::path& folder) {
  const std::filesystem::path report = folder / "report.json";
  const std::string variables[] = {"INGOT_CACHE_DIR=" + (folder / "cache").string(),
                                   std::string(kReport) + "=" + report.string()};
  std::vector<char*> environment;
  for (char** at = environ; *at != nullptr; ++at)
    if (!std::string_view(*at).starts_with("INGOT_")) environment.push_back(*at);
  for (const std::string& variable : variables) environment.push_back(const_cast<char*>(variable.c_str()));
  environment.push_back(nullptr);
  char program[] = "/proc/self/exe";
  char* arguments[] = {program, nullptr};
  pid_t process = 0;
  if (::posix_spawn(&process, program, nullptr, nullptr, arguments, environment.data()) != 0) return {};
  int status = 0;
  ::waitpid(process, &status, 0);
  return status == 0 ? nlohmann::json::parse(runtime::read_file(report)) : nlohmann::json{{"status", status}};
}

TEST(Disk, CompilesNothingInASecondProcess) {
  const Scratch scratch;
  const nlohmann::json first = run_child(scratch.path());
  ASSERT_TRUE(first.value("is_correct", false)) << first;
  EXPECT_EQ(first["lowerings"], 1);
  EXPECT_EQ(first["compiles"], 1);
  const nlohmann::json second = run_child(scratch.path());
  ASSERT_TRUE(second.value("is_correct", false)) << second;
  EXPECT_EQ(second["lowerings"], 0);
  EXPECT_EQ(second["compiles"], 0);
  EXPECT_GE(second["disk_hits"], 2);
  EXPECT_FALSE(second["nvrtc"]);
}

}  // namespace
}  // namespace ingot
