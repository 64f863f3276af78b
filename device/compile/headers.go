package compile

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"autotune/internal/cudafile"
	"autotune/internal/lists"
	"autotune/operator"
)

// toolkitInclude matches an include in angle brackets, such as <cuda_fp16.h>, of a header that does not belong to the
// operator.
var toolkitInclude = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*<([^>\n]+)>`)

func textsOf(k operator.Kernel) []string {
	return append(slices.Collect(maps.Values(k.Includes)), k.Source)
}

func needsHeaders(r Request) bool {
	return slices.ContainsFunc(textsOf(r.Kernel), toolkitInclude.MatchString)
}

const missingHeaders = "CUDA's headers are not on this machine; install cuda-cudart-dev (NVIDIA's repository), nvidia-cuda-dev (Debian) or pip's nvidia-cuda-runtime, or point CUDA_HOME at a CUDA toolkit"

const missingCUB = "CUB is not on this machine; install cuda-cccl (NVIDIA's repository) or pip's nvidia-cuda-cccl, or point CUDA_HOME at a CUDA toolkit"

// headerDirs lists the folders of the CUDA toolkit's headers, or nothing if the toolkit is not installed. Since CUDA
// 13, the headers of libcu++ and CUB, which other headers include, are in a folder of their own. pip installs libcu++
// and CUB as a separate package.
func headerDirs() (dirs []string) {
	add := func(in []string, file string) {
		for _, dir := range in {
			if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
				dirs = append(dirs, dir)
				return
			}
		}
	}
	add(slices.Concat(toolkitDirs("include", "targets/*/include"), pythonDirs("cuda_runtime", "include"), []string{"/usr/include"}), "cuda_fp16.h")
	var own []string
	for _, dir := range dirs {
		dirs = append(dirs, newestFirst(filepath.Join(dir, "cccl"))...)
		own = slices.Clone(dirs)
	}
	add(slices.Concat(own, pythonDirs("cuda_cccl", "include")), cubVersion)
	return slices.Compact(dirs)
}

const cubVersion = "cub/version.cuh"

var versionForm = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*define[ \t]+(CUDART_VERSION|CUB_VERSION|CCCL_VERSION)[ \t]+(\d+)`)

// headerVersions returns the versions of the headers in some folders. The keys of cached kernels contain the headers'
// versions, since another toolkit may be installed under the same path later.
func headerVersions(dirs []string) (versions []string) {
	for _, dir := range dirs {
		for _, file := range []string{"cuda_runtime_api.h", cubVersion, "cuda/__cccl_config/version.h", "cuda/version"} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				continue // the file belongs to another part or to an older toolkit
			}
			for _, m := range versionForm.FindAllStringSubmatch(string(text), -1) {
				versions = append(versions, m[1]+"="+m[2])
			}
		}
	}
	return versions
}

// SystemHeaders lists, in order, the headers that a kernel includes in angle brackets and that are not its own.
func SystemHeaders(k operator.Kernel) (all []string) {
	for _, text := range textsOf(k) {
		if !toolkitInclude.MatchString(text) {
			continue // most texts include no such header
		}
		for _, m := range toolkitInclude.FindAllStringSubmatch(cudafile.BlankComments(text), -1) {
			if _, own := k.Includes[m[1]]; !own {
				all = append(all, m[1])
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// GPUHeaders lists the headers that only a GPU's compiler reads, such as "cub/cub.cuh".
func GPUHeaders(k operator.Kernel) []string { return lists.Where(SystemHeaders(k), IsGPUHeader) }

// ahead returns the text that is put in front of a kernel's source: the headers that only a GPU's compiler reads, and
// then the kernel's macros. A kernel's macros are not passed as compiler options, because options would also replace
// names in the included headers and in the compiler's own header, whose parameters have names such as size and N.
func ahead(k operator.Kernel) string {
	var b strings.Builder
	for _, name := range GPUHeaders(k) {
		fmt.Fprintf(&b, "#include <%s>\n", name)
	}
	for _, m := range k.Macros {
		fmt.Fprintf(&b, "#define %s %s\n", m.Name, m.Value)
	}
	fmt.Fprintf(&b, "#line 1 %q\n", k.File)
	return b.String()
}

// IsGPUHeader reports whether a header belongs to CUB or libcu++.
func IsGPUHeader(name string) bool {
	return strings.HasPrefix(name, "cub/") || strings.HasPrefix(name, "cuda/")
}

// wholeCUB is the header of all of CUB, which NVRTC cannot compile because it contains functions for host programs.
const wholeCUB = "cub/cub.cuh"

var (
	cubNameForm  = regexp.MustCompile(`\bcub\s*::\s*((?:Block|Warp|Thread)[A-Z]\w*)`)
	wordHeadForm = regexp.MustCompile(`[A-Z][a-z0-9]*`)
)

// cubInstead returns the text that replaces the header of all of CUB: includes of the headers of the block, warp and
// thread functions that the kernel names. cubInstead returns nil if the kernel does not include all of CUB.
func cubInstead(k operator.Kernel) map[string]string {
	texts := textsOf(k)
	whole := func(text string) bool {
		return slices.ContainsFunc(toolkitInclude.FindAllStringSubmatch(text, -1), func(m []string) bool { return m[1] == wholeCUB })
	}
	if _, own := k.Includes[wholeCUB]; own || !slices.ContainsFunc(texts, whole) {
		return nil
	}
	names := map[string]bool{}
	for _, text := range texts {
		for _, m := range cubNameForm.FindAllStringSubmatch(cudafile.Code(text), -1) {
			words := wordHeadForm.FindAllString(m[1], -1)
			names[fmt.Sprintf("cub/%s/%s.cuh", strings.ToLower(words[0]), strings.ToLower(strings.Join(words, "_")))] = true
		}
	}
	var b strings.Builder
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(names)), []string{"cub/util_type.cuh", "cub/thread/thread_operators.cuh"}) {
		fmt.Fprintf(&b, "#if __has_include(<%s>)\n#include <%[1]s>\n#endif\n", name)
	}
	return map[string]string{wholeCUB: b.String()}
}
