def threadIdx(float4, i, n, NULL, half: float):
    """A text that ends a comment */, a line \
    and a trigraph ??/
    """
    k = float4 * half
    λ = k + i
    return λ / (n + abs(k)) + NULL
