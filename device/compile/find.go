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

// ErrMissing means that there is no compiler on this machine; the message
// wrapped around it names the package that brings one.
var ErrMissing = errors.New("compiler not found")

// libraryNames are the sonames of NVRTC, the newest first. CUDA 11.2 to 11.8
// share one; the bare name is there only with a development package.
var libraryNames = []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}

func missingNVRTC(detail string) error {
	return fmt.Errorf("%w: NVRTC, which compiles CUDA kernels, is not on this machine (%s); install libnvrtc11.2 and "+
		"libnvrtc-builtins11.8 (Debian, non-free), cuda-nvrtc-13-0 (NVIDIA's repository) or pip's nvidia-cuda-nvrtc, "+
		"or point CUDA_HOME at a CUDA toolkit", ErrMissing, detail)
}

// openLibrary loads NVRTC: first wherever the dynamic linker looks (LD_LIBRARY_PATH, the linker's cache), then where
// CUDA is usually put. It returns the file or name that it loaded.
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

// loadBuiltins loads the library that NVRTC itself opens by its bare name at the first compile. NVRTC's own attempt
// fails for a directory that the linker does not know.
func loadBuiltins(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "libnvrtc-builtins.so.*"))
	for _, file := range files {
		_, _ = purego.Dlopen(file, libraryMode)
	}
}

// libraryDirs lists the directories in which CUDA's libraries may lie on machines whose dynamic linker was not told.
func libraryDirs() []string {
	return slices.Concat(toolkitDirs("lib64", "targets/*/lib"), newestFirst("/usr/lib/*-linux-gnu"), pythonDirs("cuda_nvrtc", "lib"))
}

// toolkitDirs lists the folders of CUDA toolkits that match some patterns, the likeliest first.
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

// FindTool finds one of NVIDIA's programs on the path or in a toolkit; "": it is not here.
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

// pythonDirs lists the folders of that name in Python installations, and in what pip
// put there of CUDA: all of it, or a part.
func pythonDirs(part, name string) (dirs []string) {
	const packages = "lib/python3*/*-packages/nvidia"
	for _, prefix := range pythonPrefixes() {
		for _, folder := range []string{"", packages + "/cu1[0-9]", packages + "/" + part} {
			dirs = append(dirs, newestFirst(filepath.Join(prefix, folder, name))...)
		}
	}
	return dirs
}

// newestFirst lists what matches a pattern: nothing does if it is empty.
func newestFirst(pattern string) []string {
	found, _ := filepath.Glob(pattern)
	slices.Reverse(found)
	return found
}

// pythonPrefixes lists the roots of Python installations: the active environment, the python3 on the path, the user's
// own packages, the system's. Some may be empty.
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
