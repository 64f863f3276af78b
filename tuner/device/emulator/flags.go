package emulator

import (
	"slices"
	"strings"
)

// hostFlags are those of a kernel's flags that mean the same to the host's compiler:
// definitions of macros and the version of C++. All others are a GPU compiler's own.
func hostFlags(flags []string) []string {
	var host []string
	for i := 0; i < len(flags); i++ {
		flag := flags[i]
		for long, short := range map[string]string{"--define-macro=": "-D", "--undefine-macro=": "-U", "--std=": "-std="} {
			if value, found := strings.CutPrefix(flag, long); found {
				flag = short + value
			}
		}
		if slices.Contains([]string{"-D", "-U"}, flag) && i+1 < len(flags) {
			i++
			flag += flags[i]
		}
		if len(flag) > 2 && (flag[:2] == "-D" || flag[:2] == "-U") || strings.HasPrefix(flag, "-std=c++") {
			host = append(host, flag)
		}
	}
	return host
}
