package compile

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
)

// toolkitInclude is an include of a header that is neither the operator's nor
// NVRTC's own, as <cuda_fp16.h>.
var toolkitInclude = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*<`)

// needsHeaders tells whether a kernel includes headers of the CUDA toolkit.
func needsHeaders(r Request) bool {
	if toolkitInclude.MatchString(r.Kernel.Source) {
		return true
	}
	for _, text := range r.Kernel.Includes {
		if toolkitInclude.MatchString(text) {
			return true
		}
	}
	return false
}

// missingHeaders is what to do where they are needed and not there.
const missingHeaders = "CUDA's headers are not on this machine; install cuda-cudart-dev (NVIDIA's repository), nvidia-cuda-dev (Debian) or pip's nvidia-cuda-runtime, or point CUDA_HOME at a CUDA toolkit"

// headerDirs are the folders of the CUDA toolkit's headers; none if it is not there.
func headerDirs() []string {
	machine := map[string]string{"amd64": "x86_64-linux", "arm64": "sbsa-linux"}[runtime.GOARCH]
	var patterns []string
	for _, root := range []string{os.Getenv("CUDA_HOME"), os.Getenv("CUDA_PATH"), "/usr/local/cuda*", "/opt/cuda*"} {
		if root != "" {
			patterns = append(patterns, filepath.Join(root, "include"), filepath.Join(root, "targets", machine, "include"))
		}
	}
	for _, prefix := range pythonPrefixes() {
		for _, name := range []string{"cu1[0-9]", "cuda_runtime"} {
			patterns = append(patterns, filepath.Join(prefix, "lib/python3*/*-packages/nvidia", name, "include"))
		}
	}
	for _, pattern := range append(patterns, "/usr/include") {
		for _, dir := range newestFirst(pattern) {
			if _, err := os.Stat(filepath.Join(dir, "cuda_fp16.h")); err == nil {
				return withLibcu(dir)
			}
		}
	}
	return nil
}

// withLibcu adds to the toolkit's headers those of libcu++, which others of them include:
// since CUDA 13 they lie in a folder of their own.
func withLibcu(dir string) []string {
	own := filepath.Join(dir, "cccl")
	if _, err := os.Stat(own); err != nil {
		return []string{dir}
	}
	return []string{dir, own}
}
