// tensors.h: the kernel's tensors.
//
// Inputs are drawn by elements.h, so that every device makes the same numbers in
// any order; outputs and workspaces are poisoned. Around each tensor lie guard
// zones of its type's poison, which for floating types is a NaN that a sum passes
// on, or of a large number, which a maximum does; when sanitizing, there is exactly
// as much memory as the tensor needs instead.
#pragma once

static const size_t kGuardBytes = 64 * 1024;
static bool guard_large;  // what the guard zones hold

static size_t tensor_bytes(const Tensor& t) { return size_t(t.elements) * size_t(element_bytes(t.type)); }

static const int64_t kChunk = 1 << 16;

// --- filling ---

static void tensor_draw_part(void* data, int64_t first, int64_t last) {
  const Tensor& t = *static_cast<const Tensor*>(data);
  const u64 count = u64(t.elements);
  const uint32_t seed = t.seed;
  const double a = t.a, b = t.b;
  char* const to = t.data;
  auto fill = [=](int type, int distribution) __attribute__((always_inline)) {
    for (int64_t i = first; i < last; ++i) element_store(to, u64(i), type, element_draw(u64(i), count, seed, distribution, a, b));
  };
  // By far the most, each a loop of its own.
  if (t.type == F32 && t.distribution == UNIFORM01) fill(F32, UNIFORM01);
  else if (t.type == F32 && t.distribution == NORMAL) fill(F32, NORMAL);
  else if (t.type == F32 && t.distribution == SYMMETRIC) fill(F32, SYMMETRIC);
  else fill(t.type, t.distribution);
}

struct Filling {
  const Tensor* tensor;
  u64 bits;
};

static void tensor_fill_part(void* data, int64_t first, int64_t last) {
  const Filling f = *static_cast<const Filling*>(data);
  char* const to = f.tensor->data;
  auto fill = [=](int type) __attribute__((always_inline)) {
    for (int64_t i = first; i < last; ++i) element_set(to, u64(i), type, f.bits);
  };
  if (f.tensor->type == F32) fill(F32);
  else fill(f.tensor->type);
}

static void tensor_fill(const Tensor& t, u64 bits) {
  Filling filling = {&t, bits};
  pool_run(t.elements, kChunk, tensor_fill_part, &filling);
}

static void tensor_restore_part(void* data, int64_t first, int64_t last) {
  const Tensor& t = *static_cast<const Tensor*>(data);
  memcpy(t.data + first, t.start + first, size_t(last - first));
}

// --- files ---

// The last bytes of a file: what stands before them, as the head of a .npy file, is no
// concern of the emulator's.
struct Mapped {
  const char* contents;
  void* memory;
  size_t size;
};

static Mapped file_map(const char* name, size_t bytes) {
  const int fd = open(name, O_RDONLY | O_CLOEXEC);
  // Older C libraries put a fstat into the program itself, where a kernel's could lie.
  const off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
  if (end < 0) report_unable("cannot open %s", name);
  const size_t size = size_t(end);
  if (size < bytes) report_unable("%s has %zu bytes, not %zu", name, size, bytes);
  void* memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) report_unable("cannot map %s", name);
  return {static_cast<const char*>(memory) + (size - bytes), memory, size};
}

// The file is opened before the kernel runs, for nothing can be opened afterwards.
// What the first launch made lies at its beginning, and behind that what another one made.
static void tensor_open_output(Tensor& t) {
  const int descriptor = open(t.output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0 || ftruncate(descriptor, off_t(tensor_bytes(t))) != 0) report_unable("cannot write %s", t.output);
  t.output_descriptor = descriptor_hide(descriptor);
  if (job.gaps) t.saved = file_map(t.output, tensor_bytes(t)).contents;
}

static void tensor_save(const Tensor& t) {
  const char* from = t.data;
  for (size_t left = tensor_bytes(t); left > 0;) {
    const ssize_t n = write(t.output_descriptor, from, left);
    if (n <= 0) report_unable("cannot write %s: is the temporary folder's disk full?", t.output);
    from += n;
    left -= size_t(n);
  }
}

// --- guard zones ---

// Eight bytes of guard. The large number is the largest that the small types have.
static u64 guard_word(int type) {
  u64 bits = element_poison(type);
  if (guard_large && element_floating(type))
    element_store(&bits, 0, type, type == F16 ? 65504 : type == F8E4M3 ? 448 : type == F8E5M2 ? 57344 : 1e30);
  for (int size = 8 * element_bytes(type); size < 64; size *= 2) bits = (bits & ((1ull << size) - 1)) | bits << size;
  return bits;
}

static void tensor_guard(const Tensor& t) {
  if (!t.memory) return;
  const u64 word = guard_word(t.type);
  char* after = t.data + tensor_bytes(t);
  for (size_t i = 0; i < kGuardBytes; i += 8) {
    memcpy(t.memory + i, &word, 8);
    memcpy(after + i, &word, 8);
  }
}

// How far outside a tensor something was written, if it was: in elements, from
// its start (negative) or its end (from 0). False if the guards are untouched.
static bool tensor_guard_broken(const Tensor& t, int64_t* where) {
  if (!t.memory) return false;
  const u64 word = guard_word(t.type);
  const char* after = t.data + tensor_bytes(t);
  for (size_t i = 0; i < kGuardBytes; ++i)
    if (after[i] != reinterpret_cast<const char*>(&word)[i % 8]) return *where = int64_t(i) / element_bytes(t.type), true;
  for (size_t i = kGuardBytes; i-- > 0;)
    if (t.memory[i] != reinterpret_cast<const char*>(&word)[i % 8]) return *where = (int64_t(i) - int64_t(kGuardBytes)) / element_bytes(t.type) - 1, true;
  return false;
}

// --- memory ---

static char* memory_new(const Tensor& t, size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) report_unable("no memory for tensor %s of %zu bytes", t.name, tensor_bytes(t));
  return static_cast<char*>(memory);
}

// An empty tensor is a null pointer to the kernel.
static void tensor_allocate(Tensor& t) {
#ifdef AUTOTUNE_SANITIZE
  void* memory;
  if (posix_memalign(&memory, 256, tensor_bytes(t)) != 0) report_unable("no memory for tensor %s of %zu bytes", t.name, tensor_bytes(t));
  t.data = static_cast<char*>(memory);
#else
  t.memory_bytes = tensor_bytes(t) + 2 * kGuardBytes;
  t.memory = memory_new(t, t.memory_bytes);
  t.data = t.memory + kGuardBytes;
  tensor_guard(t);
#endif
}

struct Summing {
  const Tensor* tensor;
  uint64_t sum;
};

// By words of four bytes, the last one filled up with zeros.
static void tensor_sum_part(void* data, int64_t first, int64_t last) {
  Summing* s = static_cast<Summing*>(data);
  const char* from = s->tensor->data;
  const int64_t whole = int64_t(tensor_bytes(*s->tensor)) / 4, left = int64_t(tensor_bytes(*s->tensor)) % 4;
  uint64_t sum = 0;
  for (int64_t i = first; i < last; ++i) {
    uint32_t bits = 0;
    if (i < whole) memcpy(&bits, from + 4 * i, 4);
    else memcpy(&bits, from + 4 * i, size_t(left));
    sum += (uint64_t(bits) + 1) * (uint64_t(i) * 0x9E3779B97F4A7C15ull | 1);
  }
  __atomic_fetch_add(&s->sum, sum, __ATOMIC_RELAXED);
}

static uint64_t tensor_checksum(const Tensor& t) {
  Summing s = {&t, 0};
  pool_run(int64_t(tensor_bytes(t) + 3) / 4, kChunk, tensor_sum_part, &s);
  return s.sum;
}

// Notes what a tensor that is read holds.
static void tensor_learn(Tensor& t) {
  if (t.symbol) memcpy(t.symbol, t.data, tensor_bytes(t));
  if (role_read_only(t.role)) {
    t.checksum = tensor_checksum(t);
    return;
  }
  char* start = t.start ? const_cast<char*>(t.start) : memory_new(t, tensor_bytes(t));
  mprotect(start, tensor_bytes(t), PROT_READ | PROT_WRITE);
  memcpy(start, t.data, tensor_bytes(t));
  mprotect(start, tensor_bytes(t), PROT_READ);
  t.start = start;
}

// Whether each element is drawn without regard to the others, and not all are equal.
static bool tensor_independent(const Tensor& t) {
  const bool fixed = t.distribution == CONSTANT || t.distribution == RANGE || t.distribution == PERMUTATION || t.distribution == SORTED;
  return role_filled(t.role) && t.elements > 0 && strcmp(t.input, "-") == 0 && !fixed;
}

// Draws a few places anew, those that Changes of elements.go names.
static void tensor_change(Tensor& t, uint32_t seed) {
  if (!tensor_independent(t)) return;
  int64_t count = t.elements / 1024;
  count = count < 1 ? 1 : count > 64 ? 64 : count;
  for (u64 run = 0; run < 4; ++run) {
    const uint32_t s = seed ^ t.seed, drawn = hash(3 * run + 2, s);
    const u64 first = (u64(hash(3 * run, s)) << 32 | hash(3 * run + 1, s)) % u64(t.elements - count + 1);
    for (u64 k = 0; k < u64(count); ++k) element_store(t.data, first + k, t.type, element_draw(k, u64(count), drawn, t.distribution, t.a, t.b));
  }
}

// What a tensor that is read holds: from a file, or drawn.
static void tensor_contents(Tensor& t) {
  if (strcmp(t.input, "-") != 0) {
    const Mapped file = file_map(t.input, tensor_bytes(t));
    memcpy(t.data, file.contents, tensor_bytes(t));
    munmap(file.memory, file.size);
  } else {
    pool_run(t.elements, kChunk, tensor_draw_part, &t);
    if (job.changes) tensor_change(t, job.changes);
  }
  tensor_learn(t);
}

static const int kOutputs = 64;  // at most, of those that are kept

static void tensors_prepare() {
  int kept = 0;
  for (int i = 0; i < job.tensor_count; ++i) {
    Tensor& t = job.tensors[i];
    if (t.elements == 0) continue;
    tensor_allocate(t);
    job.values[job.places[i]] = t.data;
    if (role_filled(t.role)) tensor_contents(t);
    if (strcmp(t.output, "-") == 0) continue;
    if (++kept > kOutputs) report_unable("more than %d outputs", kOutputs);
    tensor_open_output(t);
  }
}

// The values that each launch passes.
static void launches_prepare() {
  for (int i = 0; i < job.launch_count; ++i) {
    Launch& l = job.launches[i];
    l.arguments = static_cast<void**>(calloc(size_t(l.passed_count) + 1, sizeof(void*)));
    if (!l.arguments) report_unable("no memory for the job");
    for (int k = 0; k < l.passed_count; ++k) {
      Passed& p = l.passed[k];
      l.arguments[k] = job.values[p.argument];
      p.map.words[0] = reinterpret_cast<long long>(l.arguments[k]);
      if (p.as_map) l.arguments[k] = &p.map;
    }
  }
}

// Before every launch, timed ones too.
static void tensors_restore() {
  for (int i = 0; i < job.tensor_count; ++i)
    if (job.tensors[i].start) pool_run(int64_t(tensor_bytes(job.tensors[i])), kChunk, tensor_restore_part, &job.tensors[i]);
}

// A number that no kernel knew before.
static uint32_t random_number() {
  uint32_t bits = 0;
#ifdef SYS_getrandom
  if (syscall(SYS_getrandom, &bits, sizeof bits, 0) == long(sizeof bits)) return bits;
#endif
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return hash(u64(now.tv_nsec), uint32_t(now.tv_sec));
}

// Gives the kernel other inputs: in a few places, by a seed that it returns, or everywhere. A seed stays
// even or odd, which decides how many special values there are.
static uint32_t tensors_change(bool everywhere) {
  const uint32_t seed = random_number() | 1;
  for (int i = 0; i < job.tensor_count; ++i) {
    Tensor& t = job.tensors[i];
    if (!tensor_independent(t)) continue;
    if (t.start) memcpy(t.data, t.start, tensor_bytes(t));
    if (everywhere) {
      t.seed = (random_number() & ~1u) | (t.seed & 1);
      pool_run(t.elements, kChunk, tensor_draw_part, &t);
    } else {
      tensor_change(t, seed);
    }
    tensor_learn(t);
  }
  return seed;
}

// What outputs and workspaces hold before a launch: poison, what the launch before
// left, zeros (and a large number around them).
enum Preparation { kPoisoned, kUntouched, kZeroed, kPreparations };

static void tensors_ready(Preparation how) {
  if (guard_large != (how == kZeroed)) {
    guard_large = how == kZeroed;
    for (int i = 0; i < job.tensor_count; ++i) tensor_guard(job.tensors[i]);
  }
  if (how == kUntouched) return;
  for (int i = 0; i < job.tensor_count; ++i) {
    const Tensor& t = job.tensors[i];
    if (t.role == kOutput || t.role == kWorkspace) tensor_fill(t, how == kZeroed ? 0 : element_poison(t.type));
  }
}

// The bits of all that is compared in one number.
static uint64_t tensors_outputs() {
  uint64_t sum = 0;
  for (int i = 0; i < job.tensor_count; ++i)
    if (role_compared(job.tensors[i].role)) sum = sum * 31 + tensor_checksum(job.tensors[i]);
  return sum;
}
