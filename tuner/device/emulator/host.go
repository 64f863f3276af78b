package emulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"autotune/internal/worker"
)

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

// versionLimit is how long a compiler may think about its version.
const versionLimit = 5 * time.Second

var versionNumber = regexp.MustCompile(`\b\d+\.\d+(\.\d+)?\b`)

// askVersion gives what a compiler says of its version.
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

// What a compiler may take: memory and a file, in bytes, and seconds of a
// processor, for one that outlives this process.
const (
	compilerMemory = 2 << 30
	compilerFile   = 64 << 20
	compilerTime   = 120
)

// shellLimits has a shell set them and become the compiler: a process cannot set those
// of another that has begun.
var shellLimits = fmt.Sprintf(`ulimit -c 0; ulimit -v %d; ulimit -f %d; ulimit -t %d; exec "$@"`, compilerMemory>>10, compilerFile>>9, compilerTime)

// run runs the compiler in a process group of its own, which is killed as a
// whole when ctx ends: a compiler is several processes.
func (c *hostCompiler) run(ctx context.Context, dir string, arguments []string) (log string, err error) {
	words := append([]string{"-c", shellLimits, "sh"}, c.command...)
	cmd := exec.CommandContext(ctx, "/bin/sh", append(words, arguments...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TMPDIR="+dir)
	worker.OwnGroup(cmd)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	worker.EndGroup(cmd)
	return out.String(), err
}
