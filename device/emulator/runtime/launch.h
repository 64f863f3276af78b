// launch.h: the blocks of a grid, and other loops, over the machine's cores.
#pragma once

// Passed is an argument of the problem that a launch passes, by its index, and perhaps as a tensor map.
struct Passed {
  int argument;
  bool as_map;
  AutotuneTensorMap map;
};

struct Launch {
  char name[256];  // of the kernel
  uint3 grid, block, cluster;
  size_t shared;
  bool cooperative, dependent;
  const AutotuneEntry* entry;
  Passed* passed;
  int passed_count;
  void** arguments;  // the values, and where tensor maps are

  int cluster_blocks() const { return int(cluster.x * cluster.y * cluster.z); }
  int threads() const { return int(block.x * block.y * block.z); }  // of a block
  int64_t blocks() const { return int64_t(grid.x) * grid.y * grid.z; }
  int64_t clusters() const { return blocks() / cluster_blocks(); }
  int64_t groups() const { return cooperative ? 1 : clusters(); }
  int group_blocks() const { return cooperative ? int(blocks()) : cluster_blocks(); }
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

// --- the grid ---

static Worker* worker_new() {
  Worker* w = static_cast<Worker*>(calloc(1, sizeof(Worker)));
  if (!w) report_end("crashed", "the kernel left no memory for its blocks");
  w->variables = storage_here();
  return w;
}

static Block* block_new(int number) {
  Block* b = static_cast<Block*>(calloc(1, sizeof(Block)));
  if (!b) report_end("crashed", "the kernel left no memory for its blocks");
  b->number = number;
  return b;
}

static bool same(uint3 a, uint3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

static void block_index_threads(Block* b, uint3 dim) {
  if (same(b->dim, dim)) return;
  b->dim = dim;
  b->count = int(dim.x * dim.y * dim.z);
  if (b->count > b->room) {
    b->threads = static_cast<Thread*>(realloc(b->threads, size_t(b->count) * sizeof(Thread)));
    if (!b->threads) report_end("crashed", "the kernel left no memory for its threads");
    memset(b->threads + b->room, 0, size_t(b->count - b->room) * sizeof(Thread));
    b->room = b->count;
  }
  int i = 0;
  for (unsigned z = 0; z < dim.z; ++z)
    for (unsigned y = 0; y < dim.y; ++y)
      for (unsigned x = 0; x < dim.x; ++x) {
        b->threads[i].block = b;
        b->threads[i++].index = uint3{x, y, z};
      }
}

static void block_prepare(Worker* w, Block* b, const Launch& launch) {
  block_index_threads(b, launch.block);
  races_block_prepare(w, b, launch.shared);
  if (launch.group_blocks() > 1 && !b->kept) b->kept = shared_kept_new(w->variables);
  if (b->dynamic_bytes == launch.shared && b->dynamic_shared) return;
  // Exactly as much as asked for, so that one byte more is seen when sanitizing.
  free(b->dynamic_shared);
  b->dynamic_shared = nullptr;
  if (posix_memalign(&b->dynamic_shared, 1024, launch.shared) != 0)
    report_end("crashed", "the kernel left no memory for its dynamic shared memory");
  b->dynamic_bytes = launch.shared;
}

// Makes room for the blocks of a group, which are prepared once a launch.
static void worker_prepare(Worker* w, const Launch& launch) {
  w->run = launch.entry->run;
  w->arguments = launch.arguments;
  w->cooperative = launch.cooperative;
  w->dependent = launch.dependent;
  w->cluster_blocks = launch.cluster_blocks();
  w->group = launch.group_blocks();
  if (w->group > w->room) {
    w->blocks = static_cast<Block**>(realloc(w->blocks, size_t(w->group) * sizeof(Block*)));
    w->clusters = static_cast<GroupBarrier*>(realloc(w->clusters, size_t(w->group) * sizeof(GroupBarrier)));
    if (!w->blocks || !w->clusters) report_end("crashed", "the kernel left no memory for its blocks");
    memset(w->clusters + w->room, 0, size_t(w->group - w->room) * sizeof(GroupBarrier));
    while (w->room < w->group) {
      w->blocks[w->room] = block_new(w->room);
      ++w->room;
    }
  }
  for (int i = 0; i < w->group; ++i) block_prepare(w, w->blocks[i], launch);
}

// Gives the blocks of a cluster their indices, its first block the number it has in
// the group.
static void cluster_place(Worker* w, const Launch& launch, int64_t number, int first) {
  const uint3 c = launch.cluster;
  const unsigned across = launch.grid.x / c.x, down = launch.grid.y / c.y;
  const uint3 corner = {unsigned(number % across) * c.x, unsigned(number / across % down) * c.y, unsigned(number / across / down) * c.z};
  GroupBarrier& barrier = w->clusters[first / w->cluster_blocks];
  group_barrier_reset(barrier, "cluster.sync", w->cluster_blocks * launch.threads());
  for (int rank = 0; rank < w->cluster_blocks; ++rank) {
    Block* b = w->blocks[first + rank];
    const unsigned r = unsigned(rank);
    b->index = uint3{corner.x + r % c.x, corner.y + r / c.x % c.y, corner.z + r / c.x / c.y};
    b->cluster_first = first;
    b->cluster = &barrier;
  }
}

static void launch_groups(void* data, int64_t first, int64_t last) {
  const Launch& launch = *static_cast<const Launch*>(data);
  AutotuneContext& c = autotune_context;
  // A machine thread keeps its worker: a stack must not move to another one,
  // whose thread-local variables are elsewhere.
  if (!c.worker) c.worker = worker_new();
  Worker* w = worker();
  worker_prepare(w, launch);
  c.block_dim = launch.block;
  c.grid_dim = launch.grid;
  c.cluster_dim = launch.cluster;
  c.running = 1;
  for (int64_t i = first; i < last; ++i) {
    group_barrier_reset(w->grid, "grid.sync", w->group * launch.threads());
    for (int b = 0; b < w->group; b += w->cluster_blocks) cluster_place(w, launch, i + b / w->cluster_blocks, b);
    group_run(w);
  }
  c.running = 0;
}

// Runs the whole grid and returns the milliseconds that took.
static double launch_run(const Launch& launch) {
  timespec start, end;
  races_launch(launch);
  const int64_t groups = launch.groups();
  const int64_t chunk = groups / (int64_t(pool.threads) * 16);
  clock_gettime(CLOCK_MONOTONIC, &start);
  pool_run(groups, chunk > 256 ? 256 : chunk, launch_groups, const_cast<Launch*>(&launch));
  clock_gettime(CLOCK_MONOTONIC, &end);
  return double(end.tv_sec - start.tv_sec) * 1e3 + double(end.tv_nsec - start.tv_nsec) * 1e-6;
}

extern "C" void* autotune_dynamic_shared() { return autotune_context.dynamic_shared; }

extern "C" long long autotune_clock() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (long long)now.tv_sec * 1000000000ll + now.tv_nsec;
}
