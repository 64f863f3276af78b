package emulator

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"autotune/tuner/compile"
	"autotune/tuner/operator"
)

// ErrNoCompiler means that there is no C++ compiler on this machine.
var ErrNoCompiler = errors.New("no C++ compiler found")

// defaultTimeout is how long a compilation may take when its Request says
// nothing.
const defaultTimeout = 30 * time.Second

// hostCompiler compiles variants with the host's C++ compiler.
type hostCompiler struct {
	options     Options
	command     []string // CXX may hold arguments: "ccache g++"
	version     string   // "g++ 12.2.0"
	gnu         bool     // not clang
	fingerprint string
	support     runtimeObject
	dir         string // of everything temporary
	slots       chan struct{}
}

// NewCompiler returns the emulator's compiler alone, for proving kernels with
// Run; without a C++ compiler the error wraps ErrNoCompiler.
func NewCompiler(o Options) (compile.Compiler, error) {
	return newHostCompiler(o)
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
	fmt.Fprintln(h, c.version, supportDigest(), c.baseFlags(), c.variantFlags("host"), archFlags(archFMA))
	c.fingerprint = hex.EncodeToString(h.Sum(nil))
	if c.dir, err = temporary("", "autotune-emulator-"); err != nil {
		return nil, err
	}
	return c, nil
}

// findCompiler takes what CXX names, else the first of the usual names.
func findCompiler() ([]string, error) {
	if fields := strings.Fields(os.Getenv("CXX")); len(fields) > 0 {
		if _, err := exec.LookPath(fields[0]); err != nil {
			return nil, fmt.Errorf("%w: CXX is set to %q, which cannot be run (%v); unset it or install that compiler", ErrNoCompiler, os.Getenv("CXX"), reason(err))
		}
		return fields, nil
	}
	for _, name := range []string{"g++", "clang++", "c++"} {
		if path, err := exec.LookPath(name); err == nil {
			return []string{path}, nil
		}
	}
	return nil, fmt.Errorf("%w: install g++ (Debian/Ubuntu: apt install g++) or set CXX", ErrNoCompiler)
}

// reason is what the system said, without the names of the calls that failed.
func reason(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

var versionNumber = regexp.MustCompile(`\b\d+\.\d+(\.\d+)?\b`)

func (c *hostCompiler) identify() error {
	out, err := exec.Command(c.command[0], append(c.command[1:], "--version")...).Output()
	if err != nil {
		return fmt.Errorf("%w: `%s --version` failed (%v); unset CXX or set it to a C++ compiler", ErrNoCompiler, strings.Join(c.command, " "), err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	name := "g++"
	c.gnu = !strings.Contains(first, "clang")
	if !c.gnu {
		name = "clang++"
	}
	// A distribution's own number may stand in brackets before the version.
	if _, rest, found := strings.Cut(first, ")"); found && c.gnu {
		first = rest
	}
	number := versionNumber.FindString(first)
	if number == "" {
		number = "of unknown version"
	}
	c.version = name + " " + number
	return nil
}

func (c *hostCompiler) Version() string { return c.version }

// Fingerprint covers the shim and the runtime, which are part of every program.
func (c *hostCompiler) Fingerprint() string { return c.fingerprint }

func (c *hostCompiler) Workers() int { return runtime.NumCPU() }

// Close removes every temporary file.
func (c *hostCompiler) Close() error { return os.RemoveAll(c.dir) }

// baseFlags are for the runtime and the variants.
func (c *hostCompiler) baseFlags() []string {
	flags := []string{
		"-std=c++17", "-w", "-pipe", "-fno-exceptions", "-fno-rtti", "-fno-pie", "-fno-stack-protector",
		// A GPU never sets errno, and fuses what the source does not.
		"-fno-math-errno", "-ffp-contract=off",
	}
	if c.gnu {
		flags = append(flags, "-fno-diagnostics-show-caret")
	} else {
		flags = append(flags, "-fno-caret-diagnostics")
	}
	if c.options.Sanitize {
		flags = append(flags, "-g1", "-DAUTOTUNE_SANITIZE")
	} else {
		flags = append(flags, "-U_FORTIFY_SOURCE")
	}
	return flags
}

// variantFlags are for variants alone. -O1 halves the time to compile compared
// with -O2, and most variants run once.
func (c *hostCompiler) variantFlags(arch string) []string {
	flags := append([]string{"-O1", "-no-pie"}, archFlags(arch)...)
	if c.gnu {
		flags = append(flags, "-fmax-errors=5")
	} else {
		flags = append(flags, "-ferror-limit=5")
	}
	if c.options.Sanitize {
		flags = append(flags, "-fsanitize=address,undefined", "-fno-sanitize=vptr,object-size", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer")
		if c.gnu {
			flags = append(flags, "-fsanitize-sections=autotune_shared")
		}
	}
	return flags
}

// Compile makes the program of a variant.
func (c *hostCompiler) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("compile %s: %w", r.Kernel.File, ctx.Err())
	}
	shim, object, err := c.support.get(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", r.Kernel.File, err)
	}
	dir, err := temporary(c.dir, "compile-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := c.writeSources(dir, r); err != nil {
		return nil, fmt.Errorf("compile %s: %w", r.Kernel.File, err)
	}
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, cmp.Or(r.Timeout, defaultTimeout))
	defer cancel()
	log, err := c.run(limited, dir, c.arguments(r, dir, shim, object))
	took := time.Since(begin)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, fmt.Errorf("compile %s: %w", r.Kernel.File, ctx.Err())
	case limited.Err() != nil:
		return nil, &compile.Error{File: r.Kernel.File, Message: fmt.Sprintf("the compilation was stopped after %v", took.Round(time.Millisecond)), Timeout: true}
	case err != nil:
		return nil, c.judge(r, dir, log, err)
	}
	code, err := os.ReadFile(filepath.Join(dir, "program"))
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", r.Kernel.File, err)
	}
	return &compile.Binary{Entry: r.Kernel.Entry, Code: code, Log: log, Duration: took}, nil
}

// writeSources puts the kernel and its includes into the folder.
func (c *hostCompiler) writeSources(dir string, r compile.Request) error {
	if err := os.WriteFile(filepath.Join(dir, "kernel.cpp"), []byte(prepare(r.Kernel, c.options.Sanitize)), 0o644); err != nil {
		return err
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

func (c *hostCompiler) arguments(r compile.Request, dir, shim, object string) []string {
	arguments := append(c.baseFlags(), c.variantFlags(r.Arch)...)
	for _, m := range r.Kernel.Macros {
		arguments = append(arguments, "-D"+m.Name+"="+m.Value)
	}
	return append(arguments,
		"-include", filepath.Join(shim, "cuda_emulator.h"), "-I", filepath.Join(dir, "include"), "-I", shim,
		filepath.Join(dir, "kernel.cpp"), object, "-Wl,--as-needed", "-pthread", "-lm", "-o", filepath.Join(dir, "program"))
}

// run runs the compiler in a process group of its own, which is killed as a
// whole when ctx ends: a compiler is several processes.
func (c *hostCompiler) run(ctx context.Context, dir string, arguments []string) (log string, err error) {
	cmd := exec.CommandContext(ctx, c.command[0], append(slices.Clone(c.command[1:]), arguments...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// diagnostic is an error in the compiler's log: file, line, message.
var diagnostic = regexp.MustCompile(`(?m)^(?:In file included from )?([^\s:][^:\n]*):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$`)

// linkTrouble is an error of the linker or assembler.
var linkTrouble = regexp.MustCompile(`(?m)(?:undefined reference to|Error:) .*$`)

// judge turns the log of a failed compilation into an error that blames the
// right line.
func (c *hostCompiler) judge(r compile.Request, dir, log string, failure error) error {
	log = strings.ReplaceAll(log, dir+string(filepath.Separator)+"include"+string(filepath.Separator), "")
	log = strings.ReplaceAll(log, filepath.Join(dir, "kernel.cpp"), r.Kernel.File)
	e := &compile.Error{File: r.Kernel.File, Log: log}
	if m := diagnostic.FindStringSubmatch(log); m != nil {
		e.Message = m[3]
		e.File, e.Line = blame(r.Kernel, m, log)
		if strings.Contains(log, entryFile+":") { // the call of the kernel failed, not the kernel
			e.File, e.Line = r.Kernel.File, 0
			e.Message = fmt.Sprintf("no kernel %s that takes only pointers: %s", r.Kernel.Entry, e.Message)
		}
		return e
	}
	if m := linkTrouble.FindString(log); m != "" {
		e.Message = m
		return e
	}
	var exit *exec.ExitError
	if !errors.As(failure, &exit) {
		return fmt.Errorf("%s: %w", c.version, failure)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(log), "\n")
	e.Message = strings.TrimSpace(fmt.Sprintf("%s failed (%v) %s", c.version, failure, first))
	return e
}

// blame gives the place of an error: its own, if that is in the kernel's files,
// else (it is in the shim) the first in these that the log mentions.
func blame(k operator.Kernel, diagnosis []string, log string) (file string, line int) {
	names := sourceNames(k.File, k.Includes)
	for _, place := range append([][]string{diagnosis}, mentioned.FindAllStringSubmatch(log, -1)...) {
		if slices.Contains(names, place[1]) {
			line, _ := strconv.Atoi(place[2])
			return place[1], line
		}
	}
	return k.File, 0
}

// mentioned is any place that a log names at the beginning of a line.
var mentioned = regexp.MustCompile(`(?m)^\s*([^\s:][^:\n]*):(\d+):(?:\d+:)? `)

// sourceNames are the names that messages give the kernel's files.
func sourceNames(file string, includes map[string]string) []string {
	return append([]string{file}, slices.Sorted(maps.Keys(includes))...)
}
