#pragma once

// The only header that a user of the C++ library includes: `#include <ingot/ingot.h>`.

#include "base/error.h"
#include "frontend/cpp_functions.h"
#include "runtime/api/op.h"
#include "runtime/api/register.h"
