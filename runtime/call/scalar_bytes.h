#pragma once

#include <c10/util/BFloat16.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e4m3fnuz.h>
#include <c10/util/Float8_e5m2.h>
#include <c10/util/Float8_e5m2fnuz.h>
#include <c10/util/Half.h>

#include <cstddef>
#include <cstring>

#include "ir/host/host.h"
#include "ir/types/dtype.h"

namespace ingot::runtime {

/// Writes a number in a kernel's representation. Conversions are those of PyTorch's scalars: integers wrap, and a
/// number for a kernel's float of 8 or 16 bits is rounded to float32 first.
inline void write_scalar(ir::HostValue value, ir::DType dtype, std::byte* target) {
  const auto put = [target](auto converted) { std::memcpy(target, &converted, sizeof(converted)); };
  const bool is_float = value.kind == ir::HostKind::Float;
  const auto integer = [&] { return is_float ? static_cast<int64_t>(value.real) : value.integer; };
  const auto real = [&] { return is_float ? value.real : static_cast<double>(value.integer); };
  switch (dtype) {
    case ir::DType::Bool:
      return put(static_cast<uint8_t>(value.truthy()));
    case ir::DType::U8:
      return put(static_cast<uint8_t>(integer()));
    case ir::DType::I8:
      return put(static_cast<int8_t>(integer()));
    case ir::DType::I16:
      return put(static_cast<int16_t>(integer()));
    case ir::DType::I32:
      return put(static_cast<int32_t>(integer()));
    case ir::DType::I64:
    case ir::DType::U64:
      return put(integer());
    case ir::DType::U16:
      return put(static_cast<uint16_t>(integer()));
    case ir::DType::U32:
      return put(static_cast<uint32_t>(integer()));
    case ir::DType::F8E4M3FN:
      return put(c10::Float8_e4m3fn(static_cast<float>(real())));
    case ir::DType::F8E5M2:
      return put(c10::Float8_e5m2(static_cast<float>(real())));
    case ir::DType::F8E4M3FNUZ:
      return put(c10::Float8_e4m3fnuz(static_cast<float>(real())));
    case ir::DType::F8E5M2FNUZ:
      return put(c10::Float8_e5m2fnuz(static_cast<float>(real())));
    case ir::DType::F16:
      return put(c10::Half(static_cast<float>(real())));
    case ir::DType::BF16:
      return put(c10::BFloat16(static_cast<float>(real())));
    case ir::DType::F32:
      return put(static_cast<float>(real()));
    case ir::DType::F64:
      return put(real());
  }
}

}  // namespace ingot::runtime
