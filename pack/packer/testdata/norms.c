/* Plans problems of layer_norm, whose eps is of floating point, and of cross_entropy, which needs one to be 0: norms PACK */
#include <stdio.h>

#include "layers.h"

int main(int count, char** words) {
    autotune_pack* pack;
    if (count < 2 || autotune_open(&layers_tables, words[1], &pack)) return puts(autotune_error()), 1;
    const double epsilons[] = {-0.0, 1e-5, 1e-3, -1, 1 / -0.0};
    for (int i = 0; i < 5; i++) {
        autotune_layer_norm_problem q = AUTOTUNE_LAYER_NORM_PROBLEM;
        autotune_plan* plan;
        q.outer = 4, q.length = 64, q.inner = 1, q.eps = epsilons[i];
        if (autotune_plan_layer_norm(pack, q, NULL, &plan))
            puts(autotune_error());
        else
            puts(autotune_tuned(plan) ? "tuned" : "general");
    }
    for (int i = 0; i < 2; i++) {
        autotune_cross_entropy_problem q = AUTOTUNE_CROSS_ENTROPY_PROBLEM;
        autotune_plan* plan;
        q.outer = 4, q.length = 64, q.inner = 1, q.weight = i, q.label_smoothing = 0.25;
        puts(autotune_plan_cross_entropy(pack, q, NULL, &plan) ? autotune_error() : "planned");
    }
    autotune_close(pack);
    return 0;
}
