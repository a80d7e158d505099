"""Bessel functions: of the first and second kind, modified, exponentially scaled, spherical.

The series and coefficients are those of the Cephes Mathematical Library (Stephen L. Moshier), which PyTorch also uses.
"""


def _chebyshev_series(x, coefficients):
    """Clenshaw's algorithm for a Chebyshev series; the constant term comes last and is doubled."""
    b0, b1, b2 = coefficients[0], 0.0, 0.0
    for coefficient in coefficients[1:]:
        b0, b1, b2 = _fma(x, b0, -b1) + coefficient, b0, b1
    return 0.5 * (b0 - b2)


def _polynomial(x, coefficients):
    """Horner's method; the highest power comes first."""
    result = full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        result = _fma(result, x, coefficient)
    return result


# Modified Bessel functions of the first kind. `_i0_scaled` and `_i1_scaled` return two series: the first is for x in
# [0, 8], the second, in 1 / x, for larger x.


def _i0_scaled(x):
    """exp(-x) I0(x), for x in [0, 8]; and exp(-x) sqrt(x) I0(x), for larger x"""
    near = [
        -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16, 1.715391285555133e-15,
        -1.1685332877993451e-14, 7.676185498604936e-14, -4.856446783111929e-13, 2.95505266312964e-12,
        -1.726826291441556e-11, 9.675809035373237e-11, -5.189795601635263e-10, 2.6598237246823866e-09,
        -1.300025009986248e-08, 6.046995022541919e-08, -2.670793853940612e-07, 1.1173875391201037e-06,
        -4.4167383584587505e-06, 1.6448448070728896e-05, -5.754195010082104e-05, 0.00018850288509584165,
        -0.0005763755745385824, 0.0016394756169413357, -0.004324309995050576, 0.010546460394594998,
        -0.02373741480589947, 0.04930528423967071, -0.09490109704804764, 0.17162090152220877, -0.3046826723431984,
        0.6767952744094761,
    ]
    far = [
        -7.233180487874754e-18, -4.830504485944182e-18, 4.46562142029676e-17, 3.461222867697461e-17,
        -2.8276239805165836e-16, -3.425485619677219e-16, 1.7725601330565263e-15, 3.8116806693526224e-15,
        -9.554846698828307e-15, -4.150569347287222e-14, 1.54008621752141e-14, 3.8527783827421426e-13,
        7.180124451383666e-13, -1.7941785315068062e-12, -1.3215811840447713e-11, -3.1499165279632416e-11,
        1.1889147107846439e-11, 4.94060238822497e-10, 3.3962320257083865e-09, 2.266668990498178e-08,
        2.0489185894690638e-07, 2.8913705208347567e-06, 6.889758346916825e-05, 0.0033691164782556943,
        0.8044904110141088,
    ]
    return _chebyshev_series(x / 2 - 2, near), _chebyshev_series(32.0 / x - 2, far)


def _i1_scaled(x, short):
    """exp(-x) I1(x) / x, for x in [0, 8]; and exp(-x) sqrt(x) I1(x), for larger x. `short`: only the terms that float32 needs"""
    near = [
        2.7779141127610464e-18, -2.111421214358166e-17, 1.5536319577362005e-16, -1.1055969477353862e-15,
        7.600684294735408e-15, -5.042185504727912e-14, 3.223793365945575e-13, -1.9839743977649436e-12,
        1.1736186298890901e-11, -6.663489723502027e-11, 3.625590281552117e-10, -1.8872497517228294e-09,
        9.381537386495773e-09, -4.445059128796328e-08, 2.0032947535521353e-07, -8.568720264695455e-07,
        3.4702513081376785e-06, -1.3273163656039436e-05, 4.781565107550054e-05, -0.00016176081582589674,
        0.0005122859561685758, -0.0015135724506312532, 0.004156422944312888, -0.010564084894626197,
        0.024726449030626516, -0.05294598120809499, 0.1026436586898471, -0.17641651835783406, 0.25258718644363365,
    ]
    far = [
        7.517296310842105e-18, 4.414348323071708e-18, -4.6503053684893586e-17, -3.209525921993424e-17,
        2.96262899764595e-16, 3.3082023109209285e-16, -1.8803547755107825e-15, -3.8144030724370075e-15,
        1.0420276984128802e-14, 4.272440016711951e-14, -2.1015418427726643e-14, -4.0835511110921974e-13,
        -7.198551776245908e-13, 2.0356285441470896e-12, 1.4125807436613782e-11, 3.2526035830154884e-11,
        -1.8974958123505413e-11, -5.589743462196584e-10, -3.835380385964237e-09, -2.6314688468895196e-08,
        -2.512236237870209e-07, -3.882564808877691e-06, -0.00011058893876262371, -0.009761097491361469,
        0.7785762350182801,
    ]
    if short:
        near, far = near[12:], far[18:]
    return _chebyshev_series(x / 2 - 2, near), _chebyshev_series(32.0 / x - 2, far)


@native
@method
def i0(input):
    """the modified Bessel function of the first kind, of order 0

    Source: aten/src/ATen/native/cuda/Math.cuh, i0_string
    """
    (input,) = _floating(input)
    x = abs(input)
    near, far = _i0_scaled(x)
    return where(x <= 8, exp(x) * near, exp(x) * far / sqrt(x))


def _i0_backward(grad, result, input):
    return grad * i1(input)


@native
def i0e(input):
    """exp(-abs(input)) * i0(input)

    Source: aten/src/ATen/native/Math.h, calc_i0e
    """
    (input,) = _floating(input)
    x = abs(input)
    near, far = _i0_scaled(x)
    return where(x <= 8, near, far / sqrt(x))


def _i0e_backward(grad, result, input):
    return grad * (i1e(input) - sign(input) * result)


@native
def i1(input):
    """the modified Bessel function of the first kind, of order 1

    Source: aten/src/ATen/native/cuda/Math.cuh, i1_string
    """
    (input,) = _floating(input)
    x = abs(input)
    near, far = _i1_scaled(x, short=input.dtype != torch.float64 and not _on_cuda())
    magnitude = where(x <= 8, exp(x) * x * near, exp(x) * far / sqrt(x))
    return where(input < 0, -magnitude, magnitude)


def _i1_backward(grad, result, input):
    return grad * where(abs(input) > torch.finfo(input.dtype).eps, i0(input) - result / input, 0.5)


@native
def i1e(input):
    """exp(-abs(input)) * i1(input)

    Source: aten/src/ATen/native/cuda/Math.cuh, i1e_string
    """
    (input,) = _floating(input)
    x = abs(input)
    near, far = _i1_scaled(x, short=input.dtype != torch.float64)
    magnitude = where(x <= 8, near * x, far / sqrt(x))
    return where(input < 0, -magnitude, magnitude)


def _i1e_backward(grad, result, input):
    return grad * where(abs(input) > torch.finfo(input.dtype).eps, i0e(input) - result * (sign(input) + 1 / input), 0.5)


@native
def modified_bessel_i0(input):
    """the modified Bessel function of the first kind, of order 0

    Source: aten/src/ATen/native/cuda/Math.cuh, modified_bessel_i0_string
    """
    return i0(input)


@native
def modified_bessel_i1(input):
    """the modified Bessel function of the first kind, of order 1

    Source: aten/src/ATen/native/cuda/Math.cuh, modified_bessel_i1_string
    """
    (input,) = _floating(input)
    x = abs(input)
    near, far = _i1_scaled(x, short=False)
    magnitude = where(x <= 8, near * x * exp(x), exp(x) * far / sqrt(x))
    return where(input < 0, -magnitude, magnitude)


# Modified Bessel functions of the second kind. `_k0` and `_k1` return two values: the first, a logarithm and a series, is
# for x in (0, 2]; the second, a series in 1 / x, for larger x.


def _positive_only(x, result):
    return where(x == 0, math.inf, where(x < 0, math.nan, result))


def _k0(x):
    """K0(x), for x in (0, 2]; and exp(x) sqrt(x) K0(x), for larger x"""
    near = [
        1.374465435613523e-16, 4.25981614279661e-14, 1.0349695257633842e-11, 1.904516377220209e-09,
        2.5347910790261494e-07, 2.286212103119452e-05, 0.001264615411446926, 0.0359799365153615, 0.3442898999246285,
        -0.5353273932339028,
    ]
    far = [
        5.300433772686263e-18, -1.6475804301524212e-17, 5.2103915050390274e-17, -1.678231096805412e-16,
        5.512055978524319e-16, -1.848593377343779e-15, 6.3400764774050706e-15, -2.2275133269916698e-14,
        8.032890775363575e-14, -2.9800969231727303e-13, 1.140340588208475e-12, -4.514597883373944e-12,
        1.8559491149547177e-11, -7.957489244477107e-11, 3.577397281400301e-10, -1.69753450938906e-09,
        8.574034017414225e-09, -4.660489897687948e-08, 2.766813639445015e-07, -1.8317555227191195e-06,
        1.39498137188765e-05, -0.00012849549581627802, 0.0015698838857300533, -0.0314481013119645, 2.4403030820659555,
    ]
    logarithm = log(0.5 * x)
    return (
        _chebyshev_series(_fma(x, x, -2.0), near) - logarithm * i0(x),
        _chebyshev_series(8.0 / x - 2, far),
    )


def _k1(x):
    """K1(x), for x in (0, 2]; and exp(x) sqrt(x) K1(x), for larger x"""
    near = [
        -7.023863479386288e-18, -2.427449850519366e-15, -6.666901694199329e-13, -1.4114883926335278e-10,
        -2.213387630734726e-08, -2.4334061415659684e-06, -0.0001730288957513052, -0.006975723859639864,
        -0.12261118082265715, -0.3531559607765449, 1.5253002273389478,
    ]
    far = [
        -5.756744483665017e-18, 1.7940508731475592e-17, -5.689462558442859e-17, 1.838093544366639e-16,
        -6.057047248373319e-16, 2.038703165624334e-15, -7.019837090418314e-15, 2.4771544244813043e-14,
        -8.976705182324994e-14, 3.3484196660784293e-13, -1.2891739609510289e-12, 5.13963967348173e-12,
        -2.1299678384275683e-11, 9.218315187605006e-11, -4.1903547593418965e-10, 2.015049755197033e-09,
        -1.0345762465678097e-08, 5.7410841254500495e-08, -3.5019606030878126e-07, 2.406484947837217e-06,
        -1.936197974166083e-05, 0.00019521551847135162, -0.002857816859622779, 0.10392373657681724, 2.7206261904844427,
    ]
    series = _chebyshev_series(_fma(x, x, -2.0), near) / x
    return _fma(log(0.5 * x), modified_bessel_i1(x), series), _chebyshev_series(8.0 / x - 2, far)


@native
def modified_bessel_k0(input):
    """the modified Bessel function of the second kind, of order 0

    Source: aten/src/ATen/native/cuda/Math.cuh, modified_bessel_k0_string
    """
    (x,) = _floating(input)
    near, far = _k0(x)
    return _positive_only(x, where(x <= 2, near, exp(-x) * far / sqrt(x)))


@native
def scaled_modified_bessel_k0(input):
    """exp(input) * modified_bessel_k0(input)

    Source: aten/src/ATen/native/cuda/Math.cuh, scaled_modified_bessel_k0_string
    """
    (x,) = _floating(input)
    near, far = _k0(x)
    return _positive_only(x, where(x <= 2, near * exp(x), far / sqrt(x)))


@native
def modified_bessel_k1(input):
    """the modified Bessel function of the second kind, of order 1

    Source: aten/src/ATen/native/cuda/Math.cuh, modified_bessel_k1_string
    """
    (x,) = _floating(input)
    near, far = _k1(x)
    return _positive_only(x, where(x <= 2, near, exp(-x) * far / sqrt(x)))


@native
def scaled_modified_bessel_k1(input):
    """exp(input) * modified_bessel_k1(input)

    Source: aten/src/ATen/native/cuda/Math.cuh, scaled_modified_bessel_k1_string
    """
    (x,) = _floating(input)
    near, far = _k1(x)
    return _positive_only(x, where(x <= 2, near * exp(x), far / sqrt(x)))


# Bessel functions of the first and second kind: rational functions up to 5, amplitude and phase beyond.


def _square_minus(x, number):
    """x * x - number; the CUDA kernels round it once"""
    return _fma(x, x, -number) if _on_cuda() else x * x - number


def _order0_amplitudes(x):
    """the amplitudes p and q for x > 5: J0 is proportional to p * cos(y) - q * sin(y), Y0 to p * sin(y) + q * cos(y),
    with y = x - pi / 4"""
    p_numerator = [
        0.0007969367292973471, 0.08283523921074408, 1.239533716464143, 5.447250030587687, 8.74716500199817,
        5.303240382353949, 1.0,
    ]
    p_denominator = [
        0.0009244088105588637, 0.08562884743544745, 1.2535274390105895, 5.470977403304171, 8.761908832370695,
        5.306052882353947, 1.0,
    ]
    q_numerator = [
        -0.011366383889846916, -1.2825271867050931, -19.553954425773597, -93.20601521237683, -177.68116798048806,
        -147.07750515495118, -51.41053267665993, -6.050143506007285,
    ]
    q_denominator = [
        64.3178256118178, 856.4300259769806, 3882.4018360540163, 7240.467741956525, 5930.727011873169,
        2062.0933166032783, 242.0057402402914,
    ]
    z = 25.0 / (x * x)
    p = _polynomial(z, p_numerator) / _polynomial(z, p_denominator)
    q = _polynomial(z, q_numerator) / _polynomial(z, q_denominator)
    return p, 5.0 / x * q


def _order1_amplitudes(x):
    """the amplitudes p and q for x > 5: J1 is proportional to p * cos(y) - q * sin(y), Y1 to p * sin(y) + q * cos(y),
    with y = x - 3 pi / 4"""
    p_numerator = [
        0.0007621256162081731, 0.07313970569409176, 1.1271960812968493, 5.112079511468076, 8.424045901417724,
        5.214515986823615, 1.0,
    ]
    p_denominator = [
        0.0005713231280725487, 0.06884559087544954, 1.105142326340617, 5.073863861286015, 8.399855543276042,
        5.209828486823619, 1.0,
    ]
    q_numerator = [
        0.05108625947501766, 4.982138729512334, 75.82382841325453, 366.7796093601508, 710.8563049989261,
        597.4896124006136, 211.68875710057213, 25.207020585802372,
    ]
    q_denominator = [
        74.23732770356752, 1056.4488603826283, 4986.410583376536, 9562.318924047562, 7997.041604473507,
        2826.1927851763908, 336.0936078106983,
    ]
    z = 5.0 / x * (5.0 / x)
    p = _polynomial(z, p_numerator) / _polynomial(z, p_denominator)
    q = _polynomial(z, q_numerator) / _polynomial(z, q_denominator)
    return p, 5.0 / x * q


def _wave(x, p, first, q_second):
    """(p * first + q_second) * sqrt(2 / (pi * x)); first is a cosine or a sine, q_second the term with q"""
    return _fma(p, first, q_second) * 0.7978845608028654 / sqrt(x)


@native
def bessel_j0(input):
    """the Bessel function of the first kind, of order 0

    Source: aten/src/ATen/native/cuda/Math.cuh, bessel_j0_string
    """
    (input,) = _floating(input)
    x = abs(input)
    numerator = [-4794432209.782018, 1956174919465.5657, -249248344360967.72, 9708622510473064.0]
    denominator = [
        499.563147152651, 173785.4016763747, 48440965.83399621, 11185553704.535683, 2112775201154.892,
        310518229857422.56, 3.1812195594320496e+16, 1.7108629408104315e+18,
    ]
    square = x * x
    roots = _square_minus(x, 5.783185962946784) * _square_minus(x, 30.471262343662087)
    near = roots * _polynomial(square, numerator) / _polynomial(square, denominator)
    p, q = _order0_amplitudes(x)
    phase = x - 0.7853981633974483
    far = _wave(x, p, cos(phase), -(q * sin(phase)))
    return where(x <= 5, where(x < 0.00001, 1 - square / 4, near), far)


@native
def bessel_j1(input):
    """the Bessel function of the first kind, of order 1

    Source: aten/src/ATen/native/cuda/Math.cuh, bessel_j1_string
    """
    (input,) = _floating(input)
    x = abs(input)
    numerator = [-899971225.7055594, 452228297998.19403, -72749424522181.83, 3682957328638529.0]
    denominator = [
        620.8364781180543, 256987.25675774884, 83514679.14319493, 22151159547.97925, 4749141220799.914,
        784369607876235.9, 8.952223361846274e+16, 5.322786203326801e+18,
    ]
    square = x * x
    near = _polynomial(square, numerator) / _polynomial(square, denominator) * x
    near = near * _square_minus(x, 14.681970642123893) * _square_minus(x, 49.2184563216946)
    p, q = _order1_amplitudes(x)
    phase = x - 2.356194490192345
    far = _wave(x, p, cos(phase), -(q * sin(phase)))
    magnitude = where(x <= 5, near, far)
    return where(input < 0, -magnitude, magnitude)


@native
def bessel_y0(input):
    """the Bessel function of the second kind, of order 0

    Source: aten/src/ATen/native/cuda/Math.cuh, bessel_y0_string
    """
    (x,) = _floating(input)
    numerator = [
        15592.436785523574, -14663929.59039716, 5435264770.518765, -982136065717.9115, 87590639439536.7,
        -3466283033847297.0, 4.4273326857256984e+16, -1.8495080043698668e+16,
    ]
    denominator = [
        1041.2835366425984, 626107.330137135, 268919633.39381415, 86400248710.3935, 20297961275010.555,
        3171577528429750.5, 2.5059625617265306e+17,
    ]
    square = x * x
    ratio = _polynomial(square, numerator) / _polynomial(square, denominator)
    near = _fma(0.6366197723675814 * log(x), bessel_j0(x), ratio)
    p, q = _order0_amplitudes(x)
    phase = x - 0.7853981633974483
    far = _wave(x, p, sin(phase), q * cos(phase))
    return where(x <= 5, where(x == 0, -math.inf, where(x < 0, math.nan, near)), far)


@native
def bessel_y1(input):
    """the Bessel function of the second kind, of order 1

    Source: aten/src/ATen/native/cuda/Math.cuh, bessel_y1_string
    """
    (x,) = _floating(input)
    numerator = [
        1263204747.9017804, -647355876379.1603, 114509511541823.73, -8127702555013251.0, 2.024394757135949e+17,
        -7.788771962659501e+17,
    ]
    denominator = [
        594.3015923461282, 235564.09294306856, 73481194.44597217, 18760131610.870617, 3882312774962.3857,
        620557727146953.8, 6.871410873553005e+16, 3.9727060811656064e+18,
    ]
    square = x * x
    ratio = _polynomial(square, numerator) / _polynomial(square, denominator)
    near = _fma(x, ratio, 0.6366197723675814 * (bessel_j1(x) * log(x) - 1.0 / x))
    p, q = _order1_amplitudes(x)
    phase = x - 2.356194490192345
    far = _wave(x, p, sin(phase), q * cos(phase))
    return where(x <= 5, where(x == 0, -math.inf, where(x < 0, math.nan, near)), far)


@native
def spherical_bessel_j0(input):
    """sin(input) / input, the spherical Bessel function of the first kind, of order 0

    Source: aten/src/ATen/native/cuda/Math.cuh, spherical_bessel_j0_string
    """
    (x,) = _floating(input)
    square = x * x
    series = 1.0 / 6227020800.0
    for factorial in [-39916800.0, 362880.0, -5040.0, 120.0, -6.0]:
        series = _fma(square, series, 1.0 / factorial)
    return where(isinf(x), 0.0, where(abs(x) < 0.5, _fma(square, series, 1.0), sin(x) / x))
