/* autotune_pack.h: kernels of a pack that autotune wrote, for C and C++ on Linux.
 *
 * Link autotune_pack.c, the pack's own .c file and -ldl -lpthread; nothing of CUDA is needed to
 * build. The pack's own header declares a problem and two functions an operator.
 *
 *     autotune_pack* pack;
 *     if (autotune_open(&layers_tables, "layers", &pack)) puts(autotune_error());
 *     autotune_max_pool2d_problem q = AUTOTUNE_MAX_POOL2D_PROBLEM;
 *     q.n = 32; q.c = 64; q.h = 512; q.w = 512; q.kernel_h = q.kernel_w = 3;
 *     autotune_plan* plan;
 *     if (autotune_plan_max_pool2d(pack, q, NULL, &plan)) puts(autotune_error());
 *     void* tensors[] = {x, y};
 *     autotune_launch(plan, tensors, workspace, stream);
 *
 * Functions return 0, or another number where autotune_error() says why, for this thread. All
 * may be called by many threads at once. A plan is for the GPU whose context is current when it
 * is made, as cudaSetDevice and cudaFree(0) make it. A plan has its kernels loaded, so launches
 * of it may be captured; make it before. */
#ifndef AUTOTUNE_PACK_H
#define AUTOTUNE_PACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a problem's member that means the operator's default. A double has -0.0 instead. */
#define AUTOTUNE_DEFAULT INT64_MIN

typedef struct autotune_pack autotune_pack;
typedef struct autotune_plan autotune_plan;
typedef struct autotune_tables autotune_tables;

typedef struct {
    int rank, element_bytes;
    int64_t extent[8];
} autotune_shape;

/* Opens a pack's folder, and holds its kernels against their sizes and checksums. */
int autotune_open(const autotune_tables* tables, const char* folder, autotune_pack** pack);
/* Frees the pack and its plans. */
void autotune_close(autotune_pack* pack);
/* The plan for a problem's values; the pack keeps it. math may be NULL: as PyTorch. */
int autotune_plan_of(autotune_pack* pack, int operation, const int64_t* values, const char* math, autotune_plan** plan);
/* 1 where a tuned kernel runs, 0 where the general one does. */
int autotune_tuned(const autotune_plan* plan);
/* The shape of a tensor, by its place among those that a launch takes. */
autotune_shape autotune_shape_of(const autotune_plan* plan, int tensor);
/* Bytes of the workspace that a launch needs, aligned to 256 bytes. */
size_t autotune_workspace_bytes(const autotune_plan* plan);
/* Puts the kernel on a CUstream, which a cudaStream_t is. */
int autotune_launch(const autotune_plan* plan, void* const* tensors, void* workspace, void* stream);
const char* autotune_error(void);

/* What follows is for the pack's own .c file. */
typedef struct { const char* path; int64_t bytes; uint64_t sum; } autotune_file; /* sum: FNV-1a of 64 bits */
typedef struct {
    const char* entry;
    uint32_t grid[3], block[3], shared, cluster[3];
    int cooperative, dependent, count;
    const int* arguments; /* places among the tensors, then the workspaces, the scalars, and 16 words of each map */
} autotune_step;
/* A tensor map is the tensor's address, these words, and zeros. */
typedef struct { int tensor; int64_t word[7]; } autotune_map;
/* What a problem's kernel is launched with. */
typedef struct {
    int steps, workspaces, scalars, sizes, maps;
    autotune_step step[8];
    autotune_map map[8];
    int64_t workspace[30]; /* bytes, and then the scalars' */
    int32_t size[128];     /* the values written into the file */
} autotune_made;
typedef struct {
    int file;
    int64_t at;                                      /* where the file has sizes */
    int (*serve)(const int64_t* v, autotune_made* m); /* 0 where it is not for the problem */
} autotune_variant;
/* A family, or where exact is set the entry of one problem. */
typedef struct {
    int operation, math, automatic, arch, own, measured, exact;
    const char* device;
    int (*has)(const int64_t* v);
    const int* (*leaf)(const int64_t* v); /* the variants to try, then -1 */
    const autotune_variant* variant;
} autotune_family;
typedef struct {
    int operation, math, at; /* at: the index of a value that it is compiled for, or -1 */
    int64_t value;
    int type, file, sizes;
    const char* entry;
    const int* size;
    int arguments;
    const int* argument;
} autotune_general;
typedef struct {
    const char* name;
    int given, math, arch, type, tensors, output, modes; /* counts, and places among values */
    const char* const* mode;
    int (*evaluate)(int64_t* v, autotune_shape* t, char* why, size_t room);
} autotune_operation;
struct autotune_tables {
    int files, families, generals;
    const autotune_file* file;
    const autotune_family* family;
    const autotune_general* general;
    const autotune_operation* operation;
};

#ifdef __cplusplus
}
#endif
#endif
