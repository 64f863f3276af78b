package verify

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"autotune/device"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
)

// A comparison kernel receives each output as the variant wrote it and as the reference wrote it. For an inout tensor,
// the comparison kernel also receives the contents before the launch.
func TestComparisonArguments(t *testing.T) {
	got := ComparisonArguments([]operator.Argument{
		{Role: operator.Input}, {Role: operator.Workspace}, {Role: operator.InOut}, {Role: operator.Scalar}, {Role: operator.Output}, {Role: operator.Weight},
	})
	want := []Passed{{0, Given}, {2, Made}, {2, Reference}, {2, Before}, {3, Given}, {4, Made}, {4, Reference}, {5, Given}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A comparison's result of 0 is accepted; a positive number and NaN are not.
func TestComparison(t *testing.T) {
	c := &Comparison{Part{Kernel: operator.Kernel{File: "compare.cu"}, Operator: "own", Name: device.Comparison}}
	for apart, want := range map[float64]string{
		0: "", 0.75: "compare.cu gives 0.75 for how far it is from the reference; it must be 0", math.Inf(1): "compare.cu gives +Inf for how far it is from the reference; it must be 0",
	} {
		if got := c.Accept(apart); got != want {
			t.Errorf("%v: %q, want %q", apart, got, want)
		}
	}
	if c.Accept(math.NaN()) == "" {
		t.Error("a NaN is accepted")
	}
	var failed *device.ReferenceError
	if err := c.AcceptItself(0.75); !errors.As(err, &failed) ||
		err.Error() != "the comparison of own cannot be right: compare.cu gives 0.75 for the reference against itself; it must be 0" {
		t.Error(err)
	}
	must.OK(t, c.AcceptItself(0))
}

// A check stops at the first launch that fails, is wrong, or differs although it must not.
func TestRepeat(t *testing.T) {
	trouble := errors.New("trouble")
	right := func(sum uint64) func() (trial.Outcome, []uint64, error) {
		return func() (trial.Outcome, []uint64, error) { return trial.Outcome{Status: trial.OK}, []uint64{sum}, nil }
	}
	fails := func(status trial.Status, err error) func() (trial.Outcome, []uint64, error) {
		return func() (trial.Outcome, []uint64, error) {
			return trial.Outcome{Status: status, Message: "it fails"}, []uint64{7}, err
		}
	}
	for _, tt := range []struct {
		check    device.Check
		results  []func() (trial.Outcome, []uint64, error)
		launches int
		message  string
		err      error
	}{
		{device.Check{}, []func() (trial.Outcome, []uint64, error){right(1)}, 1, "", nil},
		{device.Check{Launches: 2}, []func() (trial.Outcome, []uint64, error){right(1), right(2)}, 2, "", nil},
		{device.Check{Launches: 3, Exact: true}, []func() (trial.Outcome, []uint64, error){right(1), right(2)}, 2,
			"launch 2 of 3: its output is not, bit for bit, that of the first launch", nil},
		{device.Check{Launches: 3, Exact: true}, []func() (trial.Outcome, []uint64, error){right(1), fails(trial.WrongResult, nil)}, 2,
			"launch 2 of 3: it fails; its output is not, bit for bit, that of the first launch", nil},
		{device.Check{Launches: 3}, []func() (trial.Outcome, []uint64, error){right(1), fails(trial.Crashed, trouble)}, 2, "launch 2 of 3: it fails", trouble},
		{device.Check{Launches: 1}, []func() (trial.Outcome, []uint64, error){fails(trial.Timeout, nil)}, 1, "it fails", nil},
		{device.Check{Launches: 3}, []func() (trial.Outcome, []uint64, error){right(1), fails("", trouble)}, 1, "it fails", trouble},
	} {
		o, launches, err := Repeat(tt.check, func(before int) (trial.Outcome, []uint64, error) { return tt.results[before]() })
		if launches != tt.launches || o.Message != tt.message || !errors.Is(err, tt.err) || (o.Status == trial.OK) != (tt.message == "") {
			t.Errorf("%+v: %+v after %d launches, %v; want %q after %d, %v", tt.check, o, launches, err, tt.message, tt.launches, tt.err)
		}
	}
	_, launches, _ := Repeat(device.Check{Launches: 100, Limit: time.Nanosecond}, func(int) (trial.Outcome, []uint64, error) {
		time.Sleep(time.Millisecond)
		return right(1)()
	})
	if launches != 1 {
		t.Errorf("%d launches after the time is up", launches)
	}
}

// After Learn has stored the checksums of tensors, the judge compares all later launches with them.
func TestJudge(t *testing.T) {
	j := Judge{Operator: "own", Arguments: []operator.Argument{
		{Name: "x", Role: operator.Input, Type: operator.F32, Elements: 4, Shape: []int64{4}},
		{Name: "none", Role: operator.Weight, Type: operator.F32},
		{Name: "w", Role: operator.Workspace, Type: operator.F32, Elements: 4, Shape: []int64{4}},
		{Name: "z", Role: operator.InOut, Type: operator.F32, Elements: 4, Shape: []int64{4}},
		{Name: "y", Role: operator.Output, Type: operator.F32, Elements: 4, Shape: []int64{4}},
	}}
	j.Layout = LayoutOf(j.Arguments, 8)
	if want := []int{0, 1, 1, 1, 9}; !slices.Equal(j.Layout.Arguments, want) || j.Apart != 17 || j.Hits != 18 || j.Words != 27 {
		t.Fatalf("%+v", j.Layout)
	}
	const readX, outcomeZ, copyZ, outcomeY = 0, 1, 8, 9
	right := make([]uint64, j.Words)
	right[readX], right[outcomeZ+5], right[copyZ], right[outcomeY+5], right[outcomeY+6] = 11, 12, 13, 14, 14
	if j.Known() {
		t.Error("nothing is known yet")
	}
	unwritten := slices.Clone(right)
	unwritten[outcomeY], unwritten[outcomeY+1], unwritten[outcomeY+2] = 2, ^uint64(1), 2
	var failed *device.ReferenceError
	if err := j.Learn(unwritten); !errors.As(err, &failed) || err.Error() != "the reference of own leaves 2 of 4 elements of y unwritten, the first at [1]" || j.Known() {
		t.Error(err)
	}
	if err := j.Learn(right); err != nil || !j.Known() {
		t.Fatal(err)
	}
	read := func(argument int, element int64) (got, want string, err error) {
		return fmt.Sprintf("%d of %s", element, j.Arguments[argument].Name), "1", nil
	}
	for _, tt := range []struct {
		at          int
		value       uint64
		want        string
		inputs      bool
		guards, far bool
	}{
		{at: readX, value: 11},
		{at: readX, value: 5, want: "it changed x, which it may only read", inputs: true},
		{at: outcomeZ + 5, value: 5, want: "it wrote far outside its tensors, into the reference's output", far: true},
		{at: copyZ, value: 5, want: "it wrote far outside its tensors, into a copy of z", far: true},
		{at: outcomeY, value: 1, want: "y differs from the reference in 1 of 4 elements, first at "},
		{at: j.Hits + 1, value: 3, guards: true, want: "it wrote outside its tensors: 3 words before x"},
		{at: j.Hits + 6, value: 3, guards: true, want: "it wrote outside its tensors: 3 words after z"},
	} {
		words := slices.Clone(right)
		words[tt.at] = tt.value
		if tt.guards {
			words[j.Hits] = tt.value
		}
		f, err := j.Findings(words, read)
		if err != nil || !strings.HasPrefix(strings.Join(f.Complaints, "; "), tt.want) || f.Any() != (tt.want != "") ||
			f.Inputs != tt.inputs || f.Guards != tt.guards || f.Lost != tt.far || !slices.Equal(f.Sums, []uint64{0, 14}) {
			t.Errorf("word %d is %d: %+v, %v; want %q", tt.at, tt.value, f, err, tt.want)
		}
	}
	j.Comparison = &Comparison{Part{Kernel: operator.Kernel{File: "compare.cu"}}}
	words := slices.Clone(right)
	words[outcomeY], words[j.Apart] = 4, math.Float64bits(0)
	if f, err := j.Findings(words, read); err != nil || f.Any() || f.LargestError != 0 {
		t.Errorf("the operator's own comparison decides: %+v, %v", f, err)
	}
	j.Forget()
	if j.Known() {
		t.Error("it still knows")
	}
}
