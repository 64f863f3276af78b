package emulator

import (
	"bytes"
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"autotune/device"
	"autotune/internal/worker"
)

// walls are a sandbox around a variant's program, in addition to the system-call filter that the program itself sets.
// The launcher runtime/walls.cpp builds the sandbox and then executes the program. A nil *walls means no sandbox.
type walls struct {
	launcher  string   // an executable file
	filter    string   // "filter" or "none": whether the launcher also sets a system-call filter
	libraries []string // rules for the files that every program reads
}

// around returns the command that runs the program of a folder in the sandbox. The sandboxed program can read only its
// job's inputs and write only its job's outputs.
func (w *walls) around(dir string, code []byte, j job) ([]string, error) {
	if w == nil {
		return []string{filepath.Join(dir, "program")}, nil
	}
	words := append([]string{w.launcher, "run", w.filter, "xprogram", "x" + loaderOf(code)}, w.libraries...)
	for _, a := range j.arguments {
		if a.input != "" {
			words = append(words, "r"+a.input)
		}
		if a.output == "" {
			continue
		}
		// The sandboxed program may write to an existing file, but not create one.
		made, err := os.OpenFile(filepath.Join(dir, a.output), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		if err := made.Close(); err != nil {
			return nil, err
		}
		words = append(words, "w"+a.output)
	}
	return words, nil
}

// loaderOf returns the system's dynamic loader that the program names, or "" if it names none or names a program
// outside of the system's library folders.
func loaderOf(code []byte) string {
	f, err := elf.NewFile(bytes.NewReader(code))
	if err != nil {
		return ""
	}
	interpreter := f.Section(".interp")
	if interpreter == nil {
		return ""
	}
	path, _ := interpreter.Data()
	loader := filepath.Clean(string(bytes.TrimRight(path, "\x00")))
	if slices.ContainsFunc(libraryFolders(), func(folder string) bool { return strings.HasPrefix(loader, folder+"/") }) {
		return loader
	}
	return ""
}

// libraryFolders lists the folders in which the dynamic loader finds libraries, and the files that the loader and
// libraries read when they start. The dynamic loader's cache contains paths that end in a zero byte.
var libraryFolders = sync.OnceValue(func() []string {
	all := []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/nix/store", "/gnu/store",
		"/etc/ld.so.cache", "/etc/ld.so.preload", "/proc/self", "/proc/sys/vm", "/sys/devices/system/cpu"}
	cached, _ := os.ReadFile("/etc/ld.so.cache") // not on every system
	more := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	for text := range bytes.SplitSeq(cached, []byte{0}) {
		if path := string(text); strings.Contains(path, ".so") {
			more = append(more, filepath.Dir(path))
		}
	}
	for _, folder := range more {
		folder = filepath.Clean(folder)
		known := slices.ContainsFunc(all, func(k string) bool { return folder == k || strings.HasPrefix(folder, k+"/") })
		if filepath.IsAbs(folder) && folder != "/" && !known {
			all = append(all, folder)
		}
	}
	return all
})

// wallsOf compiles the sandbox's launcher once, or returns nil on systems without such a sandbox.
func (c *hostCompiler) wallsOf(ctx context.Context) (*walls, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return nil, nil
	}
	c.support.mu.Lock()
	defer c.support.mu.Unlock()
	if c.support.walls != nil {
		return c.support.walls, nil
	}
	dir, err := c.support.folder(c)
	if err != nil {
		return nil, err
	}
	made := &walls{launcher: filepath.Join(dir, "walls"), filter: "filter"}
	if c.options.Sanitize {
		made.filter = "none" // sanitizers need more system calls
	}
	for _, folder := range libraryFolders() {
		made.libraries = append(made.libraries, "r"+folder)
	}
	arguments := []string{"-std=c++17", "-w", "-O1", "-fno-pie", "-ffreestanding", "-fno-builtin", "-fno-stack-protector", "-fno-exceptions", "-fno-rtti",
		"-nostdlib", "-static", "-no-pie", filepath.Join(dir, "runtime", "walls.cpp")}
	if err := c.makeOnce(ctx, dir, "walls", made.launcher, arguments); err != nil {
		return nil, err
	}
	c.support.walls = made
	return made, nil
}

func Walls(ctx context.Context, d device.Device) string {
	e, ok := d.(*emulated)
	if !ok {
		return ""
	}
	var stand, namespaces []string
	if w, err := e.host.wallsOf(ctx); err == nil && w != nil {
		probe := exec.CommandContext(ctx, w.launcher, "probe")
		probe.Env = []string{}
		worker.OwnGroup(probe)
		said, _ := probe.Output() // without an answer, no wall is known to hold
		for wall := range strings.Lines(string(said)) {
			switch wall = strings.TrimSpace(wall); wall {
			case "user", "network":
				namespaces = append(namespaces, wall)
			default:
				stand = append(stand, wall)
			}
		}
	}
	if len(namespaces) > 0 {
		stand = append(stand, "namespaces ("+strings.Join(namespaces, ", ")+")")
	}
	if len(stand) == 0 {
		stand = append(stand, "none: kernels may do what this user may")
	}
	return "emulator walls: " + strings.Join(stand, ", ")
}
