package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// counters are what NVIDIA's hardware counts, by the metrics that ncu has for them, in the order
// in which sentences tell them.
var counters = []struct{ metric, name string }{
	{"gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "memory"},
	{"lts__throughput.avg.pct_of_peak_sustained_elapsed", "L2"},
	{"l1tex__throughput.avg.pct_of_peak_sustained_active", "L1"},
	{"sm__throughput.avg.pct_of_peak_sustained_elapsed", "multiprocessors"},
	{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", "tensor cores"},
	{"smsp__issue_active.avg.pct_of_peak_sustained_active", "issue slots"},
	{"sm__warps_active.avg.pct_of_peak_sustained_active", "warps"},
}

// stalls are what warps wait for; a value is how many warps wait for it while one issues.
var stalls = []struct{ metric, name string }{
	{stall("long_scoreboard"), "global memory"},
	{stall("short_scoreboard"), "shared memory or special functions"},
	{stall("barrier"), "barriers"},
	{stall("membar"), "memory fences"},
	{stall("mio_throttle"), "the queue of shared memory"},
	{stall("lg_throttle"), "the queue of global memory"},
	{stall("math_pipe_throttle"), "busy arithmetic"},
	{stall("gmma"), "products of a warpgroup"},
	{stall("wait"), "fixed latencies"},
	{stall("not_selected"), "their turn"},
	{stall("sleeping"), "a sleep to end"},
}

func stall(what string) string {
	return "smsp__average_warps_issue_stalled_" + what + "_per_issue_active.ratio"
}

// Counters are the metrics that Subject.Counters may hold.
func Counters() (metrics []string) {
	for _, c := range slices.Concat(counters, stalls) {
		metrics = append(metrics, c.metric)
	}
	return metrics
}

// counted says what the hardware counted.
func (e Explanation) counted() string {
	var words []string
	for _, c := range counters {
		if x, known := e.Counters[c.metric]; known {
			words = append(words, fmt.Sprintf("%s %.2g %%", c.name, x))
		}
	}
	if len(words) == 0 {
		return ""
	}
	text := "The hardware counts, of each peak: " + strings.Join(words, ", ") + "."
	all := slices.Clone(stalls)
	slices.SortStableFunc(all, func(a, b struct{ metric, name string }) int {
		return cmp.Compare(e.Counters[b.metric], e.Counters[a.metric])
	})
	if e.Counters[all[0].metric] > 0 {
		text += " Warps wait most for " + all[0].name + "."
	}
	return text
}
