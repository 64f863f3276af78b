package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"autotune/device/emulator"
	"autotune/internal/test/must"
	"autotune/operator"
)

// Any text for --where and --config must soon give either a part of the search space or an error of one line.
func FuzzPart(f *testing.F) {
	f.Add("block_x <= 64", "direct block_x=64 block_y=4 rows=1 vec=1 unroll=4", true)
	f.Add("vec*unroll == 4 and (h_out % 2 == 0 or sm_count > 100)", "template=direct,block_x=64", true)
	f.Add("a[0] ** 9 ** 9", "=,=", false)
	op, err := operator.Find("max_pool2d")
	must.OK(f, err)
	f.Fuzz(func(t *testing.T, where, config string, both bool) {
		var only operator.Restriction
		if both || config == "" {
			only.Where = []string{where}
		}
		if pairs := configPairs([]string{config}); len(pairs) > 0 {
			fixed, err := assignments("config", pairs)
			if err != nil {
				mustBeOneLine(t, err)
				return
			}
			only.Fixed = fixed
		}
		ctx, cancel := context.WithTimeout(t.Context(), refusalWait)
		defer cancel()
		begin := time.Now()
		p, err := op.Bind(operator.Request{Shape: []int64{1, 1, 8, 8}}, emulator.Limits())
		must.OK(t, err)
		part, err := p.Part(only)
		if err == nil {
			_, err = part.Space(ctx)
		}
		if err != nil {
			mustBeOneLine(t, err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func mustBeOneLine(t *testing.T, err error) {
	t.Helper()
	if line := explain(err); strings.ContainsAny(line, "\n\x1b") {
		t.Errorf("complaint %q", line)
	}
}
