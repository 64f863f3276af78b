// switch.h: leave one stack and go on with another.
//
// autotune_switch(&here, there) stores the running stack's pointer and goes on
// where `there` once called autotune_switch. Only what the calling convention
// keeps over a call needs saving, which takes a few nanoseconds.
#pragma once

#if defined(__x86_64__)
extern "C" void autotune_switch(void** here, void* there);
asm(R"(
.text
.type autotune_switch, @function
autotune_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size autotune_switch, .-autotune_switch
)");

// A stack that starts in `entry` when first switched to.
static void* switch_prepare(char* top, void (*entry)()) {
  void** sp = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15));
  *--sp = nullptr;  // entry returns to nowhere
  *--sp = reinterpret_cast<void*>(entry);
  for (int i = 0; i < 6; ++i) *--sp = nullptr;
  return sp;
}

#elif defined(__aarch64__)
extern "C" void autotune_switch(void** here, void* there);
asm(R"(
.text
.type autotune_switch, %function
autotune_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size autotune_switch, .-autotune_switch
)");

static void* switch_prepare(char* top, void (*entry)()) {
  uint64_t* sp = reinterpret_cast<uint64_t*>(reinterpret_cast<uintptr_t>(top) & ~uintptr_t(15)) - 20;
  memset(sp, 0, 160);
  sp[11] = reinterpret_cast<uint64_t>(entry);  // x30, where ret goes
  return sp;
}

#else
// Elsewhere the C library switches, with a system call a time.
#include <ucontext.h>

static void autotune_switch(void** here, void* there) {
  ucontext_t mine;
  *here = &mine;
  swapcontext(&mine, static_cast<ucontext_t*>(there));
}

static void* switch_prepare(char* top, void (*entry)()) {
  // The context lives at the stack's top; what remains is below it.
  ucontext_t* context = reinterpret_cast<ucontext_t*>((reinterpret_cast<uintptr_t>(top) - sizeof(ucontext_t)) & ~uintptr_t(63));
  getcontext(context);
  context->uc_stack.ss_sp = reinterpret_cast<char*>(context) - 48 * 1024;
  context->uc_stack.ss_size = 48 * 1024;
  context->uc_link = nullptr;
  makecontext(context, entry, 0);
  return context;
}
#endif
