package compile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ebitengine/purego"
)

// ErrMissing means that this machine has no compiler. The message of an error that wraps ErrMissing names the package
// to install.
var ErrMissing = errors.New("compiler not found")

// libraryNames lists the sonames of NVRTC, the newest first. CUDA 11.2 to 11.8 share one soname; libnvrtc.so exists
// only where a development package is installed.
var libraryNames = []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}

func missingNVRTC(detail string) error {
	return fmt.Errorf("%w: NVRTC, which compiles CUDA kernels, is not on this machine (%s); install libnvrtc11.2 and "+
		"libnvrtc-builtins11.8 (Debian, non-free), cuda-nvrtc-13-0 (NVIDIA's repository) or pip's nvidia-cuda-nvrtc, "+
		"or point CUDA_HOME at a CUDA toolkit", ErrMissing, detail)
}

// openLibrary loads NVRTC, from the dynamic linker's search path (LD_LIBRARY_PATH, the linker's cache) or else from the
// usual places of CUDA, and returns the file or name that it loaded.
func openLibrary() (handle uintptr, from string, err error) {
	for _, name := range libraryNames {
		if handle, err = purego.Dlopen(name, libraryMode); err == nil {
			return handle, name, nil
		}
	}
	detail := "looked for " + strings.Join(libraryNames, ", ")
	for _, dir := range libraryDirs() {
		for _, name := range libraryNames {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); err != nil {
				continue
			}
			loadBuiltins(dir)
			if handle, err = purego.Dlopen(path, libraryMode); err == nil {
				return handle, path, nil
			}
			detail = "found, but it cannot be loaded: " + err.Error()
		}
	}
	return 0, "", missingNVRTC(detail)
}

const libraryMode = purego.RTLD_NOW | purego.RTLD_GLOBAL

// loadBuiltins loads the libnvrtc-builtins library, which NVRTC opens by its bare name at the first compilation. NVRTC
// itself cannot open libnvrtc-builtins if the library's directory is not on the dynamic linker's path.
func loadBuiltins(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "libnvrtc-builtins.so.*"))
	for _, file := range files {
		_, _ = purego.Dlopen(file, libraryMode)
	}
}

// libraryDirs lists directories that may hold CUDA's libraries although the dynamic linker does not search them.
func libraryDirs() []string {
	return slices.Concat(toolkitDirs("lib64", "targets/*/lib"), newestFirst("/usr/lib/*-linux-gnu"), pythonDirs("cuda_nvrtc", "lib"))
}

// toolkitDirs lists the folders of CUDA toolkits that match the patterns, the likeliest folder first.
func toolkitDirs(patterns ...string) (dirs []string) {
	for _, roots := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda*", "/opt/cuda*"} {
		for _, root := range newestFirst(roots) {
			for _, pattern := range patterns {
				dirs = append(dirs, newestFirst(filepath.Join(root, pattern))...)
			}
		}
	}
	return dirs
}

// FindTool returns the path of one of NVIDIA's programs, on the PATH or in a CUDA toolkit, or "" if there is none.
func FindTool(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, folder := range toolkitDirs("bin") {
		if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return path
		}
	}
	return ""
}

// pythonDirs lists the folders with the given name in Python installations and in the CUDA packages of pip, both
// those of the whole toolkit and those of the given part of the toolkit.
func pythonDirs(part, name string) (dirs []string) {
	const packages = "lib/python3*/*-packages/nvidia"
	for _, prefix := range pythonPrefixes() {
		for _, folder := range []string{"", packages + "/cu1[0-9]", packages + "/" + part} {
			dirs = append(dirs, newestFirst(filepath.Join(prefix, folder, name))...)
		}
	}
	return dirs
}

// newestFirst lists the files that match a pattern in descending order of name. newestFirst returns no files for an
// empty pattern.
func newestFirst(pattern string) []string {
	found, _ := filepath.Glob(pattern)
	slices.Reverse(found)
	return found
}

// pythonPrefixes lists the roots of Python installations: the active environment, the python3 on the PATH, the
// user's own packages and the system's. An element of the returned list may be "", which stands for a missing
// Python installation.
func pythonPrefixes() []string {
	prefixes := []string{os.Getenv("VIRTUAL_ENV"), os.Getenv("CONDA_PREFIX")}
	if python, err := exec.LookPath("python3"); err == nil {
		prefixes = append(prefixes, filepath.Dir(filepath.Dir(python)))
		if real, err := filepath.EvalSymlinks(python); err == nil {
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(real)))
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	return append(prefixes, "/usr/local", "/usr", "/opt/conda")
}
