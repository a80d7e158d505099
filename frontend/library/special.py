"""Special functions: those of the normal distribution, entropy, Airy's. The gamma and Bessel functions have their own
files.

The coefficients are those of the Cephes Mathematical Library (Stephen L. Moshier), which PyTorch also uses.
"""

expit = sigmoid


@native
def entr(input):
    """-input * log(input), 0 at 0 and -inf if input is negative

    Source: aten/src/ATen/native/cuda/Math.cuh, entr_string
    """
    (input,) = _floating(input)
    outside = where(input == 0, zeros_like(input), -math.inf)
    return where(isnan(input), input, where(input > 0, -input * _rounded(log(input), not _on_cuda()), outside))


def _entr_backward(grad, result, input):
    return grad * (-1 - log(input))


@native
def erfcx(input):
    """exp(input ** 2) * erfc(input), without underflow

    Source: aten/src/ATen/native/cuda/Math.cuh, erfcx_string
    """
    (x,) = _floating(input)
    square = x * x
    numerator = _fma(square, _square_minus(x, -4.5), 2.0)
    denominator = x * _fma(square, _square_minus(x, -5.0), 3.75)
    far = where(x > 5e7, 0.5641895835477563 / x, 0.5641895835477563 * numerator / denominator)
    scaled = _scaled_erfc(400.0 / (4 + abs(x)))
    positive = where(x > 50, far, scaled)
    twice_exp = 2 * exp(square)
    negative = where(x < -26.7, math.inf, where(x < -6.1, twice_exp, twice_exp - scaled))
    return where(isnan(x), x, where(x >= 0, positive, negative))


def _erfcx_backward(grad, result, input):
    return (2 * input * result - 2 / math.sqrt(math.pi)) * grad


def ndtr(input):
    """the cumulative distribution function of the normal distribution

    Source: aten/src/ATen/native/UnaryOps.cpp, special_ndtr
    """
    scaled = input * 0.7071067811865476
    return (1 + erf(scaled)) * 0.5


@native
def log_ndtr(input):
    """log(ndtr(input)) without underflow

    Source: aten/src/ATen/native/cuda/Math.cuh, log_ndtr_string
    """
    (x,) = _floating(input)
    t = x * 0.7071067811865476
    logarithm = log(erfcx(-t) / 2)
    below = _fma(-t, t, logarithm)
    return where(x < -1, below, log1p(-erfc(t) / 2))


def _log_ndtr_backward(grad, result, input):
    return grad * _log_ndtr_derivative(input)


@native
def _log_ndtr_derivative(input):
    return 0.7978845608028654 / erfcx(input * -0.7071067811865476)


def _log_ndtr_derivative_backward(grad, result, input):
    return -grad * result * (input + result)


@native
def ndtri(input):
    """the inverse of ndtr

    Source: aten/src/ATen/native/cuda/Math.cuh, ndtri_string
    """
    (input,) = _floating(input)
    p0 = [-59.96335010141079, 98.00107541859997, -56.67628574690703, 13.931260938727968, -1.2391658386738125]
    q0 = [
        1.0, 1.9544885833814176, 4.676279128988815, 86.36024213908905, -225.46268785411937, 200.26021238006066,
        -82.03722561683334, 15.90562251262117, -1.1833162112133,
    ]
    p1 = [
        4.0554489230596245, 31.525109459989388, 57.16281922464213, 44.08050738932008, 14.684956192885803,
        2.1866330685079025, -0.1402560791713545, -0.03504246268278482, -0.0008574567851546854,
    ]
    q1 = [
        1.0, 15.779988325646675, 45.39076351288792, 41.3172038254672, 15.04253856929075, 2.504649462083094,
        -0.14218292285478779, -0.03808064076915783, -0.0009332594808954574,
    ]
    p2 = [
        3.2377489177694603, 6.915228890689842, 3.9388102529247444, 1.3330346081580755, 0.20148538954917908,
        0.012371663481782003, 0.00030158155350823543, 2.6580697468673755e-06, 6.239745391849833e-09,
    ]
    q2 = [
        1.0, 6.02427039364742, 3.6798356385616087, 1.3770209948908132, 0.21623699359449663, 0.013420400608854318,
        0.00032801446468212774, 2.8924786474538068e-06, 6.790194080099813e-09,
    ]
    is_upper_tail = input > 1 - 0.1353352832366127  # exp(-2)
    y = where(is_upper_tail, 1 - input, input)
    centred = y - 0.5
    square = centred * centred
    middle = _fma(centred, square * _polynomial(square, p0) / _polynomial(square, q0), centred) * 2.5066282746310007

    x = sqrt(-2 * log(y))
    z = 1 / x
    near = z * _polynomial(z, p1) / _polynomial(z, q1)
    far = z * _polynomial(z, p2) / _polynomial(z, q2)
    tail = x - log(x) / x - where(x < 8, near, far)
    result = where(y > 0.1353352832366127, middle, where(is_upper_tail, tail, -tail))
    result = where((input < 0) | (input > 1), math.nan, result)
    return where(input == 0, -math.inf, where(input == 1, math.inf, result))


def _ndtri_backward(grad, result, input):
    return grad * math.sqrt(2 * math.pi) * exp(result * result / 2)


@native
def xlog1py(input, other):
    """input * log1p(other), 0 if input is 0 and other is not NaN

    Source: aten/src/ATen/native/cuda/BinaryMiscOpsKernels.cu, xlog1py_kernel_cuda
    """
    input, other = _floating(input, other)
    logarithm = _rounded(log1p(other), not _on_cuda())
    return where(isnan(other), other, where(input == 0, 0.0, input * logarithm))


def _xlog1py_backward(grad, result, input, other):
    input, other = _floating(input, other)
    return where((input == 0) & (other <= -1), 0, xlog1py(grad, other)), grad * input / (other + 1)


@native
def airy_ai(input):
    """the Airy function Ai

    Source: aten/src/ATen/native/cuda/Math.cuh, airy_ai_string
    """
    (x,) = _floating(input)
    # Cephes's names: a name that ends in n is a numerator, in d a denominator.
    an = [
        0.346538101525629, 12.007595273964581, 76.27960536152345, 168.08922493463058, 159.75639135016442,
        70.53609068404442, 14.026469116338967, 1.0,
    ]
    ad = [
        0.5675945326387702, 14.75625625848472, 84.51389701414746, 177.31808814540045, 164.2346928715297,
        71.47784008255756, 14.095913560783403, 1.0,
    ]
    afn = [
        -0.1316963234183318, -0.6264565444319123, -0.6931580360369335, -0.2797799815451191, -0.04919001326095003,
        -0.004062659235948854, -0.0001592764962392621, -2.776491081552329e-06, -1.6778769848911465e-08,
    ]
    afd = [
        13.356042070655324, 32.682503279522464, 26.736704094149957, 9.187074029072596, 1.4752914677166642,
        0.11568717379518804, 0.004402916416152112, 7.547203482874142e-05, 4.5185009297058035e-07,
    ]
    agn = [
        0.01973399320916857, 0.39110302961568827, 1.0657989759959559, 0.9391692298166502, 0.35146565610554764,
        0.06338889196289255, 0.005858041130483885, 0.000282851600836737, 6.98793669997261e-06, 8.117892395543892e-08,
        3.415517847659236e-10,
    ]
    agd = [
        9.30892908077442, 19.835292871831214, 15.564662893286462, 5.476860694229755, 0.9542936116189619,
        0.08645808263523921, 0.004126565238242226, 0.00010125908511650914, 1.1716673321441352e-06, 4.9183457006293e-09,
    ]
    magnitude = abs(x)
    root = sqrt(magnitude)
    zeta = 2 * magnitude * root / 3
    z = 1 / zeta
    square = z * z
    angle = zeta + 0.7853981633974483
    cosine = cos(angle) * (z * _polynomial(square, agn) / _polynomial(square, agd))
    weight = 1 + square * _polynomial(square, afn) / _polynomial(square, afd)
    negative = 0.5641895835477563 / sqrt(root) * _fma(sin(angle), weight, -cosine)
    ratio = _polynomial(z, an) / _polynomial(z, ad)
    positive = 0.5641895835477563 * ratio / (2 * sqrt(root) * exp(zeta))
    is_middle = (x >= -2.09) & (x < 2.09)
    series = _airy_series(where(is_middle, x, 0.0))
    result = where(x < -2.09, negative, where(x >= 2.09, positive, series))
    result = where(x > 103.892, 0.0, where(isnan(x), x, result))
    return where(isinf(x), math.nan, result)
