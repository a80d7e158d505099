#include <c10/util/Exception.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "base/error.h"
#include "tools/commands.h"

namespace {

/// Flushes the output and returns the exit code: a full disk is reported only here.
int flush_output(int status) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return status;
  std::fprintf(stderr, "error: cannot write to the standard output: %s\n", std::strerror(errno));
  if (status != ingot::tools::kOk) return status;
  return ingot::tools::kFailure;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace ingot::tools;
  CLI::App program("Compile ops written in PyTorch code to fused kernels.", "ingot");
  program.set_version_flag("--version", "ingot " INGOT_VERSION);
  program.require_subcommand(1);
  int status = kOk;
  add_run(program, status);
  add_emit(program, status);
  add_ops(program, status);
  add_python_tools(program, status);
  add_cache(program, status);
  try {
    program.parse(argc, argv);
    return flush_output(status);
  } catch (const CLI::ParseError& error) {
    return flush_output(program.exit(error) == 0 ? kOk : kBadInput);
  } catch (const ingot::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.fault() == ingot::Fault::Author ? kBadInput : kFailure;
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what_without_backtrace());
    return kFailure;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return kFailure;
  }
}
