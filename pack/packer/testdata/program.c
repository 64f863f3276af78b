/* Uses a pack of conv2d and layer_norm, as a program in C would. */
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
    printf("%s: y %lldx%lldx%lldx%lld of %d bytes, workspace %zu\n", what, (long long)y.extent[0], (long long)y.extent[1],
           (long long)y.extent[2], (long long)y.extent[3], y.element_bytes, autotune_workspace_bytes(p));
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
    return autotune_plan_conv2d(pack, problem(), NULL, &p) ? (void*)autotune_error() : unused;
}

int main(int count, char** words) {
    fake_pointers(2);
    if (count < 2 || autotune_open(&layers_tables, words[1], &pack)) {
        printf("open: %s\n", autotune_error());
        return 0;
    }
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, many, NULL);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    autotune_conv2d_problem q = problem();
    plan("exact", q, NULL);
    q.stride_h = q.stride_w = 1, q.groups = 1;
    plan("as by default", q, NULL);
    plan("named", q, "tf32");
    plan("no mode", q, "fp8");
    q.n = 2;
    plan("other", q, NULL);
    q = problem(), q.stride_h = 0;
    plan("stride", q, NULL);
    fake_device(1);
    plan("elsewhere", problem(), NULL);
    fake_device(0);
    void* nothing = NULL;
    if (autotune_conv2d(pack, problem(), NULL, nothing, nothing, nothing, nothing, nothing, nothing)) printf("null: %s\n", autotune_error());
    const double epsilons[] = {-0.0, 1e-5, 1e-3};
    for (int i = 0; i < 3; i++) {
        autotune_layer_norm_problem norm = AUTOTUNE_LAYER_NORM_PROBLEM;
        autotune_plan* p;
        norm.outer = 4, norm.length = 64, norm.inner = 1, norm.eps = epsilons[i];
        printf("norm: %s\n", autotune_plan_layer_norm(pack, norm, NULL, &p) ? autotune_error() : "planned");
    }
    autotune_close(pack);
    return 0;
}
