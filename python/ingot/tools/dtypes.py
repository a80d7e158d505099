"""Short names of dtypes, as in command lines, launches and tables."""

import torch

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "u8": torch.uint8,
          "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "bool": torch.bool}
