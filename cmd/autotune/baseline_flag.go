package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// baselineNames are the baselines that are measured outside of a search.
var baselineNames = []string{"torch_eager", "torch_compile", "torch_eager_fp32"}

// baselineTimes reads NAME=MS pairs.
func baselineTimes(pairs []string) (map[string]float64, error) {
	times := map[string]float64{}
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if !slices.Contains(baselineNames, name) {
			return nil, fmt.Errorf("--baseline %s: want NAME=MS with NAME one of %s", pair, strings.Join(baselineNames, ", "))
		}
		ms, err := strconv.ParseFloat(value, 64)
		if err != nil || !(ms > 0) {
			return nil, fmt.Errorf("--baseline %s: want a positive number of milliseconds, as %s=7.1", pair, name)
		}
		times[name] = ms
	}
	return times, nil
}
