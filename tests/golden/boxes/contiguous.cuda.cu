// def corners(boxes):  # centre and size to corners
//     cx, cy, w, h = boxes.unbind(-1)
//     return torch.stack([cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h], -1)

// N elements adjacent in memory, loaded and stored at once.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vec {
    T elements[N];

    __device__ T& operator[](int k) { return elements[k]; }
    __device__ const T& operator[](int k) const { return elements[k]; }
};

template <int N, typename T, typename I>
__device__ inline Vec<T, N> load(const T* data, I i) {
    return *reinterpret_cast<const Vec<T, N>*>(data + i);
}

template <typename T, int N, typename I>
__device__ inline void store(T* data, I i, const Vec<T, N>& values) {
    *reinterpret_cast<Vec<T, N>*>(data + i) = values;
}

extern "C" __global__ void __launch_bounds__(256) corners(
        const float* __restrict__ boxes,  // at i * boxes_stride + 0..3
        float* __restrict__ out,          // at i * out_stride + 0..3
        const int n,                      // elements
        const int boxes_stride,
        const int out_stride) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;

    const auto boxes4 = load<4>(boxes, i * boxes_stride);
    const float v1 = 0.5f * boxes4[2];
    const float v2 = 0.5f * boxes4[3];
    const float v3 = boxes4[0] - v1;
    const float v4 = boxes4[1] - v2;
    store(out, i * out_stride, Vec<float, 4>{v3, v4, boxes4[0] + v1, boxes4[1] + v2});
}
