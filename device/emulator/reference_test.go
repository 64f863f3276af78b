package emulator

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"autotune/device"
	"autotune/internal/test/must"
)

// A reference that cannot say what is right is the operator's fault, and is found out within the time of a launch.
func TestBadReference(t *testing.T) {
	needCompiler(t)
	d, err := Open(Options{CacheDir: testCache})
	must.OK(t, err)
	t.Cleanup(func() { d.Close() })
	const limit = 500 * time.Millisecond
	right := doublingKernel("right", doublingBodies["right"])
	for _, c := range []struct {
		name, body   string
		distribution string
		message      string // a regular expression; "": the reference is right
	}{
		{"loops", doublingBodies["endless"], "uniform01", `^the reference of doubling ends as timeout: no block of the launch ended within 500 ms$`},
		{"loops in one block", `y[i] = 2.0f * x[i]; if (i == 256) for (;;) y[i] += *(volatile const float*)x;`, "uniform01", `timeout: no block of the launch ended`},
		{"crashes", doublingBodies["wild"], "uniform01", `^the reference of doubling ends as crashed: illegal address`},
		{"deadlock", doublingBodies["deadlock"], "uniform01", `ends as timeout: deadlock: block`},
		{"writes an input", doublingBodies["scribble"], "uniform01", `ends as wrong_result: wrote to x, which is an input`},
		{"forks", `for (;;) fork();`, "uniform01", `called the operating system|started a process|no block`},
		{"not all written", doublingBodies["lazy"], "uniform01", `^the reference of doubling leaves 1 of 20480 elements of y unwritten, the first at \[3\]$`},
		{"NaN everywhere", `y[i] = 0.0f / (x[i] * 0.0f);`, "normal", `^the reference of doubling gives NaN everywhere, on normal inputs, which hold none$`},
		{"NaN where it may be", `y[i] = i ? x[i] * 2.0f : 0.0f / (x[i] * 0.0f);`, "normal", ""},
		{"slow", `if (threadIdx.x == 0) usleep(50000); y[i] = x[i];`, "uniform01", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := bindDoubling(t, doublingOf(t, systemCalls+doublingKernel("reference", c.body), map[string]string{"right": right}), 20480)
			proto := device.DefaultProtocol()
			proto.Distribution, proto.LaunchTimeout = c.distribution, limit
			began := time.Now()
			err := (&bench{problem: p, device: d}).open(t, proto)
			var failed *device.ReferenceError
			switch {
			case c.message == "":
				if err != nil {
					t.Error(err)
				}
			case !errors.As(err, &failed) || !regexp.MustCompile(c.message).MatchString(err.Error()):
				t.Errorf("%v; want a ReferenceError, %s", err, c.message)
			}
			t.Logf("%v: %v", time.Since(began).Round(time.Millisecond), err)
		})
	}
}
