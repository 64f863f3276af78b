package emulator

import (
	"fmt"
	"slices"
	"strings"

	"autotune/device/compile"
	"autotune/operator"
)

// libraryHeaders are the headers of the C++17 library. A header that is not in libraryHeaders is left to the kernel's
// own #include, which may be in code that only GPUs compile.
var libraryHeaders = strings.Fields(`
	algorithm any array atomic bitset cassert ccomplex cctype cerrno cfenv cfloat charconv chrono cinttypes ciso646 climits clocale cmath
	codecvt complex condition_variable csetjmp csignal cstdalign cstdarg cstdbool cstddef cstdint cstdio cstdlib cstring ctgmath ctime
	cuchar cwchar cwctype deque exception filesystem forward_list fstream functional future initializer_list iomanip ios iosfwd iostream
	istream iterator limits list locale map memory memory_resource mutex new numeric optional ostream queue random ratio regex
	scoped_allocator set shared_mutex sstream stack stdexcept streambuf string string_view strstream system_error thread tuple
	type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector
	assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h setjmp.h signal.h stdalign.h
	stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h tgmath.h time.h uchar.h wchar.h wctype.h`)

var cudaHeaders = []string{
	"cooperative_groups.h", "cooperative_groups/reduce.h", "cooperative_groups/scan.h", "cuda_bf16.h", "cuda_fp16.h", "cuda_fp8.h",
}

// Before a kernel's first line the compiler includes the three files standardHeaders, words and moreWords, in this
// order. The header that defines CUDA's keywords and functions, a file of the shim, is precompiled (program.go).
// The compiler can use a precompiled header only if no other header comes before it.
const (
	standardHeaders = "standard.h"      // headers of the C++ library that the kernel includes
	words           = "cuda_emulator.h" // CUDA's keywords and functions
	moreWords       = "cuda.h"          // CUDA's headers that the kernel includes
)

// headersOf returns the texts of the files that are included before and after the shim's header; a text is "" if the
// kernel needs no such headers. The C++ library's headers come first, because they do not compile after CUDA's keywords
// are defined. CUDA's own headers must be outside of all namespaces.
func headersOf(k operator.Kernel) map[string]string {
	all := compile.SystemHeaders(k)
	standard := includes(all, libraryHeaders)
	if standard != "" {
		standard = "#include <math.h>\n#include <stdlib.h>\n#define AUTOTUNE_STANDARD_HEADERS\n" + standard
	}
	return map[string]string{standardHeaders: standard, moreWords: includes(all, cudaHeaders)}
}

func includes(headers, known []string) string {
	var b strings.Builder
	for _, name := range headers {
		if slices.Contains(known, name) {
			fmt.Fprintf(&b, "#include <%s>\n", name)
		}
	}
	return b.String()
}
