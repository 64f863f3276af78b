/* libcuda.c: a libcuda that forwards to the real one, if there is one.
 *
 * A program linked against this starts on any machine. Nothing is loaded until
 * a driver function is called: cuInit, which gorgonia.org/cu calls before main,
 * only reports success. The first other call opens libcuda.so.1, looks every
 * function up and runs the real cuInit, once, whichever thread comes first.
 * Where that fails, every call returns the same error from then on, and
 * libcuda_error says it in words.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

const char *libcuda_error(void);

/* The macros of cuda.h turn a name into the driver's symbol before these see it. */
#define TEXT(name) TEXT_OF(name)
#define TEXT_OF(name) #name
#define SLOT(name) SLOT_OF(name)
#define SLOT_OF(name) slot_##name

#define FUNCTION(name, parameters, arguments) SLOT(name),
enum slot {
	slot_cuInit,
#include "functions.def"
	slots
};
#undef FUNCTION

#define FUNCTION(name, parameters, arguments) TEXT(name),
static const char *const names[slots] = {
	"cuInit",
#include "functions.def"
};
#undef FUNCTION

typedef void (*function)(void);

static function functions[slots];
static CUresult failure; /* what calls return instead, CUDA_SUCCESS if the driver is there */
static char message[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The second name is where Windows keeps the library for its Linux guests. */
static const char *const libraries[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};

static void *open_library(void) {
	for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
		void *library = dlopen(libraries[i], RTLD_NOW | RTLD_GLOBAL);
		if (library)
			return library;
		const char *reason = dlerror();
		if (i == 0)
			snprintf(message, sizeof message, "%s", reason ? reason : "libcuda.so.1 cannot be loaded");
	}
	return NULL;
}

/* The driver's own words for an error, "" where it has none. */
static const char *words(enum slot slot, CUresult error) {
	const char *text = NULL;
	CUresult (*call)(CUresult, const char **) = (CUresult (*)(CUresult, const char **))functions[slot];
	if (!call || call(error, &text) != CUDA_SUCCESS || !text)
		return "";
	return text;
}

static void start_driver(void) {
	void *library = open_library();
	if (!library) {
		failure = CUDA_ERROR_NO_DEVICE;
		return;
	}
	for (int i = 0; i < slots; i++) {
		void *symbol = dlsym(library, names[i]);
		functions[i] = *(function *)&symbol;
	}
	CUresult (*init)(unsigned int) = (CUresult (*)(unsigned int))functions[slot_cuInit];
	failure = init ? init(0) : CUDA_ERROR_NOT_INITIALIZED;
	if (failure != CUDA_SUCCESS)
		snprintf(message, sizeof message, "libcuda.so.1 cannot start: error %d %s: %s", (int)failure,
			words(slot_cuGetErrorName, failure), words(slot_cuGetErrorString, failure));
}

/* find is the function in a slot, or NULL and the result to return in its place. */
static function find(enum slot slot, CUresult *instead) {
	pthread_once(&once, start_driver);
	*instead = CUDA_SUCCESS;
	if (failure != CUDA_SUCCESS) {
		*instead = failure;
		return NULL;
	}
	if (!functions[slot])
		*instead = CUDA_ERROR_NOT_SUPPORTED; /* a driver that does not have it */
	return functions[slot];
}

/* libcuda_error starts the driver and says why it did not start; NULL if it did. */
const char *libcuda_error(void) {
	pthread_once(&once, start_driver);
	return failure == CUDA_SUCCESS ? NULL : message;
}

/* cuInit only reports success: see the top. */
CUresult cuInit(unsigned int flags) {
	(void)flags;
	return CUDA_SUCCESS;
}

#define FUNCTION(name, parameters, arguments)                                            \
	CUresult name parameters {                                                           \
		CUresult instead;                                                                \
		CUresult(*call) parameters = (CUresult(*) parameters)find(SLOT(name), &instead); \
		return call ? call arguments : instead;                                          \
	}
#include "functions.def"
