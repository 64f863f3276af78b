// async_copies.h: each thread's copies that are under way, in groups. See the
// shim's async.h for what this shows.
#pragma once

struct Copy {
  void* destination;
  unsigned char value[16];
  int bytes;
  unsigned group;
  const void* issued;  // by which code
};

struct Copies {
  Copy* items;
  int first, size, room;
  unsigned group;  // the one that collects now; all below are committed
};

static Copies* copies_of(Thread* t) {
  if (!t->copies) t->copies = static_cast<Copies*>(calloc(1, sizeof(Copies)));
  return t->copies;
}

static void copies_reset(Thread* t) {
  Copies* c = t->copies;
  c->first = c->size = 0;
  c->group = 0;
}

extern "C" void autotune_async_issue(void* destination, const void* value, int bytes) {
  Copies* c = copies_of(worker()->current);
  if (c->size == c->room) {
    c->room = c->room ? c->room * 2 : 16;
    c->items = static_cast<Copy*>(realloc(c->items, size_t(c->room) * sizeof(Copy)));
  }
  Copy& copy = c->items[c->size++];
  copy.destination = destination;
  memcpy(copy.value, value, size_t(bytes));
  copy.bytes = bytes;
  copy.group = c->group;
  copy.issued = __builtin_return_address(0);
}

extern "C" void autotune_async_commit() { ++copies_of(worker()->current)->group; }

extern "C" void autotune_async_wait(int groups) {
  Copies* c = copies_of(worker()->current);
  while (c->first < c->size && c->items[c->first].group + unsigned(groups) < c->group) {
    const Copy& copy = c->items[c->first++];
    races_copy(copy.destination, copy.bytes, copy.issued);
    memcpy(copy.destination, copy.value, size_t(copy.bytes));
  }
  if (c->first == c->size) c->first = c->size = 0;
}
