"""Typical programs with in-place ops. Their inputs: x and y, float matrices of one shape, and k, an integer vector."""

PROGRAMS = [
    # optimizers
    "def f(x, y):\n    m = torch.zeros_like(x)\n    m.mul_(0.9).add_(y, alpha=0.5)\n    x.sub_(m * 2)",
    "def f(x, y):\n    x.mul_(1 - 0.25)\n    x.addcmul_(y, y, value=-0.5)\n    y.zero_()",
    "def f(x, y):\n    for p in [x, y]:\n        p.clamp_(-2, 2)\n        p += 1",
    "def f(x, y):\n    for p, g in zip((x, y), (y, x)):\n        p.sub_(g, alpha=2)\n    return x - y",
    # helpers, closures, defaults
    "def bump(t, by=1):\n    t += by\n    return t\n\ndef f(x, y):\n    a = bump(x * 1)\n    b = bump(a, by=2)\n    return a, b, bump(b[0])",
    "def f(x, y):\n    a = x + y\n    def double():\n        a.mul_(2)\n    double()\n    double()\n    return a",
    "def f(x, y):\n    change = [lambda t: t.neg_(), lambda t: t.add_(y)]\n    a = x.clone()\n    for g in change:\n        g(a)\n    return a",
    "def swap(a, b):\n    t = a.clone()\n    a.copy_(b)\n    b.copy_(t)\n\ndef f(x, y):\n    swap(x, y)\n    swap(x[0], x[1])",
    # loops over views
    "def f(x, y):\n    for i in range(x.size(0)):\n        x[i] += i\n    return x.sign()",
    "def f(x, y):\n    for i in range(1, 4):\n        x[i] += x[i - 1]",
    "def f(x, y):\n    for row in x.unbind(0):\n        row.mul_(2)\n        row[0] = 9",
    "def f(x, y):\n    for i, (a, b) in enumerate(zip(x, y)):\n        a.add_(b, alpha=i)\n        b.fill_(i)",
    "def f(x, y):\n    out = torch.empty_like(x)\n    for i in range(4):\n        out[:, i] = x[:, 3 - i] * i\n    return out",
    "def f(x, y):\n    i = 0\n    while i < 3:\n        x[i:, i:] *= 2\n        i += 1",
    # branches
    "def f(x, y):\n    if x.ndim == 2:\n        t = x.t()\n    else:\n        t = x\n    t[0] = 5\n    return t * 2",
    "def f(x, y):\n    a = x * 1\n    b = a if a.dtype == torch.float32 else a.float()\n    b += y\n    return a",
    # aliases of aliases
    "def f(x, y):\n    a = x * 2\n    b = a.t()\n    c = b[1:]\n    d = c.t()\n    d += 10\n    b[0, 0] = -1\n    return a, b, c, d",
    "def f(x, y):\n    a = x.clone()\n    views = [a[0], a[:, 0], a[::2], a[1:, 1:]]\n    for v in views:\n        v += 1\n    return tuple(v * 1 for v in views) + (a,)",
    "def f(x, y):\n    a, b = x.chunk(2)\n    a, b = b, a\n    a += 1\n    b -= 1\n    return a + b",
    "def f(x, y):\n    d = {'a': x * 1, 'b': y * 1}\n    d['c'] = d['a']\n    d['c'] += d['b']\n    d['b'] *= 2\n    return d['a'], d['b'], d['c']",
    "def f(x, y):\n    rows = [x[i] for i in range(4)]\n    rows[1] += rows[0]\n    rows[2] = rows[1]\n    rows[2] *= 2\n    return rows[3] + 1",
    "def f(x, y):\n    a = x * 1\n    old = a\n    a = a + 1\n    a += 1\n    return old, a",
    "def f(x, y):\n    a = torch.stack([x, y])\n    x += 1\n    a[0] -= y\n    b = torch.cat([a[0], a[1]])\n    a.zero_()\n    return a, b",
    # masks, wheres, gathers
    "def f(x, y):\n    mask = x > y\n    x[mask] = 0\n    y[~mask] *= -1\n    return mask",
    "def f(x, y):\n    before = x > 0\n    x.neg_()\n    return torch.where(before, x, y), x > 0",
    "def f(x, y, k):\n    a = x[k]\n    x.mul_(2)\n    b = x[k]\n    a += b\n    return a, b",
    "def f(x, y, k):\n    k += 1\n    k[0] = 0\n    return x[k % 4]",
    "def f(x, y):\n    a = x.masked_fill(x > 0, 1)\n    a.masked_fill_(y[0] > 0, 2)\n    return a",
    # dtypes, bit patterns, slices with a step
    "def f(x, y):\n    a = x.double()\n    a /= 3\n    x.copy_(a)\n    x.view(torch.int32)[0] &= -2\n    return a",
    "def f(x, y):\n    h = x.half()\n    h += y\n    h[:, ::2] = h[:, 1::2]\n    x[:, 0] = h[:, 0]\n    return h",
    "def f(x, y):\n    real, imag = x[..., ::2], x[..., 1::2]\n    r = real * 2 - imag\n    imag.mul_(2).add_(real)\n    real.copy_(r)",
    "def f(x, y):\n    count = (x > 0).long()\n    count += (y > 0)\n    count <<= 1\n    flags = count > 2\n    flags ^= x > y\n    return count, flags",
    "def f(x, y):\n    a = x.view(-1)\n    a[::5] = 1\n    b = a.view(2, 2, 4).permute(2, 0, 1)\n    b[3, 1] += 7\n    return b * 1",
    "def f(x, y):\n    a = x.unsqueeze(0).expand(1, 4, 4)\n    a.squeeze(0)[1] += y[1]\n    return a * 1",
    "def f(x, y):\n    x[0, 0] = x[1, 1]\n    x[1, 1] = y[0, 0]\n    s = x[0, 0]\n    s += 100\n    return s * 1",
    "def f(x, y):\n    a = torch.ones_like(x)\n    a[1:-1, 1:-1] = 0\n    a *= x\n    a[x.size(0) - 1] = y[0]\n    return a",
    "def f(x, y):\n    x += y\n    y += x\n    x += y\n    return x * y",
]
