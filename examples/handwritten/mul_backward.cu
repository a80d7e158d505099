// The gradient of x * y as it is usually written, for comparison with the gradient that Ingot derives from the op.
//
//   ingot compare examples/mul.py --backward --against examples/handwritten/mul_backward.cu x=f32:n y=f32:n
//     n=134217728
//
// launch: grid=ceil(n / 256), block=256, args=grad, x, y, out0, out1, n
extern "C" __global__ void mul_backward(const float* grad, const float* x, const float* y, float* grad_x, float* grad_y,
                                        long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) {
    grad_x[i] = grad[i] * y[i];
    grad_y[i] = grad[i] * x[i];
  }
}
