package emulator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"autotune/device/compile"
	"autotune/internal/scratch"
	"autotune/internal/worker"
)

var ErrNoCompiler = errors.New("no C++ compiler found")

type hostCompiler struct {
	options     Options
	command     []string // CXX may hold arguments: "ccache g++"
	version     string   // "g++ 12.2.0"
	fingerprint string
	support     runtimeObject
	scratch     *scratch.Folder // everything temporary
	slots       chan struct{}
}

func newHostCompiler(o Options) (*hostCompiler, error) {
	command, err := findCompiler()
	if err != nil {
		return nil, err
	}
	c := &hostCompiler{options: o, command: command, slots: make(chan struct{}, runtime.NumCPU())}
	if err := c.identify(); err != nil {
		return nil, err
	}
	h := sha256.New()
	fmt.Fprintln(h, rewriting, c.version, c.command[1:], supportDigest(), c.baseFlags(), c.variantFlags("host"), archFlags(archFMA), c.libraries())
	c.fingerprint = hex.EncodeToString(h.Sum(nil))
	if c.scratch, err = scratch.New("emulator"); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *hostCompiler) cached() compile.Compiler {
	if c.options.CacheDir == "" {
		return c
	}
	return compile.Cached(c.options.CacheDir, c)
}

func (c *hostCompiler) Version() string { return c.version }

// Fingerprint includes the sources of the shim and the runtime, which are part of every program.
func (c *hostCompiler) Fingerprint() string { return c.fingerprint }
func (c *hostCompiler) Workers() int        { return runtime.NumCPU() }
func (c *hostCompiler) Close() error        { return c.scratch.Close() }

// baseFlags returns the compiler flags for both the runtime and the variants.
func (c *hostCompiler) baseFlags() []string {
	flags := []string{
		"-std=c++17", "-w", "-pipe", "-fno-exceptions", "-fno-rtti", "-fno-pie", "-fno-stack-protector",
		// As on a GPU, math functions do not set errno, and the compiler fuses no multiplications and additions that
		// the source does not fuse.
		"-fno-math-errno", "-ffp-contract=off", "-fno-diagnostics-show-caret",
	}
	switch {
	case c.options.Sanitize:
		return append(flags, "-g1", "-DAUTOTUNE_SANITIZE")
	case c.options.races:
		flags = append(flags, "-DAUTOTUNE_RACES")
	}
	return append(flags, "-U_FORTIFY_SOURCE")
}

// variantFlags returns the compiler flags for variants alone. Compared with -O2, -O1 halves the compile time, and most
// variants run only once. -Og would save a third of the remaining compile time, but double the run time.
func (c *hostCompiler) variantFlags(arch string) []string {
	flags := append([]string{"-O1", "-no-pie", "-fmax-errors=5"}, archFlags(arch)...)
	switch {
	case c.options.Sanitize:
		return append(flags, "-fsanitize=address,undefined", "-fno-sanitize=vptr,object-size", "-fno-sanitize-recover=all",
			"-fno-omit-frame-pointer", "-fsanitize-sections=autotune_shared")
	case c.options.races:
		return append(flags, raceFlags...)
	}
	return flags
}

func (c *hostCompiler) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	shim, object, err := c.support.get(ctx, c)
	if err != nil {
		return nil, err
	}
	dir, err := temporary(c.scratch.Dir, "compile-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := c.writeSources(dir, r); err != nil {
		return nil, err
	}
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, compile.DefaultTimeout))
	defer cancel()
	refused, log, err := c.build(limited, r, dir, shim, object)
	if err != nil && limited.Err() == nil && inTrouble(log, err) {
		if strings.Contains(log, "PCH") {
			_ = os.Remove(filepath.Join(shim, words+".gch")) // GCC can read the header itself
		}
		refused, log, err = c.build(limited, r, dir, shim, object)
	}
	took := time.Since(begin)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, &compile.Error{File: r.Kernel.File, Message: fmt.Sprintf("the compilation was stopped after %v", took.Round(time.Millisecond)), Timeout: true}
	case err != nil:
		return nil, c.judge(r, dir, log, err)
	case refused != "":
		return nil, &compile.Error{File: r.Kernel.File, Message: refused}
	}
	code, err := os.ReadFile(filepath.Join(dir, "program"))
	if err != nil {
		return nil, err
	}
	return &compile.Binary{Code: code, Log: log, Duration: took}, nil
}

func (c *hostCompiler) build(ctx context.Context, r compile.Request, dir, shim, object string) (refused, log string, err error) {
	if log, err = c.run(ctx, dir, c.arguments(r, dir, shim)); err == nil {
		refused, log, err = c.link(ctx, r, dir, object)
	}
	return refused, log, err
}

func (c *hostCompiler) writeSources(dir string, r compile.Request) error {
	if err := os.WriteFile(filepath.Join(dir, "kernel.cpp"), []byte(prepare(r.Kernel, c.options.Sanitize)), 0o644); err != nil {
		return err
	}
	for name, text := range headersOf(r.Kernel) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for name, text := range r.Kernel.Includes {
		path := filepath.Join(dir, "include", filepath.FromSlash(name))
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return fmt.Errorf("include %q leaves the folder of includes", name)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		text := fmt.Sprintf("#line 1 %q\n%s", name, rewriteDynamicShared(text, name))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// link links the object files of the kernel and the runtime into a program, unless the kernel's file contains something
// that no kernel may contain.
func (c *hostCompiler) link(ctx context.Context, r compile.Request, dir, runtimes string) (refused, log string, err error) {
	path := filepath.Join(dir, "kernel.o")
	code, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	if o := openObject(code); o != nil {
		// Under a sanitizer no object file is refused: the filter of system calls is off, and the file contains the
		// sanitizer's own constructors.
		if refused = o.refused(c.initialisers()); refused != "" && !c.options.Sanitize {
			return refused, "", nil
		}
		code, err := o.own()
		if err == nil {
			err = os.WriteFile(path, code, 0o600)
		}
		if err != nil {
			return "", "", err
		}
	}
	arguments := slices.Concat(c.baseFlags(), c.variantFlags(r.Arch), []string{runtimes, path, "-o", filepath.Join(dir, "program"), "-Wl,--as-needed", "-pthread"})
	for _, libraries := range c.libraries() {
		if log, err = c.run(ctx, dir, append(arguments, libraries...)); !notFound.MatchString(log) {
			break
		}
	}
	return "", log, err
}

func (c *hostCompiler) arguments(r compile.Request, dir, shim string) []string {
	arguments := slices.Concat(c.baseFlags(), c.variantFlags(r.Arch), spinningFlags(r.Kernel), hostFlags(r.Kernel.Flags))
	headers := headersOf(r.Kernel)
	if headers[standardHeaders] != "" {
		arguments = append(arguments, "-include", filepath.Join(dir, standardHeaders))
	}
	arguments = append(arguments, "-include", filepath.Join(shim, words))
	if headers[moreWords] != "" {
		arguments = append(arguments, "-include", filepath.Join(dir, moreWords))
	}
	return append(arguments, "-I", filepath.Join(dir, "include"), "-I", shim,
		"-c", filepath.Join(dir, "kernel.cpp"), "-o", filepath.Join(dir, "kernel.o"))
}

// libraries lists the alternatives for linking a program, each with its linker and libraries, the smallest first. Most
// kernels need nothing from the C++ library, and linking with that library takes twice as long.
func (c *hostCompiler) libraries() [][]string {
	few := append(linker(), "-nodefaultlibs", "-lm", "-lpthread", "-lc", "-lgcc")
	switch {
	case c.options.races:
		return [][]string{few, {"-nodefaultlibs", "-lstdc++", "-lm", "-lpthread", "-lc", "-lgcc_s", "-lgcc"}}
	case c.options.Sanitize || runtime.GOOS != "linux":
		return [][]string{{"-lm"}}
	}
	return [][]string{few, {"-lm"}}
}

// linker selects GNU's faster linker gold if it is installed, without the plugin that only -flto needs. gold takes half
// the time of the default linker.
func linker() []string {
	flags := []string{"-fno-use-linker-plugin"}
	if _, err := exec.LookPath("ld.gold"); err == nil {
		flags = append(flags, "-fuse-ld=gold")
	}
	return flags
}

// notFound matches a linker's message about a missing function, and a compiler's message about a missing linker.
var notFound = regexp.MustCompile(`undefined (?:reference|symbol)|cannot find 'ld'`)

func findCompiler() ([]string, error) {
	if fields := strings.Fields(os.Getenv("CXX")); len(fields) > 0 {
		if _, err := exec.LookPath(fields[0]); err != nil {
			return nil, fmt.Errorf("%w: CXX is set to %q, which cannot be run; unset it or install g++", ErrNoCompiler, os.Getenv("CXX"))
		}
		return fields, nil
	}
	for _, name := range []string{"g++", "c++"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, fmt.Errorf("%w: install g++ (Debian/Ubuntu: apt install g++) or set CXX", ErrNoCompiler)
}

const versionLimit = 5 * time.Second

var versionNumber = regexp.MustCompile(`\b\d+\.\d+(\.\d+)?\b`)

func askVersion(command []string, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], append(slices.Clone(command[1:]), "--version")...)
	worker.OwnGroup(cmd)
	out, err := cmd.Output()
	worker.EndGroup(cmd)
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer within %v", limit)
	}
	return out, err
}

func (c *hostCompiler) identify() error {
	out, err := askVersion(c.command, versionLimit)
	if err != nil {
		return fmt.Errorf("%w: `%s --version` failed (%v); unset CXX or set it to g++", ErrNoCompiler, strings.Join(c.command, " "), err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	if strings.Contains(first, "clang") {
		return fmt.Errorf("%w: `%s` is clang, and the emulator needs g++; install it, or set CXX to it", ErrNoCompiler, strings.Join(c.command, " "))
	}
	// The compiler's first line may contain the Linux distribution's version number, in brackets, before the compiler's
	// own version.
	if _, rest, found := strings.Cut(first, ")"); found {
		first = rest
	}
	c.version = "g++ " + cmp.Or(versionNumber.FindString(first), "of unknown version")
	return nil
}

// The following constants limit a compiler process: bytes of memory, bytes of a file, and seconds of processor time.
// The limit of processor time ends a compiler that outlives this process.
const (
	compilerMemory = 2 << 30
	compilerFile   = 64 << 20
	compilerTime   = 120
)

// shellLimits is a shell command that sets the limits and then executes the compiler. A shell sets the limits, because
// a process cannot set the limits of another process that is already running.
var shellLimits = fmt.Sprintf(`ulimit -c 0; ulimit -v %d; ulimit -f %d; ulimit -t %d; exec "$@"`, compilerMemory>>10, compilerFile>>9, compilerTime)

// compilerVariables lists the environment variables by which compilers find their own parts, headers and libraries. The
// compiler gets no other environment variables, because a kernel's source can make the compiler read its environment.
var compilerVariables = []string{
	"PATH", "HOME", "LD_LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX",
	"CCACHE_DIR", "CCACHE_CONFIGPATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "SDKROOT", "DEVELOPER_DIR", "MACOSX_DEPLOYMENT_TARGET",
	"NIX_CC*", "NIX_BINTOOLS*", "NIX_CFLAGS*", "NIX_LDFLAGS*", "NIX_HARDENING_ENABLE",
}

// run runs the compiler in a process group of its own. A compiler consists of several processes, and all of them are
// killed when ctx ends.
func (c *hostCompiler) run(ctx context.Context, dir string, arguments []string) (log string, err error) {
	words := append([]string{"-c", shellLimits, "sh"}, c.command...)
	cmd := exec.CommandContext(ctx, "/bin/sh", append(words, arguments...)...)
	cmd.Env = append(worker.Environment(compilerVariables...), "TMPDIR="+dir)
	worker.OwnGroup(cmd)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	worker.EndGroup(cmd)
	return out.String(), err
}
