/* autotune_pack.c: see autotune_pack.h. libcuda is opened when it is first needed. */
#if !defined _GNU_SOURCE && !defined _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L /* for O_CLOEXEC, in strict C */
#endif
#include "autotune_pack.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_VALUES = 128, MOST_TENSORS = 16, MOST_ARGUMENTS = 48, MOST_STEPS = 8, MOST_MAPS = 8, MOST_GPUS = 32, BUCKETS = 256 };
enum { MAP_WORDS = 16 }; /* of 8 bytes */

static __thread char error[512];

const char* autotune_error(void) { return error; }

static int fail(const char* what, const char* why) {
    snprintf(error, sizeof error, "%s: %s", what, why);
    return 1;
}

/* ---- libcuda ---- */

typedef struct { unsigned id, unused; unsigned value[16]; } Attribute;
typedef struct { unsigned sizes[7]; void* stream; Attribute* attributes; unsigned count; } Config;

static struct {
    int (*cuInit)(unsigned), (*cuGetErrorString)(int, const char**), (*cuCtxGetDevice)(int*), (*cuDeviceGetName)(char*, int, int);
    int (*cuDeviceGetAttribute)(int*, int, int), (*cuModuleLoadData)(void**, const void*), (*cuModuleGetFunction)(void**, void*, const char*);
    int (*cuFuncSetAttribute)(void*, int, int);
    int (*cuLaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
    int (*cuFuncLoad)(void*), (*cuLaunchKernelEx)(const Config*, void*, void**, void**); /* NULL on older drivers */
} cuda;
static const char* no_cuda;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void open_cuda(void) {
    void* lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) {
        no_cuda = "libcuda.so.1 cannot be opened: there is no NVIDIA driver";
        return;
    }
#define FIND(name) *(void**)&cuda.name = dlsym(lib, #name)
#define NEED(name) if (!(FIND(name))) no_cuda = "libcuda.so.1 lacks " #name
    NEED(cuInit); NEED(cuGetErrorString); NEED(cuCtxGetDevice); NEED(cuDeviceGetName); NEED(cuDeviceGetAttribute);
    NEED(cuModuleLoadData); NEED(cuModuleGetFunction); NEED(cuFuncSetAttribute); NEED(cuLaunchKernel);
    FIND(cuFuncLoad); FIND(cuLaunchKernelEx);
    if (!no_cuda && cuda.cuInit(0)) no_cuda = "cuInit failed: there is no GPU that can be used";
}

static int check(const char* what, int code) {
    const char* text = NULL;
    if (!code) return 0;
    cuda.cuGetErrorString(code, &text);
    return fail(what, text ? text : "an unknown error of the driver");
}

/* ---- files ---- */

/* FNV-1a, 64 bits: it finds damage, not forgery. */
static uint64_t mixed(const void* data, size_t size) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const unsigned char*)data)[i]) * 1099511628211u;
    return hash;
}

struct autotune_pack {
    const autotune_tables* tables;
    unsigned char** images;         /* a file each, with a zero behind it */
    void* (*modules)[MOST_GPUS];    /* a file and GPU each */
    autotune_plan* plans[BUCKETS];  /* lists */
    pthread_mutex_t mutex;
};

static int read_file(const char* folder, const autotune_file* f, unsigned char** image) {
    char path[4096];
    struct stat about;
    if (snprintf(path, sizeof path, "%s/%s", folder, f->path) >= (int)sizeof path) return fail(f->path, "the folder's path is too long");
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* which waits for no writer of a pipe */
    if (file < 0) return fail(path, "it is missing, or cannot be read");
    if (fstat(file, &about) || !S_ISREG(about.st_mode)) {
        close(file);
        return fail(path, "it is no regular file");
    }
    if (about.st_size != f->bytes) {
        close(file);
        return fail(path, "it is not the file that was packed");
    }
    *image = (unsigned char*)calloc(1, (size_t)f->bytes + 2);
    size_t got = 0;
    while (*image && got <= (size_t)f->bytes) {
        ssize_t more = read(file, *image + got, (size_t)f->bytes + 1 - got);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) break;
        got += (size_t)more;
    }
    close(file);
    if (!*image) return fail(path, "there is too little memory");
    if (got != (size_t)f->bytes || mixed(*image, got) != f->sum) return fail(path, "it is not the file that was packed");
    return 0;
}

int autotune_open(const autotune_tables* tables, const char* folder, autotune_pack** pack) {
    autotune_pack* p = (autotune_pack*)calloc(1, sizeof *p);
    *pack = NULL;
    if (!p) return fail(folder, "there is too little memory");
    p->tables = tables;
    p->images = (unsigned char**)calloc((size_t)tables->files + 1, sizeof *p->images);
    p->modules = (void* (*)[MOST_GPUS])calloc((size_t)tables->files + 1, sizeof *p->modules);
    pthread_mutex_init(&p->mutex, NULL);
    for (int i = 0; i < tables->files; i++)
        if (!p->images || !p->modules || read_file(folder, &tables->file[i], &p->images[i])) {
            autotune_close(p);
            return 1;
        }
    *pack = p;
    return 0;
}

/* ---- plans ---- */

struct autotune_plan {
    autotune_plan* next;
    const autotune_operation* operation;
    int tuned, device;
    int64_t given[MOST_VALUES], sizes[MOST_VALUES];
    int sized;
    autotune_shape shape[MOST_TENSORS];
    autotune_made made;
    void* function[MOST_STEPS];
    unsigned char* image;         /* a file with the problem's sizes in it; NULL: as packed */
    void* own;                    /* the module of that image */
    char math[32];
};

void autotune_close(autotune_pack* p) {
    if (!p) return;
    for (int i = 0; p->images && i < p->tables->files; i++) free(p->images[i]);
    for (int i = 0; i < BUCKETS; i++)
        for (autotune_plan *plan = p->plans[i], *next; plan; plan = next) {
            next = plan->next;
            free(plan->image);
            free(plan);
        }
    free(p->images);
    free(p->modules);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

/* A copy of a file with a plan's sizes in it, the lowest byte first. */
static int write_sizes(autotune_pack* p, autotune_plan* plan, int file, int64_t at) {
    const autotune_file* f = &p->tables->file[file];
    if (at < 0 || at > f->bytes - 4 * plan->made.sizes) return fail(f->path, "its sizes are not within it");
    plan->image = (unsigned char*)malloc((size_t)f->bytes + 2);
    if (!plan->image) return fail(f->path, "there is too little memory");
    memcpy(plan->image, p->images[file], (size_t)f->bytes + 2);
    for (int i = 0; i < 4 * plan->made.sizes; i++) plan->image[at + i] = (unsigned char)((uint32_t)plan->made.size[i / 4] >> 8 * (i % 4));
    return 0;
}

static int64_t bytes_of(const autotune_shape* s) {
    int64_t bytes = s->element_bytes;
    for (int i = 0; i < s->rank; i++) bytes *= s->extent[i];
    return bytes;
}

static int load(autotune_pack* p, autotune_plan* plan, int file) {
    void** module = plan->image ? &plan->own : &p->modules[file][plan->device];
    const unsigned char* image = plan->image ? plan->image : p->images[file];
    if (!*module && check(p->tables->file[file].path, cuda.cuModuleLoadData(module, image))) return 1;
    for (int i = 0; i < plan->made.steps; i++) {
        const autotune_step* s = &plan->made.step[i];
        void** function = &plan->function[i];
        const char* name = s->entry;
        if (check(name, cuda.cuModuleGetFunction(function, *module, name))) return 1;
        /* More than 48 KB must be allowed; the kernel's static memory counts, too. */
        if (s->shared > 0 && check(name, cuda.cuFuncSetAttribute(*function, 8, (int)s->shared))) return 1;
        if (cuda.cuFuncLoad && check(name, cuda.cuFuncLoad(*function))) return 1;
    }
    return 0;
}

typedef struct { char name[256]; int arch, shared; } GPU;

static int describe(int device, GPU* g) {
    int major = 0, minor = 0;
    if (check("cuDeviceGetName", cuda.cuDeviceGetName(g->name, sizeof g->name, device))) return 1;
    if (check("cuDeviceGetAttribute", cuda.cuDeviceGetAttribute(&major, 75, device) | cuda.cuDeviceGetAttribute(&minor, 76, device) |
                                          cuda.cuDeviceGetAttribute(&g->shared, 97, device)))
        return 1;
    g->arch = 10 * major + minor;
    return 0;
}

/* Above 0 if the GPU can run code for an architecture; the larger, the better it suits. */
static int rank(int arch, int own, int measured, const char* device, const GPU* g) {
    if (arch != g->arch && (own || arch / 10 != g->arch / 10 || arch > g->arch)) return 0;
    return 1 + arch + own + (measured && !strcmp(device, g->name) ? 10000 : 0);
}

static int fits(const autotune_step* step, int steps, const char* device, const GPU* g) {
    for (int i = 0; i < steps; i++)
        if ((int64_t)step[i].shared > g->shared || (step[i].cooperative && strcmp(device, g->name))) return 0;
    return 1;
}

/* The kernel that a family's tree chooses for a problem, and its launches. */
static const autotune_variant* chosen(const autotune_family* f, const int64_t* v, const GPU* g, autotune_made* made) {
    for (const int* at = f->leaf(v); at && *at >= 0; at++) {
        const autotune_variant* variant = &f->variant[*at];
        memset(made, 0, sizeof *made);
        if (variant->serve(v, made) && fits(made->step, made->steps, f->device, g)) return variant;
    }
    return NULL;
}

/* Finds an entry or a family for a plan, and returns the kernel's file, or -1; -2 is an error. */
static int tuned(autotune_pack* p, autotune_plan* plan, int operation, const int64_t* v, const GPU* g, int exact) {
    const autotune_family* found = NULL;
    int best = 0;
    for (int i = 0; i < p->tables->families; i++) {
        const autotune_family* f = &p->tables->family[i];
        int mode = f->math == v[plan->operation->math] || (!*plan->math && f->automatic), r = rank(f->arch, f->own, f->measured, f->device, g);
        if (f->operation != operation || f->exact != exact || !mode || r <= best || !f->has(v)) continue;
        if (!exact || chosen(f, v, g, &plan->made)) best = r, found = f;
    }
    const autotune_variant* variant = found ? chosen(found, v, g, &plan->made) : NULL;
    if (!variant) return -1;
    return plan->made.sizes && write_sizes(p, plan, variant->file, variant->at) ? -2 : variant->file;
}

/* Takes the kernel that is correct for every problem. */
static int general(autotune_pack* p, autotune_plan* plan, int operation, const int64_t* v) {
    const autotune_operation* o = plan->operation;
    for (int i = 0; i < p->tables->generals; i++) {
        const autotune_general* k = &p->tables->general[i];
        if (k->operation != operation || k->math != v[o->math] || (o->type >= 0 && k->type != v[o->type]) || (k->at >= 0 && k->value != v[k->at])) continue;
        int64_t elements = 1;
        for (int j = 0; j < plan->shape[o->output].rank; j++) elements *= plan->shape[o->output].extent[j];
        int64_t blocks = (elements + 255) / 256;
        autotune_step step = {k->entry, {(uint32_t)(blocks < 1 << 20 ? blocks : 1 << 20), 1, 1}, {256, 1, 1}, 0, {0}, 0, 0, k->arguments, k->argument};
        for (int j = 0; j < k->sizes; j++) plan->sizes[j] = v[k->size[j]];
        plan->sizes[k->sizes] = elements;
        plan->sized = k->sizes + 1;
        memset(&plan->made, 0, sizeof plan->made);
        plan->made.steps = 1;
        plan->made.step[0] = step;
        return k->file;
    }
    fail(o->name, "no kernel of the pack is for this problem on this GPU");
    return -2;
}

static int make(autotune_pack* p, int operation, autotune_plan* plan) {
    const autotune_operation* o = plan->operation;
    int64_t v[MOST_VALUES] = {0};
    char why[400] = "";
    GPU g;
    if (describe(plan->device, &g)) return 1;
    memcpy(v, plan->given, sizeof *v * (size_t)o->given);
    v[o->arch] = g.arch;
    v[o->math] = AUTOTUNE_DEFAULT;
    for (int i = 0; i < o->modes; i++)
        if (!strcmp(o->mode[i], plan->math)) v[o->math] = i;
    if (*plan->math && v[o->math] == AUTOTUNE_DEFAULT) return fail(plan->math, "the operator has no such math mode");
    if (!o->evaluate(v, plan->shape, why, sizeof why)) return fail(o->name, why);
    int file = tuned(p, plan, operation, v, &g, 1);
    if (file == -1) file = tuned(p, plan, operation, v, &g, 0);
    plan->tuned = file >= 0;
    if (file == -1) file = general(p, plan, operation, v);
    return file < 0 || load(p, plan, file);
}

int autotune_plan_of(autotune_pack* p, int operation, const int64_t* values, const char* math, autotune_plan** plan) {
    autotune_plan key;
    pthread_once(&once, open_cuda);
    if (no_cuda) return fail("libcuda", no_cuda);
    memset(&key, 0, sizeof key);
    key.operation = &p->tables->operation[operation];
    memcpy(key.given, values, sizeof *values * (size_t)key.operation->given);
    snprintf(key.math, sizeof key.math, "%s", math ? math : "");
    if (check("cuCtxGetDevice: no context is current", cuda.cuCtxGetDevice(&key.device))) return 1;
    if (key.device >= MOST_GPUS) return fail("autotune_plan", "there are more GPUs than a pack can use");
    autotune_plan** list = &p->plans[(mixed(key.given, sizeof key.given) >> 32) % BUCKETS];
    pthread_mutex_lock(&p->mutex);
    autotune_plan* found = *list;
    while (found && (found->operation != key.operation || found->device != key.device || strcmp(found->math, key.math) ||
                     memcmp(found->given, key.given, sizeof key.given)))
        found = found->next;
    if (!found && (found = (autotune_plan*)malloc(sizeof *found))) {
        *found = key;
        if (make(p, operation, found)) {
            free(found->image);
            free(found);
            found = NULL;
        } else {
            found->next = *list;
            *list = found;
        }
    }
    pthread_mutex_unlock(&p->mutex);
    *plan = found;
    return !found;
}

int autotune_tuned(const autotune_plan* plan) { return plan->tuned; }

autotune_shape autotune_shape_of(const autotune_plan* plan, int tensor) { return plan->shape[tensor]; }

static size_t padded(int64_t bytes) { return ((size_t)bytes + 255) / 256 * 256; }

size_t autotune_workspace_bytes(const autotune_plan* plan) {
    size_t bytes = 0;
    for (int i = 0; i < plan->made.workspaces; i++) bytes += padded(plan->made.workspace[i]);
    return bytes;
}

static int launch(const autotune_plan* plan, int step, void** pointers, void* stream) {
    const autotune_step* l = &plan->made.step[step];
    void *function = plan->function[step], *taken[MOST_ARGUMENTS];
    Attribute attributes[3] = {{0}};
    int count = 0, last = l->count;
    for (int i = 0; i < l->count; i++) taken[i] = &pointers[l->arguments[i]];
    if (plan->sized) { /* the sizes as a struct, and the last of them, the number of elements, by itself */
        taken[last++] = (void*)plan->sizes;
        taken[last++] = (void*)&plan->sizes[plan->sized - 1];
    }
    if (l->cooperative) attributes[count].id = 2, attributes[count++].value[0] = 1;
    if (l->cluster[0] * l->cluster[1] * l->cluster[2] > 1) attributes[count].id = 4, memcpy(attributes[count++].value, l->cluster, sizeof l->cluster);
    if (l->dependent) attributes[count].id = 6, attributes[count++].value[0] = 1;
    if (!count)
        return check(l->entry, cuda.cuLaunchKernel(function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                                                   l->shared, stream, taken, NULL));
    if (!cuda.cuLaunchKernelEx) return fail(l->entry, "the launch needs a driver of CUDA 11.8 or newer");
    Config config = {{l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared}, stream, attributes, (unsigned)count};
    return check(l->entry, cuda.cuLaunchKernelEx(&config, function, taken, NULL));
}

int autotune_launch(const autotune_plan* plan, void* const* tensors, void* workspace, void* stream) {
    void* pointers[MOST_ARGUMENTS + MAP_WORDS * MOST_MAPS];
    int count = plan->operation->tensors;
    for (int i = 0; i < count; i++) {
        int64_t bytes = bytes_of(&plan->shape[i]);
        if (bytes && (!tensors[i] || (uintptr_t)tensors[i] % 16)) return fail(plan->operation->name, "a tensor is null, or not aligned to 16 bytes");
        pointers[i] = bytes ? tensors[i] : NULL;
    }
    if (autotune_workspace_bytes(plan) && (!workspace || (uintptr_t)workspace % 256))
        return fail(plan->operation->name, "the workspace is null, or not aligned to 256 bytes");
    for (int i = 0; i < plan->made.workspaces; i++) {
        pointers[count++] = plan->made.workspace[i] ? workspace : NULL;
        workspace = (char*)workspace + padded(plan->made.workspace[i]);
    }
    for (int i = 0; i < plan->made.scalars; i++) pointers[count++] = (void*)(uintptr_t)plan->made.workspace[plan->made.workspaces + i];
    for (int i = 0; i < plan->made.maps; i++, count += MAP_WORDS) {
        const autotune_map* map = &plan->made.map[i];
        memset(&pointers[count], 0, MAP_WORDS * sizeof *pointers);
        pointers[count] = pointers[map->tensor];
        memcpy(&pointers[count + 1], map->word, sizeof map->word);
    }
    for (int i = 0; i < plan->made.steps; i++)
        if (launch(plan, i, pointers, stream)) return 1;
    return 0;
}
