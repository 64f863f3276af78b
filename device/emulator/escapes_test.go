package emulator

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/internal/worker"
	"autotune/operator"
)

// openEscapes opens a session on the kernels of testdata/escapes, each of which once escaped from the sandbox.
func openEscapes(t *testing.T, o Options) *bench {
	t.Helper()
	op, err := operator.Load(os.DirFS("testdata"), "escapes")
	must.OK(t, err)
	p, err := op.Bind(operator.Request{Shape: []int64{1024}}, Limits())
	must.OK(t, err)
	return openBench(t, o, p, device.DefaultProtocol())
}

// A kernel's file that redefines symbols of the runtime or a library runs no code before the system-call filter is set,
// and its launch can make no system calls. No kernel sees the user's environment.
func TestEscapes(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "hunter2")
	for _, sanitize := range []bool{false, true} {
		b := openEscapes(t, Options{CacheDir: testCache, Sanitize: sanitize})
		for template, want := range map[string]struct {
			status  trial.Status
			message string // a regular expression
		}{
			"allow_with": {trial.OK, "^$"},
			"stdin_fsop": {trial.OK, "^$"},
			"opens_all":  {trial.Crashed, "called the operating system"},
			"env":        {trial.Crashed, "exit status 3$"},
		} {
			if sanitize && template == "opens_all" {
				continue // the filter is off
			}
			t.Run(fmt.Sprintf("%s/sanitize=%v", template, sanitize), func(t *testing.T) {
				o := b.evaluate(t, template)
				if o.Status != want.status || !regexp.MustCompile(want.message).MatchString(o.Message) {
					t.Errorf("%s, %q; want %s, %s", o.Status, o.Message, want.status, want.message)
				}
				b.noEscape(t)
			})
		}
	}
}

// shared matches the only symbols of the runtime that a kernel's file can link to: those that the shim calls, those
// that compilers insert calls to, and those that the C start files need.
var shared = regexp.MustCompile(`^(?:autotune_\w+|main|__assert_fail|__sanitizer_cov_trace_pc|__asan_on_error|__ubsan_on_report)$`)

func TestRuntimeKeepsItsNames(t *testing.T) {
	needCompiler(t)
	for _, sanitize := range []bool{false, true} {
		c, err := newHostCompiler(Options{CacheDir: testCache, Sanitize: sanitize})
		must.OK(t, err)
		defer c.Close()
		_, path, err := c.support.get(t.Context(), c)
		must.OK(t, err)
		f, err := elf.Open(path)
		if err != nil {
			t.Skip("not an ELF file")
		}
		defer f.Close()
		symbols, err := f.Symbols()
		must.OK(t, err)
		for _, s := range symbols {
			if elf.ST_BIND(s.Info) != elf.STB_LOCAL && s.Section != elf.SHN_UNDEF && !shared.MatchString(s.Name) {
				t.Errorf("sanitized %v: the runtime shows %s", sanitize, s.Name)
			}
		}
	}
}

// outlaw is a program that attempts everything that is forbidden to kernels, and prints which attempts succeeded. The
// sandbox must stop all forbidden actions of the test program outlaw, although outlaw sets no system-call filter of its
// own.
const outlaw = `#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
extern char** environ;
static void did(const char* what, bool could) { printf("%s %s\n", what, could ? "yes" : "no"); fflush(stdout); }
static void* nothing(void*) { return nullptr; }
int main() {
  did("reads", open("/etc/passwd", O_RDONLY) >= 0);
  did("lists", open("..", O_RDONLY | O_DIRECTORY) >= 0);
  did("makes", open("made", O_CREAT | O_WRONLY, 0600) >= 0 || mkdir("folder", 0700) == 0);
  did("overwrites", open("program", O_WRONLY) >= 0 || open("input", O_WRONLY) >= 0 || unlink("input") == 0);
  did("connects", socket(AF_INET, SOCK_STREAM, 0) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
  did("kills", kill(getppid(), 0) == 0);
  did("traces", ptrace(PTRACE_ATTACH, getppid(), 0, 0) == 0);
  did("descriptors", fcntl(4, F_GETFD) >= 0 || fcntl(9, F_GETFD) >= 0);
  did("variables", getenv("SECRET_TOKEN") || getenv("PATH") || getenv("HOME"));
  pid_t child = fork();
  if (child == 0) _exit(0);
  did("forks", child > 0);
  if (child > 0) { waitpid(child, nullptr, 0); did("runs", system("true") == 0); }
  char* const words[] = {(char*)"true", nullptr};
  execv("/bin/true", words);
  // The sandbox must allow a kernel's program to do the following things.
  pthread_t thread;
  did("INPUT", open("input", O_RDONLY) >= 0);
  did("OUTPUT", open("output", O_CREAT | O_TRUNC | O_WRONLY, 0600) >= 0);
  did("THREAD", pthread_create(&thread, nullptr, nothing, nullptr) == 0);
  did("END", true);
}
`

// The sandbox around a program holds even without the program's own system-call filter.
func TestWallsHoldWithoutTheFilter(t *testing.T) {
	needCompiler(t)
	t.Setenv("SECRET_TOKEN", "hunter2")
	c, err := newHostCompiler(Options{CacheDir: testCache})
	must.OK(t, err)
	defer c.Close()
	w, err := c.wallsOf(t.Context())
	must.OK(t, err)
	if w == nil {
		t.Skip("there are no walls on " + runtime.GOOS + "/" + runtime.GOARCH)
	}
	stand := Walls(t.Context(), &emulated{host: c})
	t.Log(stand)
	dir := t.TempDir()
	for name, text := range map[string]string{"outlaw.cpp": outlaw, "input": "1"} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	if log, err := c.run(t.Context(), dir, []string{filepath.Join(dir, "outlaw.cpp"), "-o", filepath.Join(dir, "program"), "-pthread"}); err != nil {
		t.Fatal(err, log)
	}
	code := must.Read(t, filepath.Join(dir, "program"))
	filtered, locked := strings.Contains(stand, "filter"), strings.Contains(stand, "landlock")
	held := map[string]bool{ // forbidden actions that a wall prevents
		"reads": locked, "lists": locked, "makes": locked, "overwrites": locked, "connects": filtered, "kills": filtered, "traces": filtered,
		"forks": filtered, "runs": filtered, "descriptors": true, "variables": true,
	}
	words, err := w.around(dir, code, job{arguments: []jobArgument{{input: "input", output: "output"}}})
	must.OK(t, err)
	other, err := w.around(dir, bytes.Replace(code, []byte("/lib"), []byte("/bin"), 1), job{})
	if loader := loaderOf(code); err != nil || loader == "" || !slices.Contains(words, "x"+loader) || !slices.Contains(other, "x") {
		t.Errorf("the loader is %q; %v; another may be run by %q", loader, err, other)
	}
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Dir, cmd.Env = dir, worker.Environment("LD_LIBRARY_PATH")
	open, err := os.Open(os.DevNull)
	must.OK(t, err)
	defer open.Close()
	cmd.ExtraFiles = slices.Repeat([]*os.File{open}, 8)
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for line := range strings.Lines(string(said)) {
		what, could, _ := strings.Cut(strings.TrimSpace(line), " ")
		if asked := strings.ToUpper(what) == what; could == "no" && asked || could == "yes" && held[what] {
			t.Errorf("%s: %s", what, could)
		}
	}
	if !strings.HasSuffix(string(said), "END yes\n") {
		t.Errorf("it says\n%s", said)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil && locked {
		t.Error("it made a file")
	}
}

// Object files of other systems, and files that are no object files, are left unchanged.
func TestObjectsOfOtherSystems(t *testing.T) {
	for _, text := range []string{"", "\x7fELF", "\xcf\xfa\xed\xfe", strings.Repeat("x", 4096)} {
		if o := openObject([]byte(text)); o != nil {
			t.Errorf("%.8q is an object", text)
		}
	}
}

// A kernel's source can make the compiler read its environment, which therefore contains no secrets.
func TestCompilerSeesNoSecrets(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "hunter2")
	t.Setenv("CPATH", "/headers")
	log, err := (&hostCompiler{command: []string{"env"}}).run(t.Context(), t.TempDir(), nil)
	if err != nil || strings.Contains(log, "hunter2") || !strings.Contains(log, "PATH=") || !strings.Contains(log, "CPATH=/headers\n") {
		t.Errorf("%v, the compiler sees\n%s", err, log)
	}
}

// Whatever bytes an object file contains, it is refused, gets renamed symbols, or is left unchanged.
func FuzzObject(f *testing.F) {
	f.Add([]byte("\x7fELF"))
	f.Fuzz(func(t *testing.T, all []byte) {
		o := openObject(all)
		if o == nil || o.refused(0) != "" {
			return
		}
		code, err := o.own()
		if err != nil || bytes.Equal(code, all) {
			return
		}
		again := openObject(code)
		if again == nil {
			t.Fatal("it is no object any more")
		}
		symbols, _ := again.file.Symbols()
		for _, s := range symbols {
			kind := elf.ST_TYPE(s.Info)
			if kind != elf.STT_FILE && kind != elf.STT_SECTION && s.Section != elf.SHN_UNDEF && s.Name != "" && !slices.Contains(tables, s.Name) && !strings.HasPrefix(s.Name, ownName) {
				t.Errorf("it still defines %q", s.Name)
			}
		}
	})
}
