package emulator

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/space"
)

// systemCalls declares the functions of the C library that a kernel might call to escape.
const systemCalls = `extern "C" {
int fork(); int raise(int); int kill(int, int); int getppid(); int close(int); int pause();
long write(int, const void*, unsigned long); void* malloc(unsigned long); void exit(int); void _exit(int); void abort();
int sigfillset(void*); int sigprocmask(int, const void*, void*); int pthread_create(unsigned long*, const void*, void* (*)(void*), void*);
int open(const char*, int, ...); int usleep(unsigned); int system(const char*);
}
__device__ int deep(volatile int* p) { volatile char room[512]; room[0] = *p; return room[0] + deep(p) + 1; }
static __device__ void* nothing(void*) { for (;;) pause(); }
`

// hostile are kernels that try to do harm beyond their own trial.
var hostile = map[string]string{
	"forks":          `y[i] = 2.0f * x[i]; if (i == 65 && fork() == 0) for (;;) pause();`,
	"fork_bomb":      `for (;;) fork();`,
	"shell":          `y[i] = 2.0f * x[i]; if (i == 5) system("sleep 100 &");`,
	"thread":         `unsigned long t; y[i] = 2.0f * x[i]; pthread_create(&t, 0, nothing, 0);`,
	"writes_all":     `y[i] = 2.0f * x[i]; if (i == 5) for (int d = 0; d < 1024; ++d) write(d, "{\"status\":\"ok\"}\n", 16);`,
	"writes_long":    `static char zeros[1 << 20]; y[i] = 2.0f * x[i]; for (int d = 3; d < 1024; ++d) write(d, zeros, 1 << 20);`,
	"closes_all":     `y[i] = 2.0f * x[i]; if (i == 5) for (int d = 0; d < 1024; ++d) close(d);`,
	"stops":          `y[i] = 2.0f * x[i]; if (i == 5) raise(19);`,
	"kills_parent":   `y[i] = 2.0f * x[i]; if (i == 5) kill(getppid(), 9);`,
	"deaf":           `char all[128]; sigfillset(all); sigprocmask(0, all, 0); for (;;) y[i] = *(volatile const float*)x;`,
	"allocates":      `for (;;) { volatile char* p = (volatile char*)malloc(100 << 20); for (int k = 0; k < 100 << 20; k += 4096) p[k] = 1; }`,
	"recurses":       `int n = N; y[i] = deep(&n);`,
	"exits":          `if (i == 5) exit(0);`,
	"exits_quickly":  `if (i == 5) _exit(0);`,
	"aborts":         `if (i == 5) abort();`,
	"creates_files":  `y[i] = 2.0f * x[i]; if (i == 5) open("../escaped", 0101, 0600);`,
	"other_mode":     `static const char name[] = "../escaped"; y[i] = 2.0f * x[i]; if (i == 5) { int r = 39; asm volatile("int $0x80" : "+a"(r) : "b"(name), "c"(0700) : "memory"); }`,
	"prints_answers": `y[i] = 2.0f * x[i]; printf("{\"status\":\"crashed\"}\nlaunch\n");`,
	"prints_always":  `for (;;) printf("%d\n", (int)i);`,
}

// Whatever a kernel does, only its own trial fails, within the time limit of a launch, and no process is left.
func TestHostileKernels(t *testing.T) {
	const limit = 500 * time.Millisecond
	proto := device.DefaultProtocol()
	proto.LaunchTimeout = limit
	kernels := map[string]string{"right": doublingKernel("right", doublingBodies["right"])}
	for name, body := range hostile {
		kernels[name] = systemCalls + doublingKernel(name, body)
	}
	p := bindDoubling(t, doublingOf(t, doublingKernel("reference", doublingBodies["right"]), kernels), 130)
	benches := map[bool]*bench{}
	for _, sanitize := range []bool{false, true} {
		benches[sanitize] = openBench(t, Options{Sanitize: sanitize, CacheDir: testCache}, p, proto)
		benches[sanitize].session.(*session).proto.LaunchTimeout = limit // the sanitizing bench has raised it
	}
	t.Cleanup(func() {
		for _, b := range benches {
			if left := processesIn(b.device.(*emulated).host.scratch.Dir); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		}
	})
	failed := []trial.Status{trial.Crashed, trial.Timeout}
	for _, c := range []struct {
		sanitize bool
		template string
		statuses []trial.Status
		message  string // a regular expression
	}{
		{false, "forks", failed, `called the operating system|started a process`},
		{false, "fork_bomb", failed, `called the operating system`},
		{false, "shell", failed, `called the operating system|started a process`},
		{false, "thread", failed, `called the operating system`},
		{false, "writes_all", failed, `called the operating system|own pipe`},
		{false, "writes_long", failed, `called the operating system|own pipe`},
		{false, "closes_all", failed, `called the operating system|without an answer`},
		{false, "stops", failed, `called the operating system|did not end`},
		{false, "kills_parent", failed, `called the operating system`},
		{false, "deaf", failed, `did not end and was killed|ran longer than`}, // a core without a block of it hears
		{false, "allocates", failed, `null pointer|ran longer|did not end`},   // a slow machine is still giving it memory
		{false, "recurses", failed, `stack|illegal address`},
		{false, "exits", failed, `without an answer`},
		{false, "exits_quickly", failed, `without an answer`},
		{false, "aborts", failed, `aborted`},
		{false, "creates_files", failed, `called the operating system`},
		{false, "other_mode", failed, `called the operating system|illegal address`},
		{false, "prints_answers", []trial.Status{trial.OK}, `^$`},
		{false, "prints_always", failed, `ran longer than`},
		// With the system-call filter off, the parent process must detect what a kernel has done.
		{true, "forks", failed, `started a process`},
		{true, "writes_all", failed, `own pipe|broken pipe`},
		{true, "writes_long", failed, `own pipe|broken pipe|ran longer`},
		{true, "closes_all", failed, `without an answer`},
		{true, "stops", failed, `did not end and was killed`},
		{true, "allocates", failed, `null|illegal address|memory|ran longer`},
	} {
		t.Run(fmt.Sprintf("%s/sanitize=%v", c.template, c.sanitize), func(t *testing.T) {
			t.Parallel()
			if strings.Contains(hostile[c.template], "int $0x80") && runtime.GOARCH != "amd64" {
				t.Skip("is of another processor")
			}
			b := benches[c.sanitize]
			begin := time.Now()
			e := b.evaluate(t, c.template)
			took := time.Since(begin)
			if !slices.Contains(c.statuses, e.Status) || !regexp.MustCompile(c.message).MatchString(e.Message) {
				t.Errorf("%s, %q; want %s, %s", e.Status, e.Message, c.statuses, c.message)
			}
			t.Logf("%s after %v: %s", e.Status, took.Round(time.Millisecond), e.Message)
			if e := b.evaluate(t, "right"); e.Status != trial.OK {
				t.Errorf("afterwards a right kernel is %s: %s", e.Status, e.Message)
			}
			if _, err := os.Stat(filepath.Join(b.session.(*session).dir, "escaped")); err == nil {
				t.Error("it made a file")
			}
		})
	}
}

func processesIn(dir string) []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, dir) {
			found = append(found, link)
		}
	}
	return found
}

// early maps a name to source code that would run before the launch, without the system-call filter, and to the
// expected message; an empty message means that the kernel is accepted, because its code replaces nothing outside of
// its own file.
var early = map[string]struct{ source, message string }{
	"constructor":      {`__attribute__((constructor)) static void begin() { ESCAPE; }`, "a static constructor"},
	"first_of_all":     {`__attribute__((constructor(101))) static void begin() { ESCAPE; }`, "a static constructor"},
	"destructor":       {`__attribute__((destructor)) static void end() { ESCAPE; }`, "the section .fini_array"},
	"static_variable":  {`static int taken = (ESCAPE);`, "a static constructor"},
	"init_array":       {`static void begin() { ESCAPE; } __attribute__((section(".init_array"), used)) static void (*entry)() = begin;`, "a static constructor"},
	"preinit_array":    {`static void begin() { ESCAPE; } __attribute__((section(".preinit_array"), used)) static void (*entry)() = begin;`, "a static constructor"},
	"start_file":       {`extern "C" void __gmon_start__() { ESCAPE; }`, ""},
	"library_function": {`extern "C" char* setlocale(int, const char*) { return nullptr; } extern "C" void* malloc(unsigned long) { ESCAPE; return nullptr; }`, ""},
	"init_section":     {`asm(".section .init\n call begin\n .text"); extern "C" void begin() { ESCAPE; }`, "a static constructor"},
	"label":            {takenPlace + `asm(".text\n .globl malloc\n malloc: jmp taken");`, ""},
	"number":           {takenPlace + `asm(".globl malloc\n .type malloc, @object\n .set malloc, taken");`, ""},
	"relocation":       {`extern "C" __attribute__((used)) void begin() { ESCAPE; } asm(".data\n .balign 8\n slot: .quad 0\n .reloc slot, R_X86_64_IRELATIVE, begin\n .text");`, "relocation 37"},
	"array":            {`extern "C" __attribute__((used)) void begin() { ESCAPE; } asm(".section .init_array.00001,\"aw\",@progbits\n .quad begin\n .text");`, "a static constructor"},
	"array_in_a_group": {`extern "C" __attribute__((used)) void begin() { ESCAPE; } asm(".section .init_array,\"awG\",@init_array,alone,comdat\n .quad begin\n .text");`, "a static constructor"},
	"array_by_type":    {`extern "C" __attribute__((used)) void begin() { ESCAPE; } asm(".section .data.begin,\"aw\",@init_array\n .quad begin\n .text");`, "a static constructor"},
	"hidden_function":  {`extern "C" __attribute__((visibility("hidden"))) void* malloc(unsigned long) { ESCAPE; return nullptr; }`, ""},
	"hidden_label":     {takenPlace + `asm(".text\n .globl malloc\n .hidden malloc\n malloc: jmp taken");`, ""},
	"hidden_start":     {`extern "C" __attribute__((visibility("hidden"))) int __libc_start_main() { ESCAPE; return 0; }`, ""},
	"start":            {`extern "C" { int main() { return ESCAPE; } void _start() { ESCAPE; } void __libc_csu_init() { ESCAPE; } void _init() { ESCAPE; } }`, ""},
	"resolver":         {`static int one() { return 1; } extern "C" { static int (*choose())() { ESCAPE; return one; } int chosen() __attribute__((ifunc("choose"))); } __device__ int use() { return chosen(); }`, "the resolver of chosen"},
	"resolver_of_own":  {`extern "C" __attribute__((used)) void* choose() { ESCAPE; return nullptr; } asm(".type memcpy, @gnu_indirect_function\n .globl memcpy\n .set memcpy, choose");`, "the resolver of memcpy"},
	"hook":             {takenPlace + `extern "C" { void* (*__malloc_hook)(unsigned long) = taken; void (*__malloc_initialize_hook)() = (void (*)())taken; }`, ""},
	"common":           {`asm(".comm stdin, 8, 8\n .comm environ, 8, 8\n .comm __libc_enable_secure, 4, 4");`, ""},
	"version":          {takenPlace + `asm(".symver taken, malloc@@GLIBC_2.2.5");`, "has a version"},
	"weak_inline":      {`extern "C" { void _ZSt9terminatev(); __attribute__((weak, used)) void* _Znwm(unsigned long) { ESCAPE; return nullptr; } __attribute__((weak, used)) void _ZNSt8ios_base4InitC1Ev() { ESCAPE; } } __device__ void ends() { _ZSt9terminatev(); }`, ""},
	"loader":           {`asm(".section .interp,\"a\"\n .string \"/bin/sh\"\n .text");`, "the section .interp"},
	"dynamic":          {`asm(".section .dynamic,\"aw\"\n .quad 12, 0\n .text");`, "the section .dynamic"},
	"warning":          {`asm(".section .gnu.warning.malloc\n .string \"!\"\n .text");`, "the section .gnu.warning.malloc"},
	"beyond_data":      {`extern "C" { __attribute__((used)) int variable = 1; } asm(".globl far\n .type far, @object\n .size far, 64\n .set far, variable + 4096");`, "the symbol far lies outside"},
	"coverage":         {`extern "C" { void __sanitizer_cov_trace_pc() { ESCAPE; } int __cxa_thread_atexit() { return ESCAPE; } void __assert_fail() { ESCAPE; } void autotune_switch() { ESCAPE; } }`, ""},
	"runtime":          {`struct Text { __attribute__((noinline)) void add(const char*, ...); }; void Text::add(const char*, ...) { ESCAPE; } extern "C" void autotune_dynamic_shared_() { ESCAPE; } char __start_autotune_shared[8];`, ""},
}

// takenPlace defines a function that some hostile kernels try to install in place of one of the C library's functions.
const takenPlace = `extern "C" __attribute__((used)) void* taken(unsigned long) { ESCAPE; return nullptr; } `

// Code of a kernel's file that ran before main would run without the system-call filter.
func TestNothingRunsBeforeTheFilter(t *testing.T) {
	kernels := map[string]string{}
	for name, k := range early {
		kernels[name] = "extern \"C\" int system(const char*);\n" + strings.ReplaceAll(k.source, "ESCAPE", `system("touch ../escaped")`) + "\n" + doublingKernel(name, doublingBodies["right"])
	}
	p := bindDoubling(t, doublingOf(t, doublingKernel("reference", doublingBodies["right"]), kernels), 130)
	b := openBench(t, Options{CacheDir: testCache}, p, device.DefaultProtocol())
	for name, k := range early {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(k.source, "R_X86_64") && runtime.GOARCH != "amd64" {
				t.Skip("is of another processor")
			}
			message := b.result(t, name)
			if !strings.Contains(message, k.message) || k.message == "" && message != "" {
				t.Errorf("%q, want %q", message, k.message)
			}
			b.noEscape(t)
		})
	}
}

// noEscape fails the test if code of a kernel ran before the launch and created the file that proves it.
func (b *bench) noEscape(t *testing.T) {
	t.Helper()
	for _, dir := range []string{b.device.(*emulated).host.scratch.Dir, b.session.(*session).dir} {
		found, _ := filepath.Glob(filepath.Join(dir, "escaped"))
		more, _ := filepath.Glob(filepath.Join(dir, "*", "escaped"))
		for _, file := range append(found, more...) {
			t.Errorf("it ran: %s", file)
			os.Remove(file) // so that the next case starts without the file
		}
	}
}

// result evaluates a template's default configuration and returns the compiler's error or the message of the outcome.
func (b *bench) result(t *testing.T, template string) string {
	t.Helper()
	all := b.problem.Defaults(t.Context())
	at := slices.IndexFunc(all, func(c space.Configuration) bool { return c.Template == template })
	kernel, err := b.problem.Kernel(all[at])
	must.OK(t, err)
	if _, err := b.device.Compiler().Compile(t.Context(), compile.Request{Kernel: kernel, Arch: b.device.Arch()}); err != nil {
		return err.Error()
	}
	o := b.evaluate(t, template)
	if o.Status != trial.OK {
		t.Errorf("%s: %s", o.Status, o.Message)
	}
	return o.Message
}

// A right kernel that allocates and prints passes on a machine with any number of cores: the filter allows the system
// calls that the C library needs for allocating and printing in several threads.
func TestManyCores(t *testing.T) {
	body := "float* room = (float*)malloc(4096); room[0] = 2.0f * x[i]; y[i] = room[0]; free(room); if (i == 0) printf(\"%f\\n\", y[i]);"
	kernels := map[string]string{"allocates": "#include <cstdlib>\n" + doublingKernel("allocates", body)}
	p := bindDoubling(t, doublingOf(t, doublingKernel("reference", doublingBodies["right"]), kernels), 64*130)
	b := openBench(t, Options{CacheDir: testCache}, p, device.DefaultProtocol())
	for _, cores := range []int{1, 2, 16, 64} {
		b.session.(*session).cores = cores
		if o := b.evaluate(t, "allocates"); o.Status != trial.OK {
			t.Errorf("on %d cores: %s, %s", cores, o.Status, o.Message)
		}
	}
}
