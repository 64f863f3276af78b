/* A program in C that uses a pack called layers with max_pool2d 32x64x112x112 (kernel 3, stride 2, padding 1):
 *
 *     P=layers; gcc -I$P/c scripts/pack_check.c $P/c/autotune_pack.c $P/c/layers.c -ldl -lpthread -o pack_check
 *     ./pack_check $P
 *
 * The tuned kernel and the general one, which runs for one image more, must give the same bits. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layers.h"

static void* symbol(const char* name) {
    void* found = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);
    if (!found) exit(fprintf(stderr, "no %s\n", name));
    return found;
}

int main(int count, char** words) {
    int (*allocate)(uint64_t*, size_t), (*in)(uint64_t, const void*, size_t), (*out)(void*, uint64_t, size_t), (*retain)(void**, int), (*set)(void*), (*init)(unsigned);
    *(void**)&allocate = symbol("cuMemAlloc_v2"), *(void**)&in = symbol("cuMemcpyHtoD_v2"), *(void**)&out = symbol("cuMemcpyDtoH_v2");
    *(void**)&retain = symbol("cuDevicePrimaryCtxRetain"), *(void**)&set = symbol("cuCtxSetCurrent"), *(void**)&init = symbol("cuInit");
    void* context;
    autotune_pack* pack;
    autotune_plan *tuned, *general;
    autotune_max_pool2d_problem q = AUTOTUNE_MAX_POOL2D_PROBLEM;
    q.n = 32, q.c = 64, q.h = q.w = 112, q.kernel_h = q.kernel_w = 3, q.stride_h = q.stride_w = 2, q.padding_h = q.padding_w = 1;
    if (init(0) || retain(&context, 0) || set(context)) return fprintf(stderr, "no GPU\n");
    if (autotune_open(&layers_tables, count > 1 ? words[1] : "layers", &pack)) return fprintf(stderr, "%s\n", autotune_error());
    if (autotune_plan_max_pool2d(pack, q, NULL, &tuned)) return fprintf(stderr, "%s\n", autotune_error());
    q.n++;
    if (autotune_plan_max_pool2d(pack, q, NULL, &general)) return fprintf(stderr, "%s\n", autotune_error());
    size_t x_bytes = (size_t)q.n * 64 * 112 * 112 * 4, y_bytes = 32u * 64 * 56 * 56 * 4;
    float* x = (float*)malloc(x_bytes);
    char *a = (char*)malloc(y_bytes), *b = (char*)malloc(y_bytes);
    for (size_t i = 0; i < x_bytes / 4; i++) x[i] = (float)((uint32_t)i * 2654435761u >> 8) / 1e6f;
    uint64_t at[4] = {0};
    size_t room = autotune_workspace_bytes(tuned);
    if (allocate(&at[0], x_bytes) || allocate(&at[1], y_bytes * 2) || allocate(&at[2], y_bytes * 2) || (room && allocate(&at[3], room)) || in(at[0], x, x_bytes))
        return fprintf(stderr, "no memory\n");
    void *first[] = {(void*)at[0], (void*)at[1]}, *second[] = {(void*)at[0], (void*)at[2]};
    if (autotune_launch(tuned, first, (void*)at[3], NULL) || autotune_launch(general, second, NULL, NULL)) return fprintf(stderr, "%s\n", autotune_error());
    if (out(a, at[1], y_bytes) || out(b, at[2], y_bytes)) return fprintf(stderr, "a kernel failed\n");
    printf("C: tuned %d, general %d, %s\n", autotune_tuned(tuned), !autotune_tuned(general), memcmp(a, b, y_bytes) ? "OTHER BITS" : "the same bits");
    return memcmp(a, b, y_bytes) != 0;
}
