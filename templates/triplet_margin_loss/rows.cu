// triplet_margin_loss, rows: a team of threads reads three rows with the same layout (rows.cuh). A second launch adds
// up the losses of all rows.
//
// The tunables are those of rows.cu.
#include "rows.cuh"
#include "row_losses.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    triplet_margin_loss_rows(const Element* __restrict__ anchor, const Element* __restrict__ positive, const Element* __restrict__ negative,
                             float* __restrict__ losses) {
    const Vectors of(blockIdx.x / SPLIT, blockIdx.x % SPLIT);
    const Weights weights = WEIGHTS;
    Row<float> state;
    state.start();
    by_groups<false>([&](int first, auto count) {
        constexpr int kCount = count.value;
        float a[kCount][VEC], p[kCount][VEC], n[kCount][VEC];
#pragma unroll
        for (int u = 0; u < kCount; ++u) of.load<false>(a[u], anchor, first + u), of.load<false>(p[u], positive, first + u), of.load<false>(n[u], negative, first + u);
#pragma unroll
        for (int u = 0; u < kCount; ++u) {
            if (of.whole(first + u))
                state.join(a[u], p[u], n[u], weights);
            else
                of.at_ends(first + u, [&](int e, Offset) { state.join({a[u][e]}, {p[u][e]}, {n[u][e]}, weights); });
        }
    });
    state = merge_cluster(merge_team(state));
    state.finish({LENGTH, of.row, of.from == 0}, weights);
    if (of.there && of.from == 0) losses[of.row] = state.give(0.0f, 0, weights);
    begin_dependents();
    leave_cluster();
}

extern "C" __global__ void __launch_bounds__(1024) triplet_margin_loss_whole(const float* losses, Element* __restrict__ y) {
    answer_losses(losses, y, WEIGHTS);
}
