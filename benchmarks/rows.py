"""Rows of the tables in the documents (tables.py): the label of each row and its cases.

A cell has one figure per name. A name with a star may match several cases: their least and greatest figures are shown.
"""

Row = tuple[str, list[str]]

LARGE: list[Row] = [
    ("`relu_add`, 2²⁸ elements", ["relu_add"]),
    ("`mul`, 2²⁸ elements", ["mul"]),
    ("`giou`, 2²⁴ boxes, one result per box", ["giou"]),
    ("`denoise`, 1024 × 3 × 256 × 256", ["denoise"]),
]

ELEMENTWISE: list[Row] = [
    ("`relu_add` · `mul` · `giou` per box · `denoise`, float32", ["relu_add", "mul", "giou", "denoise"]),
    ("swiglu bf16 · swiglu backward bf16 · `gelu(x + b) + r` bf16 · adamw",
     ["swiglu bf16", "swiglu backward bf16", "gelu(x + b) + r bf16", "adamw"]),
    ("u8 × f32 · `~u8`", ["u8 * f32", "~u8"]),
    ("one element off alignment: float32 · bfloat16, first input · bfloat16, second input · bfloat16, both inputs · uint8",
     ["one off f32*", "one off bf16: x", "one off bf16: y", "one off bf16: x and y", "one off u8*"]),
    ("rows of 1023 with a row bias · a column bias · both", [f"rows of 1023: {bias}" for bias in ("row", "column", "both")]),
    ("rows of 1 · 3 · 7 · 17 · 33 with both biases", [f"rows of 1 to 33: {width}" for width in (1, 3, 7, 17, 33)]),
    ("rows of 1000, padded to 1024", ["rows of 1000 in 1024*"]),
    ("`relu(x.t()) + y` · four transposed pairs", ["transposed: relu(x.t()) + y", "transposed: four pairs"]),
    ("permutations of three dims", ["transposed: permute*"]),
    ("channels-last × contiguous, both ways", ["channels-last*"]),
    ("`giou` per box, lazy `where`: padded like real data · all valid", ["giou lazy, padded", "giou lazy, all valid"]),
    ("rows of 1024 gathered by index · the same under a row mask",
     ["gathered rows: scaled", "gathered rows: masked, all valid"]),
]

# Kernels limited by both arithmetic and memory.
COMPUTE_HEAVY: list[Row] = [
    ("tanh · gelu · elu · selu · softplus · mish, float32", ["tanh", "gelu", "elu", "selu", "softplus", "mish"]),
    ("gelu · `gelu(x + b)` · softplus · mish, bfloat16", ["gelu bf16", "gelu(x + b) bf16", "softplus bf16", "mish bf16"]),
    ("`tanh(x - b)` over planes of 513 × 513", ["tanh(x - b)"]),
    ("chains of 50 and 200 cheap ops · of 10 transcendentals",
     ["chain: 50 cheap ops", "chain: 200 cheap ops", "chain: 10 transcendentals"]),
    ("KernelBench-style kernels", ["kernelbench*"]),
]


def softmax(group: str, *columns: int) -> list[str]:
    return [f"softmax {group}: {count}" for count in columns]


REDUCTIONS: list[Row] = [
    ("GIoU loss, 2²⁴ boxes: all valid · padded like real data · first half valid",
     ["giou loss all valid", "giou loss padded", "giou loss first half valid"]),
    ("GIoU loss, bfloat16 boxes and byte targets, 2²⁶ boxes", ["giou loss bf16 by u8"]),
    ("`mse_loss(x, y)`", ["mse to a number"]),
    ("`(x * y).sum(0)` of 2¹⁶ × 4096 · 2²⁰ × 256 · 4096 × 2¹⁶", [f"(x * y).sum(0): {form}" for form in ("tall", "taller", "wide")]),
    ("`sum(-1)` of 32 · 1000 · 4096 · 32768 · 262144", [f"sum(-1) of {n}" for n in (32, 1000, 4096, 32768, 262144)]),
    ("`amax((0, 2))` · `sum(1)` of 256 × 1024 × 1024", ["amax((0, 2))", "middle dim"]),
    ("`softmax` of 32 · 128 · 1000 · 1023 · 4096 · 16384", softmax("f32", 32, 128, 1000, 1023, 4096, 16384)),
    ("`softmax` of 32768 · 65536 · 131072 · 262144",
     [*softmax("f32", 32768), *softmax("f32, long", 65536), *softmax("f32, longest", 131072, 262144)]),
    ("`softmax` of 9 · 21 · 33 · 63 · 91 · 127", softmax("f32, short and odd", 9, 21, 33, 63, 91, 127)),
    ("`softmax` of 40 · 75 · 152 · 270 · 444 · 700 · 901 · 1300", softmax("of other widths", 40, 75, 152, 270, 444, 700, 901, 1300)),
    ("`softmax` of 1801 · 2500 · 3333 · 5504 · 7000 · 9001 · 14000 · 22220",
     softmax("of other widths", 1801, 2500, 3333, 5504, 7000, 9001, 14000, 22220)),
    ("`softmax` in bfloat16 of 128 · 4096 · 32768", [*softmax("bf16", 128, 4096), *softmax("bf16, long", 32768)]),
    ("`gelu(layer_norm(x))` of 4096", ["gelu(layer_norm(x))"]),
    ("`rms_norm` in bfloat16 with a residual, two results", ["rms_norm bf16 with a residual"]),
    ("`mish(group_norm(x, 8))` of 4096 × 256 × 256", ["mish(group_norm(x, 8))"]),
    ("`cross_entropy` of 2¹⁴ × 50257 in bfloat16", ["cross_entropy bf16"]),
]

# The reductions that the README shows.
LARGE_REDUCTIONS: list[Row] = [
    ("GIoU loss with mask and mean, 2²⁴ boxes: all valid · padded like real data", ["giou loss all valid", "giou loss padded"]),
    ("`softmax` of 33 · 1000 · 4096 · 65536 · 262144 columns",
     [*softmax("f32, short and odd", 33), *softmax("f32", 1000, 4096), *softmax("f32, long", 65536), *softmax("f32, longest", 262144)]),
    ("`softmax` of 4096 · 32768 in bfloat16", [*softmax("bf16", 4096), *softmax("bf16, long", 32768)]),
    ("`gelu(layer_norm(x))` of 4096 columns", ["gelu(layer_norm(x))"]),
    ("`(x * y).sum(0)` of 2¹⁶ × 4096", ["(x * y).sum(0): tall"]),
    ("`cross_entropy` of 50257 classes in bfloat16", ["cross_entropy bf16"]),
]

FEW: list[Row] = [
    ("sum to a scalar: 10³ · 10⁴ · 10⁵ · 10⁶ · 10⁷", [f"to a number: 10^{power} elements" for power in range(3, 8)]),
    *((f"`{name}` of {rows} rows of 32 · 333 · 4096" if rows > 1 else f"`{name}` of one row of 32 · 333 · 4096",
       [f"{name} of few rows: {rows} of {columns}" for columns in (32, 333, 4096)])
      for name in ("sum", "softmax") for rows in (1, 30, 1000)),
]

GRADIENTS: list[Row] = [(label, [f"backward: {case}", f"both: {case}"]) for label, case in (
    ("swiglu, bf16, 2¹⁴ × 4096", "swiglu bf16"),
    ("`gelu(x + b) + r`, bf16, 2¹⁴ × 4096", "gelu(x + b) + r bf16"),
    ("layer_norm, 2¹⁴ × 4096", "layer_norm"),
    ("`gelu(layer_norm)`, 2¹⁴ × 4096", "gelu(layer_norm)"),
    ("softmax, 2¹⁴ × 4096", "softmax"),
    ("cross_entropy, bf16, 2¹² × 50257", "cross_entropy bf16"),
    ("mse, 2²⁶", "mse"),
    ("GIoU loss, 2²⁰ boxes", "giou loss"),
    ("`gelu(table[i])`, 2¹⁴ rows of 768", "gelu(table[i])"),
    ("`dropout(gelu(x + b)) + r`", "dropout(gelu(x + b), 0.1) + r f32"),
    ("`dropout(gelu(x + b)) + r`, bf16", "dropout(gelu(x + b), 0.1) + r bf16"),
)]

VALUE_AND_GRAD: list[Row] = [
    ("sum over 2²² boxes · 2²⁴", ["giou sum of 2^22 boxes", "giou sum of 2^24 boxes"]),
    ("mean over the valid boxes, 2²² · 2²⁴", ["giou masked mean: 2^22 boxes", "giou masked mean: 2^24 boxes"]),
]

GRAPHS: list[Row] = [
    ("sampler of 50 steps: 1 image of 3 × 256 × 256 · 16 images", ["sampler in a graph: 1 images", "sampler in a graph: 16 images"]),
    ("training step of `examples/train.py`: 32 samples · 8192", ["training step: 32 samples", "training step: 8192 samples"]),
]

CPU: list[Row] = [
    ("`relu_add` · `mul` · `denoise` · `giou`", ["relu_add", "mul", "denoise", "giou"]),
    ("float16 chain · bfloat16 swiglu · `gelu(x + b) + r` bf16", ["float16 chain", "swiglu bf16", "gelu(x + b) + r bf16"]),
    ("`gelu(x + y) * sigmoid(y) + x` · tanh-gelu with a bias · mish",
     ["gelu(x + y) * sigmoid(y) + x", "tanh-gelu with a bias", "mish"]),
    ("rows of 1 to 33 · of 1023 · of 1000, padded to 1024", ["rows of 1 to 33*", "rows of 1023*", "rows of 1000 in 1024*"]),
    ("rows gathered by index · the same under a row mask", ["gathered rows: scaled", "gathered rows: masked, all valid"]),
    ("`relu(x.t()) + y` · four transposed pairs · permutations",
     ["transposed: relu(x.t()) + y", "transposed: four pairs", "transposed: permute*"]),
    ("channels-last × contiguous · contiguous × channels-last", ["channels-last: times contiguous", "channels-last: contiguous times it"]),
]

# Row labels of the cases that examples.py measures.
EXAMPLES = {"relu_add": "`relu_add`, 2²⁸ elements", "mul": "`mul`, 2²⁸", "mul_backward": "gradient of `mul`, 2²⁷",
            "denoise": "`denoise`, 512 × 3 × 256 × 256", "giou": "`giou` of 16 million boxes, padded like real data",
            "giou_loss": "`giou_loss` of the same boxes", "group_norm_mish": "`group_norm_mish`, 1024 × 256 × 256"}
