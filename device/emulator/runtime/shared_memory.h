// shared_memory.h: the blocks' shared memory, which holds NaNs (and indices far out
// of bounds) when a block starts. Static variables exist once on each thread of the
// machine, so that a block's are kept elsewhere while another one of its group runs.
#pragma once

#ifdef AUTOTUNE_SANITIZE
extern "C" char __start_autotune_shared[] __attribute__((weak));
extern "C" char __stop_autotune_shared[] __attribute__((weak));

static Storage storage_here() { return {__start_autotune_shared, size_t(__stop_autotune_shared - __start_autotune_shared)}; }

static size_t shared_static_bytes() { return storage_here().size; }

// Byte by byte, for the C library's functions stop at the red zones in between.
static void shared_fill(void* to, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) static_cast<volatile char*>(to)[i] = char(0xff);
}
static void shared_copy(char* to, const char* from, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) static_cast<volatile char*>(to)[i] = static_cast<const volatile char*>(from)[i];
}

template <class Work>
static void shared_parts(const Storage& s, Work work) {
  work(size_t(0), s.size);
}
#else
// The executable's thread-local storage holds our own context too.
static int storage_find(dl_phdr_info* info, size_t, void* data) {
  Storage* found = static_cast<Storage*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_TLS) continue;
    found->first = static_cast<char*>(info->dlpi_tls_data);
    found->size = info->dlpi_phdr[i].p_memsz;
  }
  return 1;  // the first object is the executable; look no further
}

static Storage storage_here() {
  Storage found = {nullptr, 0};
  dl_iterate_phdr(storage_find, &found);
  return found;
}

static size_t shared_static_bytes() {
  const size_t size = storage_here().size;
  return size > sizeof(AutotuneContext) + 64 ? size - sizeof(AutotuneContext) : 0;
}

static void shared_fill(void* to, size_t bytes) { memset(to, 0xff, bytes); }
static void shared_copy(char* to, const char* from, size_t bytes) { memcpy(to, from, bytes); }

// What lies before the context and behind it.
template <class Work>
static void shared_parts(const Storage& s, Work work) {
  const size_t context = size_t(reinterpret_cast<char*>(&autotune_context) - s.first), behind = context + sizeof autotune_context;
  work(size_t(0), context);
  work(behind, s.size - behind);
}
#endif

static void shared_fill_static(const Storage& s) {
  shared_parts(s, [=](size_t at, size_t bytes) { shared_fill(s.first + at, bytes); });
}

// Memory for a block's variables, laid out as where the kernel sees them.
static char* shared_kept_new(const Storage& s) {
  void* memory;
  if (posix_memalign(&memory, 1024, s.size + 1024) != 0) report_end("crashed", "the kernel left no memory for its blocks' shared memory");
  return static_cast<char*>(memory) + reinterpret_cast<uintptr_t>(s.first) % 1024;
}
static void shared_keep(const Storage& s, char* kept) {
  shared_parts(s, [=](size_t at, size_t bytes) { shared_copy(kept + at, s.first + at, bytes); });
}
static void shared_restore(const Storage& s, const char* kept) {
  shared_parts(s, [=](size_t at, size_t bytes) { shared_copy(s.first + at, kept + at, bytes); });
}

// What a block leaves is gone.
static void shared_lose(const Storage& s, Block* b) {
  shared_fill(b->kept, s.size);
  shared_fill(b->dynamic_shared, b->dynamic_bytes);
}
