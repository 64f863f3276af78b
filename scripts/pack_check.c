/* A program in C that uses a pack called layers with max_pool2d 32x64x112x112 (kernel 3, stride 2, padding 1):
 *
 *     P=layers; gcc -I$P/c scripts/pack_check.c $P/c/autotune_pack.c $P/c/layers.c -ldl -lpthread -o pack_check
 *     ./pack_check $P
 *
 * The kernel must give the same bits as the host. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "layers.h"

enum { IMAGES = 32 * 64, IN = 112, OUT = 56 };

static void* symbol(const char* name) {
    void* found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    if (!found) exit(fprintf(stderr, "no %s\n", name));
    return found;
}

static float largest(const float* image, int row, int column) {
    float most = -1;
    for (int h = 2 * row - 1; h < 2 * row + 2; h++)
        for (int w = 2 * column - 1; w < 2 * column + 2; w++)
            if (h >= 0 && h < IN && w >= 0 && w < IN && image[h * IN + w] > most) most = image[h * IN + w];
    return most;
}

int main(int count, char** words) {
    int (*allocate)(uint64_t*, size_t), (*in)(uint64_t, const void*, size_t), (*out)(void*, uint64_t, size_t);
    int (*retain)(void**, int), (*set)(void*), (*init)(unsigned);
    *(void**)&allocate = symbol("cuMemAlloc_v2"), *(void**)&in = symbol("cuMemcpyHtoD_v2");
    *(void**)&out = symbol("cuMemcpyDtoH_v2"), *(void**)&retain = symbol("cuDevicePrimaryCtxRetain");
    *(void**)&set = symbol("cuCtxSetCurrent"), *(void**)&init = symbol("cuInit");
    void* context;
    autotune_pack* pack;
    autotune_plan* plan;
    autotune_max_pool2d_problem q = AUTOTUNE_MAX_POOL2D_PROBLEM;
    q.n = 32, q.c = 64, q.h = q.w = IN, q.kernel_h = q.kernel_w = 3, q.stride_h = q.stride_w = 2, q.padding_h = q.padding_w = 1;
    if (init(0) || retain(&context, 0) || set(context)) return fprintf(stderr, "no GPU\n");
    if (autotune_open(&layers_tables, count > 1 ? words[1] : "layers", &pack) ||
        autotune_plan_max_pool2d(pack, q, NULL, &plan))
        return fprintf(stderr, "%s\n", autotune_error());
    size_t x_bytes = (size_t)IMAGES * IN * IN * 4, y_bytes = (size_t)IMAGES * OUT * OUT * 4;
    float *x = (float*)malloc(x_bytes), *y = (float*)malloc(y_bytes);
    for (size_t i = 0; i < x_bytes / 4; i++) x[i] = (float)((uint32_t)i * 2654435761u >> 8) / 1e6f;
    uint64_t at[3] = {0};
    size_t room = autotune_workspace_bytes(plan);
    if (allocate(&at[0], x_bytes) || allocate(&at[1], y_bytes) || (room && allocate(&at[2], room)) || in(at[0], x, x_bytes))
        return fprintf(stderr, "no memory\n");
    void* tensors[] = {(void*)at[0], (void*)at[1]};
    if (autotune_launch(plan, tensors, (void*)at[2], NULL)) return fprintf(stderr, "%s\n", autotune_error());
    if (out(y, at[1], y_bytes)) return fprintf(stderr, "the kernel failed\n");
    int wrong = 0;
    for (int i = 0; i < IMAGES * OUT * OUT; i++)
        wrong += y[i] != largest(x + (size_t)(i / OUT / OUT) * IN * IN, i / OUT % OUT, i % OUT);
    printf("C: %d wrong\n", wrong);
    return wrong != 0;
}
