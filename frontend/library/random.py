"""Random numbers, computed in the kernel from a seed that PyTorch's generator gives each call.

Each call of `_random_words(like, count)` is one sample: `count` tensors of 32-bit random words, as int64. A function
takes its sample even if the values do not matter (a dropout with p = 0). So the samples have the same numbers in an op,
in its gradient, and in python/ingot/random.py, which repeats these formulas.
"""


def rand(*size, generator=None, dtype=None, device=None):
    """a tensor of the given shape, filled with uniform random numbers in [0, 1)"""
    _refuse_generator(generator)
    return _uniform(zeros(*size, dtype=dtype, device=device))


def rand_like(input, *, dtype=None, device=None, memory_format=None):
    """a tensor of input's shape, filled with uniform random numbers in [0, 1)"""
    return _uniform(zeros_like(input, dtype=dtype, device=device, memory_format=memory_format))


def randn(*size, generator=None, dtype=None, device=None):
    """a tensor of the given shape, filled with standard normal random numbers"""
    _refuse_generator(generator)
    return _normal(zeros(*size, dtype=dtype, device=device))


def randn_like(input, *, dtype=None, device=None, memory_format=None):
    """a tensor of input's shape, filled with standard normal random numbers"""
    return _normal(zeros_like(input, dtype=dtype, device=device, memory_format=memory_format))


def randint(low=None, high=None, size=None, *, generator=None, dtype=None, device=None):
    """a tensor of the given shape, filled with random integers in [low, high); low is 0 by default"""
    _refuse_generator(generator)
    if isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    elif low is None:
        low = 0
    return _integers(zeros(size, dtype=torch.int64 if dtype is None else dtype, device=device), low, high)


def randint_like(input, low=None, high=None, *, dtype=None, device=None, memory_format=None):
    """a tensor of input's shape, filled with random integers in [low, high); low is 0 by default"""
    if high is None:
        low, high = 0, low
    elif low is None:
        low = 0
    return _integers(zeros_like(input, dtype=dtype, device=device, memory_format=memory_format), low, high)


@method
def bernoulli(input, p=None, *, generator=None):
    """1 with the probability in each element of input, or with probability p, else 0"""
    _refuse_generator(generator)
    if p is None:
        return _bernoulli(input.contiguous())
    assert 0 <= p and p <= 1, "bernoulli_ expects p to be in [0, 1]"
    return _bernoulli_number(input.contiguous(), p)


def dropout(input, p=0.5, training=True, inplace=False):
    """input with each element set to 0 with probability p, and the others multiplied by 1 / (1 - p)

    Source: aten/src/ATen/native/cuda/Dropout.cu, fused_dropout_kernel
    """
    _check_probability(p)
    return _apply_dropout(_dropout, input, p) if training else input


def dropout1d(input, p=0.5, training=True, inplace=False):
    """dropout of whole channels: the rows of a matrix, or of each matrix of a batch

    Source: torch/nn/functional.py, dropout1d
    """
    _check_probability(p)
    assert input.ndim in (2, 3), "dropout1d: expected 2D or 3D input"
    if input.ndim == 2:
        return feature_dropout(input.unsqueeze(0), p, training).squeeze(0)
    return feature_dropout(input, p, training)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """dropout of whole channels; a channel is an index of dims 0 and 1

    Source: torch/nn/functional.py, dropout2d
    """
    _check_probability(p)
    return feature_dropout(input, p, training)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """dropout of whole channels; a channel is an index of dim 0 of a 4-D tensor, else of dims 0 and 1

    Source: torch/nn/functional.py, dropout3d
    """
    _check_probability(p)
    if input.ndim != 5:
        return feature_dropout(input.unsqueeze(0), p, training).squeeze(0)
    return feature_dropout(input, p, training)


def feature_dropout(input, p, train):
    """dropout of whole channels; a channel is an index of dims 0 and 1

    Source: aten/src/ATen/native/Dropout.cpp, _feature_dropout
    """
    _check_probability(p)
    return _apply_dropout(_feature_dropout, input, p) if train else input


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """dropout that preserves the mean and variance of selu's outputs

    Source: aten/src/ATen/native/Dropout.cpp, _alpha_dropout
    """
    _check_probability(p)
    return _apply_dropout(_alpha_dropout, input, p) if training else input


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels; a channel is an index of dims 0 and 1

    Source: aten/src/ATen/native/Dropout.cpp, _feature_alpha_dropout
    """
    _check_probability(p)
    return _apply_dropout(_feature_alpha_dropout, input, p) if training else input


def _apply_dropout(function, input, p):
    """the result of a dropout function; if p is 0, input itself"""
    if not _is_zero(p):
        return function(input, p)
    _random_words(input, 1)  # takes a sample, so that later samples keep their indices
    return input


# torch.dropout (unlike F.dropout) and its variants have no defaults and no `inplace`.


def _torch_dropout(input, p, train):
    return dropout(input, p, train)


def _torch_alpha_dropout(input, p, train):
    return alpha_dropout(input, p, train)


def _torch_feature_alpha_dropout(input, p, train):
    return feature_alpha_dropout(input, p, train)


@native
def _uniform(like):
    _check_dtype(like, "float")
    return _unit_numbers(like, like.dtype)


@native
def _normal(like):
    _check_dtype(like, "float")
    return _normal_numbers(like, torch.float64 if like.dtype == torch.float64 else torch.float32).to(like.dtype)


@native
def _integers(like, low, high):
    assert low < high, "random_ expects 'from' to be less than 'to'"
    if not like.is_floating_point() and like.dtype != torch.bool:
        limits = torch.iinfo(like.dtype)
        assert limits.min <= low, "from is out of bounds for the dtype"
        assert high - 1 <= limits.max, "to - 1 is out of bounds for the dtype"
    first, second = _random_words(like, 2)  # 63 bits of both are used
    return (((first >> 1 << 32) + second) % (high - low) + low).to(like.dtype)


@native
def _bernoulli(input):
    _check_dtype(input, "float")
    return (_unit_numbers(input, torch.float64 if input.dtype == torch.float64 else torch.float32) < input).to(input.dtype)


@native
def _bernoulli_number(input, p):
    return (_unit_numbers(input, torch.float32) < p).to(input.dtype)


@native
def _dropout(input, p):
    _check_dtype(input, "float")
    return input * _keep_mask(input, p) * _scale(p)


@native
def _feature_dropout(input, p):
    _check_dtype(input, "float")
    return input * _keep_mask(_per_channel(input), p) * _scale(p)


@native
def _alpha_dropout(input, p):
    return _apply_alpha_dropout(input, input, p)


@native
def _feature_alpha_dropout(input, p):
    return _apply_alpha_dropout(input, _per_channel(input), p)


def _apply_alpha_dropout(input, mask_like, p):
    _check_dtype(input, "float")
    alpha = 1.7580993408473766
    scale = 1 / ((alpha * alpha * p + 1) * (1 - p) + (p == 1)) ** 0.5
    keep = _keep_mask(mask_like, p).to(_compute_dtype(input))
    return (input * (keep * scale) + ((keep - 1) * (alpha * scale) + alpha * scale * p)).to(input.dtype)


def _keep_mask(like, p):
    """Whether dropout keeps each element. The comparison is in float32, as in PyTorch's kernels."""
    return _unit_numbers(like, torch.float32) < 1 - p


def _scale(p):
    """The factor for the kept elements; 1 if p is 1, because then no element is kept."""
    return 1 / (1 - p + (p == 1))


def _per_channel(input):
    assert input.ndim >= 2, "Feature dropout requires at least 2 dimensions in the input"
    return zeros(input.shape[:2] + (1,) * (input.ndim - 2), dtype=input.dtype, device=input.device)


def _compute_dtype(input):
    return torch.float64 if input.dtype == torch.float64 else torch.float32


def _unit_numbers(like, dtype):
    """Uniform random numbers in [0, 1). They have as many random bits as the dtype's significand, because more bits
    could round to 1."""
    if dtype == torch.float64:
        return _unit_from_53_bits(*_random_words(like, 2))
    bits = {torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}[dtype]
    (word,) = _random_words(like, 1)
    return _unit_from_bits(word, bits).to(dtype)


def _unit_from_bits(word, bits):
    return (word >> (32 - bits)).to(torch.int32).to(torch.float32) * 2.0 ** -bits


def _unit_from_53_bits(first, second):
    return (((first >> 5) << 26) + (second >> 6)).to(torch.float64) * 2.0 ** -53


def _normal_numbers(like, dtype):
    """One of the two numbers of the Box-Muller transform of two uniform numbers, the first of which is not 0."""
    if dtype == torch.float64:
        first, second, third, fourth = _random_words(like, 4)
        uniform, turns = 1 - _unit_from_53_bits(first, second), _unit_from_53_bits(third, fourth)
    else:
        first, second = _random_words(like, 2)
        uniform, turns = first.to(torch.float32) * 2.0 ** -32 + 2.0 ** -33, _unit_from_bits(second, 24)
    return sqrt(-2 * log(uniform)) * cos(turns * 6.283185307179586)


def _check_probability(p):
    assert 0 <= p and p <= 1, "dropout probability has to be between 0 and 1"


def _refuse_generator(generator):
    if generator is not None:
        raise ValueError("an op uses PyTorch's default generator: omit `generator`, and call torch.manual_seed")
