// tensors.h: the kernel's arguments.
//
// Inputs are filled by a generator that counts instead of remembering, so that
// every device makes the same numbers in any order; outputs are poisoned with
// NaN. Around each tensor lie guard zones of NaN, which a sum passes on, or of a
// large number, which a maximum does; when sanitizing, there is exactly as much
// memory as the tensor needs instead.
#pragma once

static const uint32_t kPoison = 0x7fffffffu;  // a NaN
static const uint32_t kLarge = 0x7149f2cau;   // 1e30
static const size_t kGuardBytes = 64 * 1024;
static uint32_t guard = kPoison;  // the word that the guard zones hold

static inline uint32_t random_bits(uint64_t i, uint32_t seed) {
  uint64_t x = i * 0x9E3779B97F4A7C15ull + uint64_t(seed) * 0xD1B54A32D192ED03ull;
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ull;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBull;
  x ^= x >> 31;
  return uint32_t(x >> 32);
}

static inline float random_uniform(uint64_t i, uint32_t seed) { return float(random_bits(i, seed) >> 8) * 0x1p-24f; }

static inline float random_normal(uint64_t i, uint32_t seed) {
  const float u1 = float((random_bits(2 * i, seed) >> 8) + 1) * 0x1p-24f;
  const float u2 = float(random_bits(2 * i + 1, seed) >> 8) * 0x1p-24f;
  return sqrtf(-2.0f * logf(u1)) * cosf(6.283185307179586f * u2);
}

// Normal numbers, among which about one in 256 is a NaN, one an infinity and one
// minus infinity.
static inline float random_special(uint64_t i, uint32_t seed) {
  switch (random_bits(i, ~seed) >> 24) {
    case 0: return autotune_bits<float>(0x7fc00000u);
    case 1: return autotune_bits<float>(0x7f800000u);
    case 2: return autotune_bits<float>(0xff800000u);
    default: return random_normal(i, seed);
  }
}

enum Fill { kUniform, kNormal, kNegative, kSpecial, kSymmetric, kNaN, kZero };

struct Filling {
  Tensor* tensor;
  Fill fill;
  uint32_t seed;
};

static void tensor_fill_part(void* data, int64_t first, int64_t last) {
  const Filling& f = *static_cast<Filling*>(data);
  float* out = f.tensor->data;
  const uint32_t seed = f.seed;
  const float scale = f.tensor->scale;
  switch (f.fill) {
    case kUniform: for (int64_t i = first; i < last; ++i) out[i] = random_uniform(uint64_t(i), seed); break;
    case kNormal: for (int64_t i = first; i < last; ++i) out[i] = random_normal(uint64_t(i), seed); break;
    case kNegative: for (int64_t i = first; i < last; ++i) out[i] = -random_uniform(uint64_t(i), seed) - 0.5f; break;
    case kSpecial: for (int64_t i = first; i < last; ++i) out[i] = random_special(uint64_t(i), seed); break;
    case kSymmetric: for (int64_t i = first; i < last; ++i) out[i] = (2.0f * random_uniform(uint64_t(i), seed) - 1.0f) * scale; break;
    case kNaN: for (int64_t i = first; i < last; ++i) out[i] = autotune_bits<float>(kPoison); break;
    case kZero: for (int64_t i = first; i < last; ++i) out[i] = 0; break;
  }
}

static const int64_t kChunk = 1 << 16;

static void tensor_fill(Tensor& t, Fill fill, uint32_t seed) {
  Filling filling = {&t, fill, seed};
  pool_run(t.elements, kChunk, tensor_fill_part, &filling);
}

static Fill fill_named(const char* name) {
  if (strcmp(name, "uniform01") == 0) return kUniform;
  if (strcmp(name, "normal") == 0) return kNormal;
  if (strcmp(name, "negative") == 0) return kNegative;
  if (strcmp(name, "special") == 0) return kSpecial;
  report_unable("no distribution is called %s: uniform01, normal, negative and special are", name);
}

static void* file_map(const char* name, size_t bytes) {
  const int fd = open(name, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0) report_unable("cannot open %s", name);
  if (size_t(status.st_size) != bytes) report_unable("%s has %lld bytes, not %zu", name, (long long)status.st_size, bytes);
  void* memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) report_unable("cannot map %s", name);
  return memory;
}

static void tensor_save(const Tensor& t) {
  FILE* file = fopen(t.output, "wb");
  if (!file || fwrite(t.data, 4, size_t(t.elements), file) != size_t(t.elements) || fclose(file) != 0)
    report_unable("cannot write %s: is the temporary folder's disk full?", t.output);
}

static size_t tensor_bytes(const Tensor& t) { return size_t(t.elements) * 4; }

static void tensor_guard(Tensor& t) {
  if (!t.memory) return;
  uint32_t* before = reinterpret_cast<uint32_t*>(t.memory);
  uint32_t* after = reinterpret_cast<uint32_t*>(t.data + t.elements);
  for (size_t i = 0; i < kGuardBytes / 4; ++i) before[i] = after[i] = guard;
}

// An empty tensor is a null pointer to the kernel.
static void tensor_allocate(Tensor& t) {
  if (t.elements == 0) return;
#ifdef AUTOTUNE_SANITIZE
  void* memory;
  if (posix_memalign(&memory, 256, tensor_bytes(t)) != 0) report_unable("no memory for tensor %s of %zu bytes", t.name, tensor_bytes(t));
  t.data = static_cast<float*>(memory);
#else
  t.memory_bytes = tensor_bytes(t) + 2 * kGuardBytes;
  void* memory = mmap(nullptr, t.memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) report_unable("no memory for tensor %s of %zu bytes", t.name, tensor_bytes(t));
  t.memory = static_cast<char*>(memory);
  t.data = reinterpret_cast<float*>(t.memory + kGuardBytes);
  tensor_guard(t);
#endif
}

// How far outside a tensor something was written, if it was: in elements, from
// its start (negative) or its end (from 0). False if the guards are untouched.
static bool tensor_guard_broken(const Tensor& t, int64_t* where) {
  if (!t.memory) return false;
  const uint32_t* before = reinterpret_cast<const uint32_t*>(t.memory);
  const uint32_t* after = reinterpret_cast<const uint32_t*>(t.data + t.elements);
  const int64_t count = int64_t(kGuardBytes / 4);
  for (int64_t i = 0; i < count; ++i)
    if (after[i] != guard) return *where = i, true;
  for (int64_t i = count; i-- > 0;)
    if (before[i] != guard) return *where = i - count, true;
  return false;
}

struct Summing {
  const Tensor* tensor;
  uint64_t sum;
};

static void tensor_sum_part(void* data, int64_t first, int64_t last) {
  Summing* s = static_cast<Summing*>(data);
  const uint32_t* bits = reinterpret_cast<const uint32_t*>(s->tensor->data);
  uint64_t sum = 0;
  for (int64_t i = first; i < last; ++i) sum += (uint64_t(bits[i]) + 1) * (uint64_t(i) * 0x9E3779B97F4A7C15ull | 1);
  __atomic_fetch_add(&s->sum, sum, __ATOMIC_RELAXED);
}

static uint64_t tensor_checksum(const Tensor& t) {
  Summing s = {&t, 0};
  pool_run(t.elements, kChunk, tensor_sum_part, &s);
  return s.sum;
}

static void tensors_prepare() {
  for (int i = 0; i < job.tensor_count; ++i) {
    Tensor& t = job.tensors[i];
    tensor_allocate(t);
    job.arguments[i] = t.data;
    if (t.elements == 0) continue;
    if (t.role == kOutput) {
      if (strcmp(t.reference, "-") != 0) t.expected = static_cast<const float*>(file_map(t.reference, tensor_bytes(t)));
      continue;
    }
    if (strcmp(t.input, "-") != 0) {
      void* contents = file_map(t.input, tensor_bytes(t));
      memcpy(t.data, contents, tensor_bytes(t));
      munmap(contents, tensor_bytes(t));
    } else {
      tensor_fill(t, t.role == kWeight ? kSymmetric : fill_named(job.distribution), job.seed + uint32_t(i));
    }
    t.checksum = tensor_checksum(t);
  }
}

// What outputs hold before a launch: a NaN, what the launch before left, zeros
// (and a large number around them).
enum Preparation { kPoisoned, kUntouched, kZeroed, kPreparations };

static void tensors_ready(Preparation how) {
  const uint32_t around = how == kZeroed ? kLarge : kPoison;
  if (around != guard) {
    guard = around;
    for (int i = 0; i < job.tensor_count; ++i) tensor_guard(job.tensors[i]);
  }
  if (how == kUntouched) return;
  for (int i = 0; i < job.tensor_count; ++i)
    if (job.tensors[i].role == kOutput) tensor_fill(job.tensors[i], how == kZeroed ? kZero : kNaN, 0);
}

// The bits of all outputs in one number.
static uint64_t tensors_outputs() {
  uint64_t sum = 0;
  for (int i = 0; i < job.tensor_count; ++i)
    if (job.tensors[i].role == kOutput) sum = sum * 31 + tensor_checksum(job.tensors[i]);
  return sum;
}
