package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"autotune/internal/test/must"
)

// The first sentence about a shipped recording must agree with the profiles in the kernels' READMEs: memory bandwidth
// limits pools and depthwise convolutions, and conv2d is near the limits of memory and L2 cache.
func TestShowcasesExplained(t *testing.T) {
	pools, err := filepath.Glob("../../recordings/h100-*.json.gz")
	must.OK(t, err)
	convolutions, err := filepath.Glob("../../recordings/h200-conv2d-*.json.gz")
	must.OK(t, err)
	if len(pools) < 4 || len(convolutions) < 2 {
		t.Fatal(pools, convolutions)
	}
	for _, file := range slices.Concat(pools, convolutions) {
		s, err := recordedSearch(t.Context(), file)
		must.OK(t, err)
		want := "it is limited by memory"
		if s.Best.Operator == "conv2d" {
			want = "it is close to memory-bound, but not limited by memory alone"
		}
		if len(s.Why.Sentences) == 0 || !strings.Contains(s.Why.Sentences[0], want) {
			t.Errorf("%s: %q, want %q", s.Best.Problem.Text, s.Why.Sentences, want)
		}
	}
}
