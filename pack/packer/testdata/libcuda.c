/* A driver that runs nothing: it notes in standard output what it is asked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __thread int device;
static int shown; /* of a launch's pointers; there is one at least */

int cuInit(unsigned flags) { return setvbuf(stdout, NULL, _IOLBF, 0), (int)flags; }
int cuGetErrorString(int code, const char** text) { return *text = "a made-up error", code < 0; }
int cuCtxGetDevice(int* out) { return *out = device, 0; }
int cuDeviceGet(int* d, int ordinal) { return *d = ordinal, 0; }
int cuDevicePrimaryCtxRetain(void** context, int d) { return *context = (void*)0x77, d < 0; }
int cuCtxSetCurrent(void* context) { return context == NULL; }
void fake_device(int ordinal) { device = ordinal; }
void fake_pointers(int count) { shown = count; }
int cuDeviceGetName(char* name, int size, int d) { return snprintf(name, (size_t)size, d ? "Tesla T4" : "NVIDIA H100"), 0; }
int cuDeviceGetAttribute(int* value, int attribute, int d) {
    *value = attribute == 75 ? (d ? 7 : 9) : attribute == 76 ? (d ? 5 : 0) : (d ? 64 : 227) << 10;
    return 0;
}
int cuModuleLoadData(void** module, const void* image) { return *module = (void*)image, 0; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
    const unsigned char* image = (const unsigned char*)module;
    unsigned sizes = 0;
    if (memcmp(image, "\x7f" "ELF", 4)) {
        printf("load %.60s: %s\n", (const char*)image, name);
    } else { /* as tests make them: e_flags has the length of what lies behind the head */
        memcpy(&sizes, image + 48, sizeof sizes);
        printf("load ");
        for (unsigned i = 0; i < sizes; i++) printf("%02x", image[64 + i]);
        printf(" of %.40s: %s\n", (const char*)image + 64 + sizes, name);
    }
    return *function = module, 0;
}
int cuFuncSetAttribute(void* function, int attribute, int value) { return printf("shared %d %d\n", attribute, value), function == NULL; }
static int launched(const unsigned* s, void* stream, void** taken) {
    printf("launch %u %u %u, %u %u %u, %u on %p:", s[0], s[1], s[2], s[3], s[4], s[5], s[6], stream);
    if (!shown) shown = getenv("FAKE_POINTERS") ? atoi(getenv("FAKE_POINTERS")) : 1;
    for (int i = 0; i < shown; i++) printf(" %p", *(void**)taken[i]);
    for (const char* map = getenv("FAKE_MAPS"); map && *map; map++) /* arguments of 16 words, each by a digit */
        for (int i = 0; i < 16; i++) printf("%s%llx", i ? " " : ", ", ((unsigned long long*)taken[*map - '0'])[i]);
    return printf("\n") < 0;
}
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void* stream, void** taken, void** extra) {
    const unsigned s[7] = {gx, gy, gz, bx, by, bz, shared};
    return f == NULL || extra ? 1 : launched(s, stream, taken);
}
typedef struct { unsigned sizes[7]; void* stream; unsigned* attributes; unsigned count; } Config;
int cuLaunchKernelEx(const Config* c, void* f, void** taken, void** extra) {
    for (unsigned i = 0; i < c->count; i++) printf("attribute %u %u\n", c->attributes[18 * i], c->attributes[18 * i + 2]);
    return f == NULL || extra ? 1 : launched(c->sizes, c->stream, taken);
}
