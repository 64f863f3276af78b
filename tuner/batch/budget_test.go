package batch

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"autotune/device"
	"autotune/internal/lists"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/tuner"
	"autotune/tuner/bestconfig"
	"autotune/tuner/devices"
	"autotune/tuner/store"
)

// A run of several searches ends near its budget, even if some searches exceed their parts; problems with larger shares
// get longer searches.
func TestBudget(t *testing.T) {
	for _, over := range []time.Duration{0, 300 * time.Millisecond, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			weights := Weights([]float64{0.5, 0.25, 0, 0.25, 0, 0.125})
			if !slices.Equal(weights, []float64{0.5, 0.25, 0.125, 0.25, 0.125, 0.125}) {
				t.Error(weights)
			}
			b, began := NewBudget(20*time.Second, 1, weights), time.Now()
			var parts []time.Duration
			for _, w := range weights {
				p, ok := b.Next(w)
				if !ok {
					break
				}
				parts = append(parts, p.Limit)
				time.Sleep(p.Limit + over)
				b.Done(p)
			}
			if took := time.Since(began); took < 15*time.Second || took > 20*time.Second+2*over+leastSearch {
				t.Errorf("over by %v each: it took %v", over, took)
			}
			if len(parts) < 4 || parts[0] < parts[1] || parts[1] < parts[2] {
				t.Errorf("over by %v each: parts of %v", over, parts)
			}
		})
	}
	if w := Weights([]float64{0, 0}); !slices.Equal(w, []float64{1, 1}) {
		t.Error(w)
	}
	if p, ok := (*Budget)(nil).Next(1); !ok || p.Limit != 0 {
		t.Error("no budget has an end")
	}
}

// Time that one search does not use goes to later searches, and each of several simultaneous searches gets its part.
func TestBudgetIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(10*time.Second, 1, []float64{1, 1})
		p, _ := b.Next(1)
		b.Done(p)
		if p, ok := b.Next(1); !ok || p.Limit != 10*time.Second {
			t.Error(p)
		}
		b = NewBudget(10*time.Second, 2, []float64{1, 1, 1, 1})
		for range 2 {
			if p, ok := b.Next(1); !ok || p.Limit != 5*time.Second {
				t.Error(p)
			}
		}
	})
}

// lengths returns avg_pool1d problems with the given input lengths; only the problem of length 65536 has a recording.
func lengths(t *testing.T, of ...int64) (list []Request) {
	t.Helper()
	op, err := operator.Find("avg_pool1d")
	must.OK(t, err)
	return lists.Of(of, func(n int64) Request {
		return Request{Operator: op, Request: operator.Request{Shape: []int64{64, 128, n}}}
	})
}

// A problem whose turn comes after the budget is spent is reported with ErrNoTime, which does not count as a failed
// search.
func TestBudgetEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opener := devices.NewOpener(devices.Spec{Kind: device.Replay}, devices.Options{})
		defer opener.Close()
		var searched int
		var told []error
		err := Search(t.Context(), opener, lengths(t, 65536, 65536, 65536), Options{
			Budget: time.Second,
			With: func(_ context.Context, _ Request, _ *devices.Opened, o tuner.Options, _ bool) (*tuner.Result, error) {
				searched++
				time.Sleep(o.Time + 600*time.Millisecond)
				return nil, nil
			},
			Failed: func(_ Request, err error) { told = append(told, err) },
		})
		if err != nil || searched != 1 || len(told) != 2 || !errors.Is(told[1], ErrNoTime) {
			t.Errorf("%d searched, told %v; %v", searched, told, err)
		}
	})
}

// A batch continues after the failure of one problem, but ends if a result cannot be stored, because the cache cannot
// be opened or written or because Found returns an error.
func TestWhatEndsAll(t *testing.T) {
	full := errors.New("no space left on device")
	var failing *tuner.Result
	for name, c := range map[string]struct {
		o     Options
		ends  bool
		tried int
	}{
		"a device's failure": {o: Options{With: func(context.Context, Request, *devices.Opened, tuner.Options, bool) (*tuner.Result, error) {
			return nil, full
		}}, tried: 3},
		"the cache fails": {o: Options{With: func(context.Context, Request, *devices.Opened, tuner.Options, bool) (*tuner.Result, error) {
			failing = &tuner.Result{}
			failing.Stop = tuner.CacheFailed
			return failing, full
		}}, ends: true, tried: 1},
		"what is found cannot be written": {o: Options{Search: tuner.Options{Budget: 1}, Found: func(Request, *tuner.Result, bestconfig.Document) error { return full }}, ends: true, tried: 1},
	} {
		opener := devices.NewOpener(devices.Spec{Kind: device.Replay}, devices.Options{})
		tried, with := 0, c.o.With
		c.o.With = func(ctx context.Context, r Request, on *devices.Opened, o tuner.Options, beside bool) (*tuner.Result, error) {
			tried++
			if with != nil {
				return with(ctx, r, on, o, beside)
			}
			return tuner.Search(ctx, on.Problem, on.Device, o)
		}
		err := Search(t.Context(), opener, lengths(t, 65536, 65536, 65536), c.o)
		if tried != c.tried || Ends(t.Context(), err) != c.ends || !errors.Is(err, full) && c.ends {
			t.Errorf("%s: %d tried, %v", name, tried, err)
		}
		var some *NotAllError
		if errors.As(err, &some) == c.ends {
			t.Errorf("%s: %v", name, err)
		}
		opener.Close()
	}
	if err := Keeping((&store.LockedError{})); !Ends(t.Context(), err) || Keeping(err) != err || Keeping(nil) != nil {
		t.Error(err)
	}
}
