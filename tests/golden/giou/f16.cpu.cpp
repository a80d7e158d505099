// def giou(pred, target):  # boxes: [..., 4]
//     lt, rb = maximum(pred[..., :2], target[..., :2]), minimum(pred[..., 2:], target[..., 2:])
//     w, h = (rb - lt).clamp(min=0).unbind(-1)
//     overlap = w * h
//     pw, ph = (pred[..., 2:] - pred[..., :2]).unbind(-1)
//     tw, th = (target[..., 2:] - target[..., :2]).unbind(-1)
//     union = pw * ph + tw * th - overlap
//     hull_lt = minimum(pred[..., :2], target[..., :2])
//     hull_rb = maximum(pred[..., 2:], target[..., 2:])
//     cw, ch = (hull_rb - hull_lt).unbind(-1)
//     hull = cw * ch
//     return overlap / union - (hull - union) / hull
//
// prelude: int64 argument bit_cast half_to_float half_from_float float16 maximum minimum from_floats Whole Part in_pieces

// requires: pred.size(0) == target.size(0), pred.size(1) == 4, target.size(1) == 4
// requires: pred.dtype == f16, pred.dim() == 2, pred.is_contiguous()
// requires: target.dtype == f16, target.dim() == 2, target.is_contiguous()
// requires: out.dtype == f16, out.dim() == 1, out.size(0) == pred.size(0), out.is_contiguous()
// requires: no_overlap(out, pred, target)
// requires: pred.size(0) >= 1
// launch: entry=giou, units=pred.size(0), args=pred, target, out
extern "C" void giou(const void* const* arguments, int64 begin, int64 end) {
    const float16* __restrict pred = argument<const float16*>(arguments[0]);    // at i * 4 + 0..3
    const float16* __restrict target = argument<const float16*>(arguments[1]);  // at i * 4 + 0..3
    float16* __restrict out = argument<float16*>(arguments[2]);                 // contiguous

    in_pieces<256>(begin, end, [&](int64 start, auto count) __attribute__((always_inline)) {
        float out_piece[256];
#pragma omp simd
        for (int64 i = start; i < start + count; ++i) {
            const float v1 = float(pred[i * 4 + 2]);
            const float v2 = float(target[i * 4 + 2]);
            const float rb = minimum(v1, v2);
            const float v3 = float(pred[i * 4]);
            const float v4 = float(target[i * 4]);
            const float lt = maximum(v3, v4);
            const float w = maximum(0.0f, rb - lt);
            const float v5 = float(pred[i * 4 + 3]);
            const float v6 = float(target[i * 4 + 3]);
            const float rb_1 = minimum(v5, v6);
            const float v7 = float(pred[i * 4 + 1]);
            const float v8 = float(target[i * 4 + 1]);
            const float lt_1 = maximum(v7, v8);
            const float h = maximum(0.0f, rb_1 - lt_1);
            const float overlap = w * h;
            const float pw = v1 - v3;
            const float ph = v5 - v7;
            const float tw = v2 - v4;
            const float th = v6 - v8;
            const float union_ = pw * ph + tw * th - overlap;
            const float hull_rb = maximum(v1, v2);
            const float hull_lt = minimum(v3, v4);
            const float cw = hull_rb - hull_lt;
            const float hull_rb_1 = maximum(v5, v6);
            const float hull_lt_1 = minimum(v7, v8);
            const float ch = hull_rb_1 - hull_lt_1;
            const float hull = cw * ch;
            out_piece[i - start] = overlap / union_ - (hull - union_) / hull;
        }
        from_floats(out_piece, out + start, count);
    });
}
