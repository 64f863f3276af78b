// launch.h: the blocks of a grid, and other loops, over the machine's cores.
#pragma once

struct Launch {
  uint3 grid, block;
  size_t shared;
  void* const* arguments;
};

// Pool runs one loop at a time on all its threads; the caller is one of them.
struct Pool {
  int threads;
  pthread_mutex_t mutex;
  pthread_cond_t wake, done;
  uint64_t round;  // of the loop that runs or ran last
  int busy;
  void (*body)(void* data, int64_t first, int64_t last);
  void* data;
  int64_t size, chunk, next;
};

static Pool pool;

static void pool_work() {
  for (;;) {
    const int64_t first = __atomic_fetch_add(&pool.next, pool.chunk, __ATOMIC_RELAXED);
    if (first >= pool.size) return;
    const int64_t last = first + pool.chunk;
    pool.body(pool.data, first, last < pool.size ? last : pool.size);
  }
}

static void faults_stack();

static void* pool_thread(void*) {
  faults_stack();
  uint64_t seen = 0;
  for (;;) {
    pthread_mutex_lock(&pool.mutex);
    while (pool.round == seen) pthread_cond_wait(&pool.wake, &pool.mutex);
    seen = pool.round;
    pthread_mutex_unlock(&pool.mutex);
    pool_work();
    pthread_mutex_lock(&pool.mutex);
    if (--pool.busy == 0) pthread_cond_signal(&pool.done);
    pthread_mutex_unlock(&pool.mutex);
  }
}

static void pool_start(int threads) {
  pthread_mutex_init(&pool.mutex, nullptr);
  pthread_cond_init(&pool.wake, nullptr);
  pthread_cond_init(&pool.done, nullptr);
  pool.threads = 1;
  for (; pool.threads < threads; ++pool.threads) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, pool_thread, nullptr) != 0) break;
  }
}

// Calls body for 0..size-1 in chunks, in rising order of their starts.
static void pool_run(int64_t size, int64_t chunk, void (*body)(void*, int64_t, int64_t), void* data) {
  pthread_mutex_lock(&pool.mutex);
  pool.body = body;
  pool.data = data;
  pool.size = size;
  pool.chunk = chunk < 1 ? 1 : chunk;
  pool.next = 0;
  pool.busy = pool.threads - 1;
  ++pool.round;
  pthread_cond_broadcast(&pool.wake);
  pthread_mutex_unlock(&pool.mutex);
  pool_work();
  pthread_mutex_lock(&pool.mutex);
  while (pool.busy > 0) pthread_cond_wait(&pool.done, &pool.mutex);
  pthread_mutex_unlock(&pool.mutex);
}

// --- shared memory holds NaNs (and indices far out of bounds) when a block starts ---

#ifdef AUTOTUNE_SANITIZE
extern "C" char __start_autotune_shared[] __attribute__((weak));
extern "C" char __stop_autotune_shared[] __attribute__((weak));

// Word by word, for the C library's functions stop at the red zones in between.
static void shared_fill(char* first, char* last) {
  for (volatile char* p = first; p < last; ++p) *p = char(0xff);
}
static void shared_fill_static() { shared_fill(__start_autotune_shared, __stop_autotune_shared); }
static size_t shared_static_bytes() { return size_t(__stop_autotune_shared - __start_autotune_shared); }
#else
// The executable's thread-local storage: the kernel's shared variables and our
// own context.
struct Storage {
  char* first;
  size_t size;
};

static int storage_find(dl_phdr_info* info, size_t, void* data) {
  Storage* storage = static_cast<Storage*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_TLS) continue;
    storage->first = static_cast<char*>(info->dlpi_tls_data);
    storage->size = info->dlpi_phdr[i].p_memsz;
  }
  return 1;  // the first object is the executable; look no further
}

static Storage storage() {
  Storage found = {nullptr, 0};
  dl_iterate_phdr(storage_find, &found);
  return found;
}

static void shared_fill(char* first, char* last) { memset(first, 0xff, size_t(last - first)); }
static size_t shared_static_bytes() {
  const size_t size = storage().size;
  return size > sizeof(AutotuneContext) + 64 ? size - sizeof(AutotuneContext) : 0;
}
static void shared_fill_static(const Storage& s) {
  char* context = reinterpret_cast<char*>(&autotune_context);
  shared_fill(s.first, context);
  shared_fill(context + sizeof autotune_context, s.first + s.size);
}
#endif

// --- the grid ---

static Worker* worker_new() {
  Worker* w = static_cast<Worker*>(calloc(1, sizeof(Worker)));
  w->threads = static_cast<Thread*>(calloc(1024, sizeof(Thread)));
  w->warps = static_cast<Warp*>(calloc(32, sizeof(Warp)));
  return w;
}

static void worker_prepare(Worker* w, const Launch& launch) {
  w->arguments = launch.arguments;
  w->count = int(launch.block.x * launch.block.y * launch.block.z);
  int i = 0;
  for (unsigned z = 0; z < launch.block.z; ++z)
    for (unsigned y = 0; y < launch.block.y; ++y)
      for (unsigned x = 0; x < launch.block.x; ++x) w->threads[i++].index = uint3{x, y, z};
  if (w->dynamic_bytes != launch.shared || !w->dynamic_shared) {
    // Exactly as much as asked for, so that one byte more is seen when sanitizing.
    free(w->dynamic_shared);
    w->dynamic_shared = nullptr;
    if (posix_memalign(&w->dynamic_shared, 1024, launch.shared) != 0)
      report_end("crashed", "the kernel left no memory for its dynamic shared memory");
    w->dynamic_bytes = launch.shared;
  }
}

static void launch_blocks(void* data, int64_t first, int64_t last) {
  const Launch& launch = *static_cast<const Launch*>(data);
  AutotuneContext& c = autotune_context;
  // A machine thread keeps its worker: a stack must not move to another one,
  // whose thread-local variables are elsewhere.
  if (!c.worker) c.worker = worker_new();
  Worker* w = worker();
  worker_prepare(w, launch);
  c.running = 1;
  c.block_dim = launch.block;
  c.grid_dim = launch.grid;
  c.dynamic_shared = w->dynamic_shared;
#ifndef AUTOTUNE_SANITIZE
  const Storage variables = storage();
#endif
  char* dynamic = static_cast<char*>(w->dynamic_shared);
  for (int64_t i = first; i < last; ++i) {
    c.block_index.x = unsigned(i % launch.grid.x);
    c.block_index.y = unsigned(i / launch.grid.x % launch.grid.y);
    c.block_index.z = unsigned(i / launch.grid.x / launch.grid.y);
#ifdef AUTOTUNE_SANITIZE
    shared_fill_static();
#else
    shared_fill_static(variables);
#endif
    shared_fill(dynamic, dynamic + launch.shared);
    block_run(w);
  }
  c.running = 0;
}

// Runs the whole grid and returns the milliseconds that took.
static double launch_run(const Launch& launch) {
  timespec start, end;
  const int64_t blocks = int64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
  const int64_t chunk = blocks / (int64_t(pool.threads) * 16);
  clock_gettime(CLOCK_MONOTONIC, &start);
  pool_run(blocks, chunk > 256 ? 256 : chunk, launch_blocks, const_cast<Launch*>(&launch));
  clock_gettime(CLOCK_MONOTONIC, &end);
  return double(end.tv_sec - start.tv_sec) * 1e3 + double(end.tv_nsec - start.tv_nsec) * 1e-6;
}

extern "C" void* autotune_dynamic_shared() { return autotune_context.dynamic_shared; }

extern "C" long long autotune_clock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000000000ll + now.tv_nsec;
}
