#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "runtime/compile/compiler.h"
#include "runtime/compile/file_identity.h"
#include "runtime/compile/shared_object.h"
#include "tests/compile/testing.h"

namespace ingot::runtime {
namespace {

namespace fs = std::filesystem;

std::string returns(int number) { return "extern \"C\" int number() { return " + std::to_string(number) + "; }\n"; }

int call(const SharedObject& object) { return object.function<int()>("number")(); }

/// Writes a fake compiler as a shell script.
fs::path script(const Scratch& scratch, const std::string& text) {
  const fs::path path = scratch.path() / "compiler";
  write_file(path, "#!/bin/sh\n" + text + "\n");
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

TEST(HostCompiler, CompilesCallableFunctions) {
  const SharedObject object(HostCompiler::compile(returns(42), "number", false), "number");
  EXPECT_EQ(call(object), 42);
}

TEST(HostCompiler, RoundsEveryOperationUnlessFast) {
  const char* source =
      "extern \"C\" float fused(float a, float b, float c) { return a * b + c; }\n"
      "extern \"C\" float there_and_back(float a, float b) { return (a + b) - a; }\n"
      "extern \"C\" bool is_nan(float x) { return x != x; }\n";
  const SharedObject exact(HostCompiler::compile(source, "rounding", false), "rounding");
  const SharedObject fast(HostCompiler::compile(source, "rounding", true), "rounding");
  // (1 + 2^-12)² = 1 + 2^-11 + 2^-24, whose last term is lost unless the product and the sum are fused.
  const float a = 1.0f + 0x1p-12f, c = -(1.0f + 0x1p-11f);
  EXPECT_EQ(exact.function<float(float, float, float)>("fused")(a, a, c), 0.0f);
  EXPECT_EQ(exact.function<float(float, float)>("there_and_back")(1e9f, 1.0f), 0.0f);
  EXPECT_EQ(fast.function<float(float, float)>("there_and_back")(1e9f, 1.0f), 1.0f);
  for (const SharedObject* object : {&exact, &fast})
    EXPECT_TRUE(object->function<bool(float)>("is_nan")(__builtin_nanf("")));
  volatile float denormal = 0x1p-140f;
  EXPECT_GT(denormal * 0.5f, 0.0f) << "a library that was loaded turned denormals off";
}

TEST(HostCompiler, CompilesForeignProgramsWithTheirOptions) {
  const std::vector<std::string> options = {"-O1", "-DANSWER=41 + 1"};
  const SharedObject object(HostCompiler::compile("extern \"C\" int number() { return ANSWER; }\n", "number", options),
                            "number");
  EXPECT_EQ(call(object), 42);
}

TEST(HostCompiler, ShowsTheLogAndTheNumberedSource) {
  const std::string text =
      environment_error([] { HostCompiler::compile("int good;\nint bad = unknown_name;\n", "relu/add.cpp", false); });
  EXPECT_NE(text.find("the C++ compiler failed to compile relu/add.cpp"), std::string::npos) << text;
  EXPECT_NE(text.find("exited with 1"), std::string::npos) << text;
  EXPECT_NE(text.find("relu_add.cpp:2:11: error: "), std::string::npos) << text;
  EXPECT_NE(text.find(numbered("int good;\nint bad = unknown_name;\n").substr(0, 20)), std::string::npos) << text;
}

TEST(HostCompiler, CompilesInSeveralThreads) {
  std::vector<int> results(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&results, i] {
      const SharedObject object(HostCompiler::compile(returns(i * i), "number", false), "number");
      results[static_cast<size_t>(i)] = call(object);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, (std::vector<int>{0, 1, 4, 9}));
}

TEST(HostCompiler, LeavesNoTemporaryFiles) {
  const Scratch scratch;
  const char* before = std::getenv("TMPDIR");
  const std::string saved = before ? before : "";
  ::setenv("TMPDIR", scratch.path().c_str(), 1);
  HostCompiler::compile(returns(1), "number", false);
  environment_error([] { HostCompiler::compile("broken", "number", false); });
  saved.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", saved.c_str(), 1);
  EXPECT_EQ(names_in(scratch.path()), std::vector<std::string>{});
}

TEST(HostCompiler, CompilesIfTheProcessIgnoresSigchld) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  EXPECT_NO_THROW(HostCompiler::compile(returns(1), "number", false));
  const std::string text = environment_error([] { HostCompiler::compile("broken", "number", false); });
  EXPECT_NE(text.find("error: "), std::string::npos) << text;
  ::signal(SIGCHLD, before);
}

TEST(HostCompiler, UsesAnotherFolderOnAFullDisk) {
  const Scratch scratch;
  const std::string answer = in_child([&]() -> std::string {
    if (!may_mount() || !mount_small_disk(scratch.path())) return "may not mount";
    ::setenv("TMPDIR", scratch.path().c_str(), 1);
    if (HostCompiler::compile(returns(1), "number", false).empty()) return "nothing compiled";
    for (const char* folder : {"/tmp", "/var/tmp", "/dev/shm"})
      if (!mount_small_disk(folder)) return "may not mount";
    return environment_error([] { HostCompiler::compile(returns(1), "number", false); });
  });
  if (answer == "may not mount") GTEST_SKIP() << "explained: this user may not mount a small file system";
  EXPECT_NE(answer.find("free some space, or set TMPDIR"), std::string::npos) << answer;
  for (const std::string folder : {"/tmp", "/var/tmp", "/dev/shm"})
    EXPECT_NE(answer.find(folder + ": No space left on device"), std::string::npos) << answer;
}

class HostCompilerSearch : public NewProcess {};

TEST_F(HostCompilerSearch, NamesTheTriedProgramsAndTheSolution) {
  const auto compile = [] {
    ::unsetenv("INGOT_CXX"), ::unsetenv("CXX"), ::setenv("PATH", "/nonexistent", 1);
    print_and_exit([] { return HostCompiler::compile(returns(1), "number", false); });
  };
  EXPECT_EXIT(compile(), testing::ExitedWithCode(0),
              "no C\\+\\+ compiler: install g\\+\\+ or clang\\+\\+, or set INGOT_CXX.*INGOT_CXX: not set.*c\\+\\+: not "
              "on PATH.*clang\\+\\+: not on PATH");
  const auto identify = [] {
    ::unsetenv("INGOT_CXX"), ::unsetenv("CXX"), ::setenv("PATH", "/nonexistent", 1);
    print_and_exit(HostCompiler::identity);
  };
  EXPECT_EXIT(identify(), testing::ExitedWithCode(0), "^no compiler$");
}

TEST_F(HostCompilerSearch, UsesTheSelectedCompilerOrFails) {
  const auto compile = [](const char* compiler) {
    ::setenv("INGOT_CXX", compiler, 1);
    print_and_exit([] { return HostCompiler::compile(returns(1), "number", false).substr(0, 4); });
  };
  EXPECT_EXIT(compile("/nonexistent/g++"), testing::ExitedWithCode(0),
              "no C\\+\\+ compiler.*INGOT_CXX: /nonexistent/g\\+\\+: no such program");
  EXPECT_EXIT(compile("-O1"), testing::ExitedWithCode(0), "INGOT_CXX: -O1: only options; put the compiler before");
  EXPECT_EXIT(compile("env c++"), testing::ExitedWithCode(0), "ELF");
}

TEST_F(HostCompilerSearch, AppendsTheOptionsOfTheVariable) {
  const Scratch scratch;
  const auto last_level = [&](const std::string& launcher) {
    const std::string compiler = script(scratch, R"(for word; do case $word in -O*) last=$word ;; esac; done
[ -z "$last" ] || { echo "the level is $last."; exit 1; })");
    ::setenv("INGOT_CXX", (launcher + compiler + " -g -O1").c_str(), 1);
    print_and_exit([] { return HostCompiler::compile(returns(1), "number", false); });
  };
  EXPECT_EXIT(last_level(""), testing::ExitedWithCode(0), "the level is -O1\\.");
  EXPECT_EXIT(last_level("env "), testing::ExitedWithCode(0), "the level is -O1\\.");
}

TEST_F(HostCompilerSearch, PassesNoGccOptionsToClang) {
  const Scratch scratch;
  const auto compile = [&] {
    ::setenv("INGOT_CXX",
             script(scratch, R"(
for option; do
  case $option in
    --version) echo clang version 18; exit ;;
    -fno-thread-jumps) echo "unknown argument: '$option'"; exit 1 ;;
  esac
done
exec c++ "$@")")
                 .c_str(),
             1);
    print_and_exit([] { return HostCompiler::compile(returns(1), "number", false).substr(0, 4); });
  };
  EXPECT_EXIT(compile(), testing::ExitedWithCode(0), "ELF");
}

TEST_F(HostCompilerSearch, ReportsHowTheCompilerEnded) {
  const Scratch scratch;
  const auto compile = [&](const std::string& text) {
    ::setenv("INGOT_CXX", script(scratch, text).c_str(), 1);
    print_and_exit([] { return HostCompiler::compile(returns(1), "number", false); });
  };
  EXPECT_EXIT(compile("exit 3"), testing::ExitedWithCode(0), "compiler exited with 3");
  EXPECT_EXIT(compile("kill -9 $$"), testing::ExitedWithCode(0), "compiler was killed by signal 9");
  EXPECT_EXIT(compile("exit 0"), testing::ExitedWithCode(0), "compiler exited with 0, but wrote no library");
  EXPECT_EXIT(compile("head -c 1000000 /dev/zero | tr '\\0' x; exit 4"), testing::ExitedWithCode(0),
              "compiler exited with 4.*xxxxxx");
}

TEST_F(HostCompilerSearch, HasOneIdentityPerCompiler) {
  const Scratch scratch;
  const auto identify = [&](const std::string& text) {
    ::setenv("INGOT_CXX", script(scratch, text).c_str(), 1);
    print_and_exit(HostCompiler::identity);
  };
  // The file's size: "#!/bin/sh\n", the text and a newline.
  EXPECT_EXIT(identify("exit 0"), testing::ExitedWithCode(0),
              "^compiler 17 [0-9.]+ -std=c\\+\\+20 .*; .*; glibc [0-9.]+$");
  EXPECT_EXIT(identify("exit 10"), testing::ExitedWithCode(0), "^compiler 18 ");
}

TEST(FileIdentity, FollowsLinksAndDetectsEveryChange) {
  const Scratch scratch;
  const fs::path file = scratch.path() / "file", link = scratch.path() / "link";
  EXPECT_EQ(file_identity(file), "");
  write_file(file, "one");
  fs::create_symlink(file, link);
  const std::string first = file_identity(file);
  EXPECT_EQ(first.find("file 3 "), 0u) << first;
  EXPECT_EQ(file_identity(link), first);
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::milliseconds(1));
  EXPECT_NE(file_identity(file), first);
  write_file(file, "three");
  EXPECT_EQ(file_identity(link).find("file 5 "), 0u);
  EXPECT_EQ(file_identity(scratch.path()), "");
}

TEST(SharedObject, DistinguishesObjectsOfOneName) {
  // The loader identifies a library by its path, and descriptors are reused.
  const std::string first_bytes = HostCompiler::compile(returns(1), "number", false);
  const std::string second_bytes = HostCompiler::compile(returns(2), "number", false);
  const SharedObject first(first_bytes, "number"), second(second_bytes, "number"), third(first_bytes, "number");
  EXPECT_EQ(call(first), 1);
  EXPECT_EQ(call(second), 2);
  EXPECT_EQ(call(third), 1);
}

TEST(SharedObject, KeepsNoDescriptor) {
  const std::string bytes = HostCompiler::compile(returns(1), "number", false);
  const size_t before = names_in("/proc/self/fd").size();
  std::vector<SharedObject> objects;
  for (int i = 0; i < 50; ++i) objects.emplace_back(bytes, "number");
  EXPECT_EQ(names_in("/proc/self/fd").size(), before);
  for (const SharedObject& object : objects) EXPECT_EQ(call(object), 1);
}

TEST(SharedObject, QuotesTheLoadersError) {
  const std::string text = environment_error([] { SharedObject("not a library", "relu_add"); });
  EXPECT_NE(text.find("cannot load the compiled relu_add"), std::string::npos) << text;
  EXPECT_NE(text.find("file too short"), std::string::npos) << text;
  const SharedObject object(HostCompiler::compile(returns(1), "number", false), "number");
  EXPECT_THROW(object.symbol("absent"), Error);
}

TEST(SharedObject, LoadsFromAFileIfMemoryFails) {
  const std::string bytes = HostCompiler::compile(returns(7), "number", false);
  const std::string answer = in_child([&]() -> std::string {
    if (!may_mount() || !mount_small_disk("/proc")) return "may not mount";
    return std::to_string(call(SharedObject(bytes, "number")));
  });
  if (answer == "may not mount") GTEST_SKIP() << "explained: this user may not hide /proc";
  EXPECT_EQ(answer, "7");
}

}  // namespace
}  // namespace ingot::runtime
