#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.h"
#include "tools/commands.h"
#include "tools/python.h"

namespace ingot::tools {

namespace {

struct PythonTool {
  const char *name, *summary;
};
constexpr PythonTool kPythonTools[] = {
    {"compare", "Compare an op's kernel with others: correctness, speed, explanation"},
    {"explain", "Show an op's compilation stages on one page, and how their lines correspond"},
    {"verify", "Test an op on every input, dtype and layout against eager PyTorch and float64"},
};

/// Replaces this process by `python -P -m ingot NAME ARGS...`. With -P no module is imported from the current folder.
void run_in_python(const char* name, const std::vector<std::string>& args) {
  prefer_bundled_package();
  std::string python = find_python();
  std::vector<std::string> command = {python, "-P", "-m", "ingot", name};
  command.insert(command.end(), args.begin(), args.end());
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(python.c_str(), arguments.data());
  throw_environment("cannot start " + python + ": " + std::strerror(errno),
                    "set INGOT_PYTHON to a Python with torch and ingot");
}

}  // namespace

void add_python_tools(CLI::App& program, int&) {
  for (const PythonTool& tool : kPythonTools) {
    CLI::App* command = program.add_subcommand(tool.name, tool.summary);
    command->set_help_flag();  // Python prints the help of this command
    command->prefix_command();
    command->callback([command, &tool] { run_in_python(tool.name, command->remaining()); });
  }
}

}  // namespace ingot::tools
