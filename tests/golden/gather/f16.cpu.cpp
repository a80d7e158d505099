// def embed(weight, token, position):
//     return weight[token] + position
//
// prelude: int64 argument smaller_of bit_cast half_to_float half_from_float float16 check_index to_floats from_floats Whole Part in_pieces

// where: n1 = token.size(1), n2 = weight.size(1), token_stride0 = token.size(1), weight_size = weight.size(0),
//   weight_step = weight.size(1), position_stride1 = weight.size(1)
// requires: weight.size(0) > 0 or token.size(0)*token.size(1) == 0, weight.size(1) == position.size(1),
//   token.size(1) == position.size(0)
// requires: weight.dtype == f16, weight.dim() == 2, weight.is_contiguous()
// requires: token.dtype == i64, token.dim() == 2, token.is_contiguous()
// requires: position.dtype == f16, position.dim() == 2, position.is_contiguous()
// requires: out.dtype == f16, out.dim() == 3, out.size(0) == token.size(0), out.size(1) == token.size(1),
//   out.size(2) == weight.size(1), out.is_contiguous()
// requires: no_overlap(out, weight, token, position)
// requires: weight.size(1)*token.size(0)*token.size(1) >= 1
// scratch: status = zeros(i32, 1)
// launch: entry=embed, units=weight.size(1)*token.size(0)*token.size(1), args=weight, token, position, out, i64(n1),
//   i64(n2), i64(n1), i64(weight_size), i64(n2), i64(n2), status
extern "C" void embed(const void* const* arguments, int64 begin, int64 end) {
    const float16* __restrict weight = argument<const float16*>(arguments[0]);    // at i2 + index * weight_step
    const int64* __restrict token = argument<const int64*>(arguments[1]);         // at i0 * token_stride0 + i1
    const float16* __restrict position = argument<const float16*>(arguments[2]);  // at i1 * position_stride1 + i2
    float16* __restrict out = argument<float16*>(arguments[3]);                   // contiguous
    const int64 n1 = argument<int64>(arguments[4]);                               // extent of i1
    const int64 n2 = argument<int64>(arguments[5]);                               // extent of i2
    const int64 token_stride0 = argument<int64>(arguments[6]);
    const int64 weight_size = argument<int64>(arguments[7]);
    const int64 weight_step = argument<int64>(arguments[8]);
    const int64 position_stride1 = argument<int64>(arguments[9]);
    int* status = argument<int*>(arguments[10]);                                  // error code

    int bad = 0;
    for (int64 i = begin; i < end;) {
        const int64 first = i % n2;
        const int64 last = smaller_of(first + (end - i), n2);
        const int64 row = i - first;
        const int64 i1 = i / n2 % n1;
        const int64 i0 = i / n2 / n1;
        const auto token_row = token + i0 * token_stride0 + i1;
        const auto position_row = position + i1 * position_stride1;
        const auto out_row = out + row;
        const int64 token_wrapped = check_index(token_row[0], weight_size, bad, 2);
        in_pieces<256>(first, last, [&](int64 start, auto count) __attribute__((always_inline)) {
            float position_piece[256], out_piece[256];
            to_floats(position_row + start, position_piece, count);
#pragma omp simd
            for (int64 i2 = start; i2 < start + count; ++i2) {
                const float v1 = float(weight[i2 + token_wrapped * weight_step]);
                out_piece[i2 - start] = v1 + position_piece[i2 - start];
            }
            from_floats(out_piece, out_row + start, count);
        });
        i += last - first;
    }
    if (bad != 0) {
        *status = bad;
    }
}
