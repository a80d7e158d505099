#include "runtime/compile/shortage.h"

#include <cerrno>
#include <cstring>

namespace ingot::runtime {

namespace {

struct ResourceExhaustion {
  int error;
  std::string_view advice;
};

constexpr ResourceExhaustion kExhaustions[] = {
    {EMFILE, "this process has no file descriptors left: close files, or raise the limit (ulimit -n)"},
    {ENFILE, "the system has no file descriptors left"},
    {ENOSPC, "the disk is full: free some space, or set TMPDIR to another folder"},
    {EDQUOT, "the disk quota is used up: free some space, or set TMPDIR to another folder"},
    {EFBIG, "a file would be larger than this process may write: raise the limit (ulimit -f)"},
    {ENOMEM, "memory has run out"},
    {EAGAIN, "the system cannot start more processes: end some, or raise the limit (ulimit -u)"},
};

}  // namespace

std::string error_text(int error) {
  std::string text = std::strerror(error);
  for (const ResourceExhaustion& exhaustion : kExhaustions)
    if (exhaustion.error == error) text += ": " + std::string(exhaustion.advice);
  return text;
}

std::string exhausted_resource_in(std::string_view output) {
  for (const ResourceExhaustion& exhaustion : kExhaustions)
    if (output.find(std::strerror(exhaustion.error)) != std::string_view::npos) return std::string(exhaustion.advice);
  return {};
}

}  // namespace ingot::runtime
