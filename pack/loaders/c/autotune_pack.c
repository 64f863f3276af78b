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

enum { MOST_GPUS = 32, MOST_ARGUMENTS = 64, MOST_MAPS = 8 }; /* of a launch, as the packer has them */

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

struct autotune_plan {
    const autotune_entry* entry;
    void* function[]; /* one for each step */
};

struct autotune_pack {
    const autotune_tables* tables;
    unsigned char** images;            /* a file each, with a zero behind it */
    void* (*modules)[MOST_GPUS];       /* a file and GPU each */
    autotune_plan* (*plans)[MOST_GPUS]; /* an entry and GPU each */
    pthread_mutex_t mutex;
};

static int read_file(const char* folder, const autotune_file* f, unsigned char** image) {
    char path[4096];
    struct stat about;
    if (snprintf(path, sizeof path, "%s/%s", folder, f->path) >= (int)sizeof path)
        return fail(f->path, "the folder's path is too long");
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
    p->plans = (autotune_plan* (*)[MOST_GPUS])calloc((size_t)tables->entries + 1, sizeof *p->plans);
    pthread_mutex_init(&p->mutex, NULL);
    for (int i = 0; i < tables->files; i++)
        if (!p->images || !p->modules || !p->plans || read_file(folder, &tables->file[i], &p->images[i])) {
            autotune_close(p);
            return 1;
        }
    *pack = p;
    return 0;
}

void autotune_close(autotune_pack* p) {
    if (!p) return;
    for (int i = 0; p->images && i < p->tables->files; i++) free(p->images[i]);
    for (int i = 0; p->plans && i < p->tables->entries; i++)
        for (int gpu = 0; gpu < MOST_GPUS; gpu++) free(p->plans[i][gpu]);
    free(p->images);
    free(p->modules);
    free(p->plans);
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

/* ---- plans ---- */

typedef struct { char name[256]; int arch, shared; } GPU;

static int describe(int device, GPU* g) {
    int major = 0, minor = 0;
    if (check("cuDeviceGetName", cuda.cuDeviceGetName(g->name, sizeof g->name, device)) ||
        check("cuDeviceGetAttribute", cuda.cuDeviceGetAttribute(&major, 75, device)) ||
        check("cuDeviceGetAttribute", cuda.cuDeviceGetAttribute(&minor, 76, device)) ||
        check("cuDeviceGetAttribute", cuda.cuDeviceGetAttribute(&g->shared, 97, device)))
        return 1;
    g->arch = 10 * major + minor;
    return 0;
}

/* Above 0 if the GPU can run an entry; the larger, the better it suits. */
static int rank(const autotune_entry* e, const GPU* g) {
    int same = !strcmp(e->device, g->name);
    if (e->arch != g->arch && (e->own || e->arch / 10 != g->arch / 10 || e->arch > g->arch)) return 0;
    for (int i = 0; i < e->steps; i++)
        if ((int64_t)e->step[i].shared > g->shared || (e->step[i].cooperative && !same)) return 0;
    return 1 + e->arch + e->own + (e->measured && same ? 10000 : 0);
}

static int serves(const autotune_entry* e, const int64_t* values, int count, const char* math) {
    if (math && *math ? strcmp(e->math, math) != 0 : !e->usual) return 0;
    for (int i = 0; i < count; i++)
        if (values[i] != e->value[i].is && (values[i] != AUTOTUNE_DEFAULT || !e->value[i].usual)) return 0;
    return 1;
}

static int load(autotune_pack* p, const autotune_entry* e, int device, autotune_plan** plan) {
    void** module = &p->modules[e->file][device];
    const char* path = p->tables->file[e->file].path;
    if (!*module && check(path, cuda.cuModuleLoadData(module, p->images[e->file]))) return 1;
    autotune_plan* made = (autotune_plan*)malloc(sizeof *made + (size_t)e->steps * sizeof(void*));
    if (!made) return fail(path, "there is too little memory");
    made->entry = e;
    for (int i = 0; i < e->steps; i++) {
        const autotune_step* s = &e->step[i];
        int failed = check(s->entry, cuda.cuModuleGetFunction(&made->function[i], *module, s->entry));
        /* More than 48 KB must be allowed; the kernel's static memory counts, too. */
        if (!failed && s->shared) failed = check(s->entry, cuda.cuFuncSetAttribute(made->function[i], 8, (int)s->shared));
        if (!failed && cuda.cuFuncLoad) failed = check(s->entry, cuda.cuFuncLoad(made->function[i]));
        if (failed) {
            free(made);
            return 1;
        }
    }
    *plan = made;
    return 0;
}

int autotune_plan_of(autotune_pack* p, int operation, const int64_t* values, const char* math, autotune_plan** plan) {
    const autotune_operation* o = &p->tables->operation[operation];
    GPU g;
    int device, best = 0, found = 0;
    *plan = NULL;
    pthread_once(&once, open_cuda);
    if (no_cuda) return fail("libcuda", no_cuda);
    if (check("cuCtxGetDevice: no context is current", cuda.cuCtxGetDevice(&device)) || describe(device, &g)) return 1;
    if (device >= MOST_GPUS) return fail("autotune_plan", "there are more GPUs than a pack can use");
    for (int i = 0; i < p->tables->entries; i++) {
        const autotune_entry* e = &p->tables->entry[i];
        int r = e->operation == operation && serves(e, values, o->values, math) ? rank(e, &g) : 0;
        if (r > best) best = r, found = i;
    }
    if (!best) return fail(o->name, "no kernel of the pack was made for this problem on this GPU");
    pthread_mutex_lock(&p->mutex);
    autotune_plan** kept = &p->plans[found][device];
    int failed = *kept ? 0 : load(p, &p->tables->entry[found], device, kept);
    *plan = *kept;
    pthread_mutex_unlock(&p->mutex);
    return failed;
}

autotune_shape autotune_shape_of(const autotune_plan* plan, int tensor) { return plan->entry->shape[tensor]; }

static size_t padded(int64_t bytes) { return ((size_t)bytes + 255) / 256 * 256; }

size_t autotune_workspace_bytes(const autotune_plan* plan) {
    size_t bytes = 0;
    for (int i = 0; i < plan->entry->workspaces; i++) bytes += padded(plan->entry->more[i]);
    return bytes;
}

static int launch(const autotune_step* l, void* function, void** pointers, void* stream) {
    void *taken[MOST_ARGUMENTS], *maps[MOST_MAPS][16] = {{0}};
    Attribute attributes[3] = {{0}};
    int count = 0;
    for (int i = 0; i < l->arguments; i++) taken[i] = &pointers[l->argument[i]];
    for (int i = 0; i < l->maps; i++) {
        maps[i][0] = pointers[l->argument[l->map[i].argument]];
        memcpy(&maps[i][1], l->map[i].word, sizeof l->map[i].word);
        taken[l->map[i].argument] = maps[i];
    }
    if (l->cooperative) attributes[count].id = 2, attributes[count++].value[0] = 1;
    if (l->cluster[0] * l->cluster[1] * l->cluster[2] > 1)
        attributes[count].id = 4, memcpy(attributes[count++].value, l->cluster, sizeof l->cluster);
    if (l->dependent) attributes[count].id = 6, attributes[count++].value[0] = 1;
    Config config = {{l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], l->shared},
                     stream, attributes, (unsigned)count};
    const unsigned* s = config.sizes;
    if (!count)
        return check(l->entry, cuda.cuLaunchKernel(function, s[0], s[1], s[2], s[3], s[4], s[5], s[6], stream, taken, NULL));
    if (!cuda.cuLaunchKernelEx) return fail(l->entry, "the launch needs a driver of CUDA 11.8 or newer");
    return check(l->entry, cuda.cuLaunchKernelEx(&config, function, taken, NULL));
}

int autotune_launch(const autotune_plan* plan, void* const* tensors, void* workspace, void* stream) {
    const autotune_entry* e = plan->entry;
    void* pointers[MOST_ARGUMENTS];
    int count = 0;
    for (; count < e->tensors; count++) {
        int64_t bytes = e->shape[count].element_bytes;
        for (int i = 0; i < e->shape[count].rank; i++) bytes *= e->shape[count].extent[i];
        if (bytes && (!tensors[count] || (uintptr_t)tensors[count] % 16))
            return fail(e->step->entry, "a tensor is null, or not aligned to 16 bytes");
        pointers[count] = bytes ? tensors[count] : NULL;
    }
    if (autotune_workspace_bytes(plan) && (!workspace || (uintptr_t)workspace % 256))
        return fail(e->step->entry, "the workspace is null, or not aligned to 256 bytes");
    for (int i = 0; i < e->workspaces; i++) {
        pointers[count++] = e->more[i] ? workspace : NULL;
        workspace = (char*)workspace + padded(e->more[i]);
    }
    for (int i = 0; i < e->scalars; i++) pointers[count++] = (void*)(uintptr_t)e->more[e->workspaces + i];
    for (int i = 0; i < e->steps; i++)
        if (launch(&e->step[i], plan->function[i], pointers, stream)) return 1;
    return 0;
}
