/* Launches a kernel that has a tensor in constant memory and two outputs: constants PACK */
#include <stdio.h>

#include "layers.h"

void fake_pointers(int count);

static void attempt(autotune_pack* pack, const char* what, int64_t n, void* stream) {
    autotune_plan* plan;
    autotune_smooth_problem q = AUTOTUNE_SMOOTH_PROBLEM;
    void* tensors[] = {(void*)0x1000, (void*)0x5000, (void*)0x3000, (void*)0x6000}; /* weights, y, x, negative */
    q.n = n;
    if (autotune_plan_smooth(pack, q, NULL, &plan) || autotune_launch(plan, tensors, NULL, stream)) printf("%s %s\n", what, autotune_error());
}

int main(int count, char** words) {
    autotune_pack* pack;
    if (count < 2 || autotune_open(&layers_tables, words[1], &pack)) return puts(autotune_error()), 1;
    fake_pointers(3);
    attempt(pack, "tuned", 64, (void*)7);
    attempt(pack, "again", 64, (void*)8);
    attempt(pack, "captured", 64, (void*)0x99);
    fake_pointers(5);
    attempt(pack, "general", 65, (void*)7);
    autotune_close(pack);
    return 0;
}
