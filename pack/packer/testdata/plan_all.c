/* Plans problems with a pack, and launches them: plan_all PACK, with a line of numbers a problem in standard input: the
 * operator's place, how many values there are, and the values. */
#include <inttypes.h>
#include <stdio.h>

#include "layers.h"

int main(int count, char** words) {
    autotune_pack* pack;
    int operation, given;
    if (count < 2 || autotune_open(&layers_tables, words[1], &pack)) return puts(autotune_error()), 1;
    while (scanf("%d %d", &operation, &given) == 2) {
        int64_t values[128];
        void* tensors[16];
        autotune_plan* plan;
        for (int i = 0; i < given; i++)
            if (scanf("%" SCNd64, &values[i]) != 1) return 1;
        for (int i = 0; i < 16; i++) tensors[i] = (void*)(uintptr_t)(4096 * (i + 1));
        if (autotune_plan_of(pack, operation, values, NULL, &plan) || autotune_launch(plan, tensors, (void*)0x100000, (void*)7)) return puts(autotune_error()), 1;
        printf("workspaces %zu tuned\n", autotune_workspace_bytes(plan));
    }
    autotune_close(pack);
    return 0;
}
