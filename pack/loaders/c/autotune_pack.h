/* autotune_pack.h: kernels of a pack that autotune wrote, for C and C++ on Linux.
 *
 * Link autotune_pack.c, the pack's own .c file and -ldl -lpthread; nothing of CUDA is needed to
 * build. The pack's own header declares a problem and two functions an operator. They run the problems
 * that were packed, and refuse others.
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
/* The shape of a tensor, by its place among those that a launch takes. */
autotune_shape autotune_shape_of(const autotune_plan* plan, int tensor);
/* Bytes of the workspace that a launch needs, aligned to 256 bytes. */
size_t autotune_workspace_bytes(const autotune_plan* plan);
/* Puts the kernel on a CUstream, which a cudaStream_t is. */
int autotune_launch(const autotune_plan* plan, void* const* tensors, void* workspace, void* stream);
const char* autotune_error(void);

/* What follows is for the pack's own .c file. */
typedef struct { const char* path; int64_t bytes; uint64_t sum; } autotune_file; /* sum: FNV-1a of 64 bits */
/* An argument that is passed as a tensor map: its address, these words, and zeros. */
typedef struct { int argument; int64_t word[7]; } autotune_map;
typedef struct {
    const char* entry;
    uint32_t grid[3], block[3], shared, cluster[3];
    int cooperative, dependent, arguments, maps;
    const int* argument; /* places among the tensors, then the workspaces, then the scalars */
    const autotune_map* map;
} autotune_step;
typedef struct { int64_t is; int usual; } autotune_value; /* usual: AUTOTUNE_DEFAULT means it, too */
/* The kernel for one problem. */
typedef struct {
    int operation, file, arch, own, measured;
    const char *device, *math;
    int usual; /* no name of a math mode means it, too */
    const autotune_value* value;
    const autotune_shape* shape; /* of tensors */
    int tensors, steps, workspaces, scalars;
    const autotune_step* step;
    const int64_t* more; /* the bytes of workspaces, then the scalars */
} autotune_entry;
typedef struct { const char* name; int values; } autotune_operation;
struct autotune_tables {
    int files, entries;
    const autotune_file* file;
    const autotune_entry* entry;
    const autotune_operation* operation;
};

#ifdef __cplusplus
}
#endif
#endif
