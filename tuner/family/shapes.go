package family

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"autotune/internal/lists"
)

type Span struct{ Low, High int64 }

// Extent holds the possible values of a dimension, as disjoint spans in ascending order.
type Extent []Span

func (e Extent) Low() int64   { return e[0].Low }
func (e Extent) High() int64  { return e[len(e)-1].High }
func (e Extent) Varies() bool { return e.Low() < e.High() }

func (e Extent) Has(v int64) bool {
	return slices.ContainsFunc(e, func(s Span) bool { return s.Low <= v && v <= s.High })
}

// At maps a number from 0 to 1 to a value of the extent. The interval from 0 to 1 is divided equally among the extent's
// spans, and within a span At distributes the values evenly on a logarithmic scale.
func (e Extent) At(u float64) int64 {
	i := min(int(u*float64(len(e))), len(e)-1)
	s, within := e[i], u*float64(len(e))-float64(i)
	low, high := math.Log(float64(s.Low)-0.5), math.Log(float64(s.High)+0.5)
	return min(max(int64(math.Round(math.Exp(low+within*(high-low)))), s.Low), s.High)
}

// Round returns a value of the extent near v that suits kernels better, since it is a multiple of a power of two; that
// power is at most a quarter of v.
func (e Extent) Round(v int64) int64 {
	for step := int64(1) << min(max(bits.Len64(uint64(v/4))-1, 0), 6); step > 1; step /= 2 {
		for _, near := range []int64{(v + step/2) / step * step, v / step * step} {
			if e.Has(near) {
				return near
			}
		}
	}
	return v
}

func (e Extent) String() string {
	if !e.Varies() {
		return fmt.Sprint(e.Low())
	}
	return "{" + strings.Join(lists.Of(e, func(s Span) string {
		if s.Low == s.High {
			return fmt.Sprint(s.Low)
		}
		return fmt.Sprintf("%d..%d", s.Low, s.High)
	}), ",") + "}"
}

// Shapes holds the possible shapes of a family: an extent for each dimension.
type Shapes []Extent

func (s Shapes) String() string { return strings.Join(lists.Of(s, Extent.String), "x") }

func (s Shapes) all(most int) [][]int64 {
	list := [][]int64{{}}
	for _, e := range s {
		var longer [][]int64
		for _, head := range list {
			for _, span := range e {
				for v := span.Low; v <= span.High && len(longer) < most; v++ {
					longer = append(longer, append(slices.Clone(head), v))
				}
			}
		}
		list = longer
	}
	return list
}

const shapesForm = "a dimension is a number, {1,8,32} or {14..112}, with x between dimensions"

// ParseShapes parses shapes such as {1,8,32}x64x{14..112}x{14..112}.
func ParseShapes(text string) (all Shapes, err error) {
	if len(text) > 1000 {
		return nil, errors.New("shapes of more than 1000 characters; " + shapesForm)
	}
	for _, part := range strings.Split(text, "x") {
		e, err := parseExtent(part)
		if err != nil {
			return nil, fmt.Errorf("`%s` is no shapes: %w", text, err)
		}
		all = append(all, e)
	}
	return all, nil
}

func parseExtent(text string) (Extent, error) {
	inner, ranges := text, strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}")
	if ranges {
		inner = text[1 : len(text)-1]
	}
	var spans Extent
	for _, item := range strings.Split(inner, ",") {
		first, last, isRange := strings.Cut(item, "..")
		if !isRange {
			last = first
		}
		low, err := dimension(first)
		high, other := dimension(last)
		switch {
		case err != nil || other != nil:
			return nil, cmp.Or(err, other)
		case low > high || !ranges && inner != first:
			return nil, fmt.Errorf("`%s` is no range; %s", text, shapesForm)
		}
		spans = append(spans, Span{low, high})
	}
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.Low, b.Low) })
	united := spans[:1]
	for _, s := range spans[1:] { // join spans that overlap
		if last := &united[len(united)-1]; s.Low <= last.High {
			last.High = max(last.High, s.High)
		} else {
			united = append(united, s)
		}
	}
	return united, nil
}

// dimension parses a dimension of at most 40 bits, so that computations with it do not overflow.
func dimension(text string) (int64, error) {
	v, err := strconv.ParseUint(text, 10, 40)
	if err != nil || v == 0 {
		return 0, fmt.Errorf("`%s` is no dimension from 1 to %d; %s", text, 1<<40-1, shapesForm)
	}
	return int64(v), nil
}
