/* Uses a pack of conv2d, as a program in C would. */
#include <pthread.h>
#include <stdio.h>

#include "layers.h"

void fake_device(int ordinal);
void fake_pointers(int count);

static autotune_pack* pack;

static void plan(const char* what, autotune_conv2d_problem q, const char* math) {
    autotune_plan* p;
    if (autotune_plan_conv2d(pack, q, math, &p)) {
        printf("%s: %s\n", what, autotune_error());
        return;
    }
    autotune_shape y = autotune_shape_of(p, 3);
    printf("%s: %s, y %lldx%lldx%lldx%lld of %d bytes, workspace %zu\n", what, autotune_tuned(p) ? "tuned" : "general", (long long)y.extent[0],
           (long long)y.extent[1], (long long)y.extent[2], (long long)y.extent[3], y.element_bytes, autotune_workspace_bytes(p));
    void* tensors[] = {(void*)0x1000, (void*)0x2000, NULL, (void*)0x3000};
    if (autotune_launch(p, tensors, (void*)0x10000, (void*)7)) printf("%s: %s\n", what, autotune_error());
}

static autotune_conv2d_problem problem(void) {
    autotune_conv2d_problem q = AUTOTUNE_CONV2D_PROBLEM;
    q.n = 1, q.c = 4, q.h = 9, q.w = 9;
    return q;
}

static void* many(void* unused) {
    autotune_plan* p;
    autotune_conv2d_problem q = problem();
    q.c_out = 6;
    return autotune_plan_conv2d(pack, q, NULL, &p) ? (void*)autotune_error() : unused;
}

int main(int count, char** words) {
    fake_pointers(2);
    if (count < 2 || autotune_open(&layers_tables, words[1], &pack)) {
        printf("open: %s\n", autotune_error());
        return 0;
    }
    autotune_conv2d_problem q = problem();
    plan("exact", q, NULL);
    plan("again", q, NULL);
    plan("named", q, "fp32");
    plan("no mode", q, "fp8");
    q.n = 2;
    plan("other", q, NULL);
    q.stride_h = 0;
    plan("stride", q, NULL);
    q = problem(), q.groups = 3;
    plan("groups", q, NULL);
    q = problem(), q.padding_w = INT64_MAX;
    plan("padding", q, NULL);
    fake_device(1);
    plan("elsewhere", problem(), NULL);
    fake_device(0);
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, many, NULL);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    void* nothing = NULL;
    if (autotune_conv2d(pack, problem(), NULL, nothing, nothing, nothing, nothing, nothing, nothing)) printf("null: %s\n", autotune_error());
    autotune_close(pack);
    return 0;
}
