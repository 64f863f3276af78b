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

// toolkitInclude is an include of a header that is neither the operator's nor NVRTC's own, as <cuda_fp16.h>.
var toolkitInclude = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*<([^>\n]+)>`)

func textsOf(k operator.Kernel) []string {
	return append(slices.Collect(maps.Values(k.Includes)), k.Source)
}

func needsHeaders(r Request) bool {
	return slices.ContainsFunc(textsOf(r.Kernel), toolkitInclude.MatchString)
}

const missingHeaders = "CUDA's headers are not on this machine; install cuda-cudart-dev (NVIDIA's repository), nvidia-cuda-dev (Debian) or pip's nvidia-cuda-runtime, or point CUDA_HOME at a CUDA toolkit"

const missingCUB = "CUB is not on this machine; install cuda-cccl (NVIDIA's repository) or pip's nvidia-cuda-cccl, or point CUDA_HOME at a CUDA toolkit"

// headerDirs are the folders of the CUDA toolkit's headers; none if it is not there. Those of libcu++ and CUB, which
// others include, lie in a folder of their own since CUDA 13. pip puts them into a package of their own.
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

// headerVersions tell which versions of headers are in some folders, since another toolkit may be
// installed under the same path.
func headerVersions(dirs []string) (versions []string) {
	for _, dir := range dirs {
		for _, file := range []string{"cuda_runtime_api.h", cubVersion, "cuda/__cccl_config/version.h", "cuda/version"} {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				continue // of another part, or of an older toolkit
			}
			for _, m := range versionForm.FindAllStringSubmatch(string(text), -1) {
				versions = append(versions, m[1]+"="+m[2])
			}
		}
	}
	return versions
}

// SystemHeaders are the headers that a kernel includes by <> and that are not its own, in order.
func SystemHeaders(k operator.Kernel) (all []string) {
	for _, text := range textsOf(k) {
		if !toolkitInclude.MatchString(text) {
			continue // as most
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

// GPUHeaders are those that only a GPU's compiler reads, as "cub/cub.cuh".
func GPUHeaders(k operator.Kernel) []string { return lists.Where(SystemHeaders(k), IsGPUHeader) }

// ahead is what stands before a kernel: its macros, and before them headers that a GPU's
// compiler alone reads. Macros are no options, for the compiler's own header and those would
// read them, and have parameters of such names as size and N.
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

// IsGPUHeader tells whether a header is one of CUB or libcu++.
func IsGPUHeader(name string) bool {
	return strings.HasPrefix(name, "cub/") || strings.HasPrefix(name, "cuda/")
}

// wholeCUB is the header that has all of CUB. NVRTC cannot read it, for it has what programs on the host call.
const wholeCUB = "cub/cub.cuh"

var (
	cubNameForm  = regexp.MustCompile(`\bcub\s*::\s*((?:Block|Warp|Thread)[A-Z]\w*)`)
	wordHeadForm = regexp.MustCompile(`[A-Z][a-z0-9]*`)
)

// cubInstead is what a kernel includes in place of all of CUB: the headers of those of its blocks' and warps'
// functions that the kernel names. It is nil where a kernel does not include it.
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
