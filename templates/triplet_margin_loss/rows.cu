// triplet_margin_loss, rows: the frame of rows.cuh over three tensors at once. A second launch puts the losses together.
//
//   global -> registers   UNROLL vectors of each tensor a thread at once
//   registers -> Row      a state a thread, then one a team
//   Row -> workspace      a loss a row
//
// Tunables: as rows.cu has them.
#include "rows.cuh"
#include "row_losses.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    triplet_margin_loss_rows(const Element* __restrict__ anchor, const Element* __restrict__ positive, const Element* __restrict__ negative, float* __restrict__ losses) {
    const Vectors of(blockIdx.x / SPLIT, blockIdx.x % SPLIT);
    Row<float> state;
    state.start();
    by_groups([&](int first, auto count) {
        constexpr int kCount = count.value;
        float a[kCount][VEC], p[kCount][VEC], n[kCount][VEC];
#pragma unroll
        for (int u = 0; u < kCount; ++u) of.load(a[u], anchor, first + u), of.load(p[u], positive, first + u), of.load(n[u], negative, first + u);
#pragma unroll
        for (int u = 0; u < kCount; ++u) {
            if (of.whole(first + u))
#pragma unroll
                for (int e = 0; e < VEC; ++e) state.join(a[u][e], p[u][e], n[u][e]);
            else
                of.at_ends(first + u, [&](int e, Offset) { state.join(a[u][e], p[u][e], n[u][e]); });
        }
    });
    state = merge_cluster(merge_team(state));
    if (of.there && of.from == 0) {
        state.finish({LENGTH, of.row, true}, {});
        losses[of.row] = state.give(0.0f, 0, {});
    }
    begin_dependents();
}

extern "C" __global__ void __launch_bounds__(1024) triplet_margin_loss_whole(const float* __restrict__ losses, Element* __restrict__ y) {
    answer_losses(losses, y, WEIGHTS);
}
