/* Plans problems of layer_norm, whose eps is of floating point: norms PACK */
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
    autotune_close(pack);
    return 0;
}
