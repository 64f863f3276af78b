/* Launches the kernel of both on made-up memory: scalars PACK */
#include <stdio.h>

#include "layers.h"

void fake_pointers(int count);

int main(int count, char** words) {
    autotune_pack* pack;
    autotune_plan* plan;
    autotune_both_problem q = AUTOTUNE_BOTH_PROBLEM;
    void* tensors[] = {(void*)0x1000, (void*)0x2000, (void*)0x3000};
    if (count < 2 || autotune_open(&layers_tables, words[1], &pack)) return puts(autotune_error()), 1;
    fake_pointers(4);
    q.n = 64;
    if (autotune_plan_both(pack, q, NULL, &plan) || autotune_launch(plan, tensors, NULL, NULL)) puts(autotune_error());
    autotune_close(pack);
    return 0;
}
