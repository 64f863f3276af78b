package strategy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"autotune/internal/lists"
	"autotune/space"
)

// Expected holds scores that configurations are expected to have before any is evaluated. Only ratios of expected
// scores matter, so the scores may have any unit. A nil Expected has no expected score for any configuration. Several
// goroutines may use an Expected.
type Expected struct {
	of     func(id int64) (score float64, ok bool, err error)
	usual  float64 // loss of configurations without an expectation
	mu     sync.Mutex
	losses map[int64]float64 // logarithms of scores; NaN: no expectation
	sorted []int64           // configurations that were looked at, the lowest first
}

// Expect computes the expected scores of many configurations, or of all configurations in a small space. If the
// function `of` returns ok=false, a configuration has no expected score; if no configuration has one, Expect returns
// nil.
func Expect(s *space.Space, seed uint64, of func(id int64) (score float64, ok bool, err error)) (*Expected, error) {
	rng := rand.New(rand.NewPCG(seed, 0x11fe))
	var ids []int64
	for part := range s.Parts() {
		first, end := s.Range(part)
		if first == end {
			continue
		}
		if _, ok, err := of(first); err != nil {
			return nil, err
		} else if !ok {
			continue
		}
		for i := range min(end-first, policy.among) {
			id := first + i
			if end-first > policy.among {
				id = first + rng.Int64N(end-first)
			}
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	scores := make([]float64, len(ids))
	var group errgroup.Group
	for chunk := range slices.Chunk(lists.Places(len(ids)), max(1, len(ids)/runtime.GOMAXPROCS(0))) {
		group.Go(func() (err error) {
			for _, i := range chunk {
				if scores[i], _, err = of(ids[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	order := lists.Places(len(ids))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	e := &Expected{of: of, losses: map[int64]float64{}}
	for _, i := range order {
		e.sorted = append(e.sorted, ids[i])
		e.losses[ids[i]] = math.Log(scores[i])
	}
	e.usual = math.Log(max(scores[order[len(order)*3/4]], math.SmallestNonzeroFloat64))
	return e, nil
}

func (e *Expected) loss(id int64) float64 {
	if e == nil {
		return 0
	}
	x := e.look(id)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return e.usual
	}
	return x
}

// look returns the logarithm of a configuration's expected score, or NaN if it has none.
func (e *Expected) look(id int64) float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	x, known := e.losses[id]
	if !known {
		score, ok, err := e.of(id)
		if x = math.Log(score); !ok || err != nil {
			x = math.NaN()
		}
		e.losses[id] = x
	}
	return x
}

// Expects reports whether a configuration has an expected score.
func (e *Expected) Expects(id int64) bool { return e != nil && !math.IsNaN(e.look(id)) }

// PromiseMore reports whether a configuration in `some` has a clearly lower expected score than all in `others`.
func (e *Expected) PromiseMore(some, others []int64) bool {
	least := func(ids []int64) float64 {
		x := math.Inf(1) // kernels without an estimate are not expected to be fast
		for _, id := range ids {
			if e.Expects(id) {
				x = min(x, e.look(id))
			}
		}
		return x
	}
	return least(some)+math.Log(policy.clearly) < least(others)
}

// Likely returns the n configurations with the lowest expected scores, the lowest first. One part of the space
// contributes at most five eighths of the returned list if other parts can contribute, since expected scores of
// different parts are less comparable. Any two configurations of the same part in the returned list differ in at
// least two tunables, since configurations that differ in one tunable are similarly fast.
func (e *Expected) Likely(s *space.Space, n int) []int64 {
	if e == nil {
		return nil
	}
	var chosen []int64
	var contents []space.Configuration
	of := map[int]int{} // number of chosen configurations of each part
	for _, most := range []int{(5*n + 7) / 8, n} {
		for _, id := range e.sorted {
			part := s.PartOf(id)
			if len(chosen) == n || of[part] >= most {
				continue
			}
			c := s.At(id)
			if !slices.ContainsFunc(contents, func(other space.Configuration) bool { return alike(c, other) }) {
				chosen, contents = append(chosen, id), append(contents, c)
				of[part]++
			}
		}
	}
	return chosen
}

func alike(a, b space.Configuration) bool {
	return a.Template == b.Template && a.Values.Differences(b.Values) < 2
}

// candidates returns n configurations to consider: random ones if there are no expected scores, otherwise mostly those
// with the lowest expected scores.
func (e *Expected) candidates(a *archive, n int) []int64 {
	if e == nil {
		return a.space.Sample(a.rng, n)
	}
	var ids []int64
	for _, id := range e.sorted {
		if len(ids) == 2*n/3 {
			break
		}
		if a.unseen(id) {
			ids = append(ids, id)
		}
	}
	return append(ids, a.space.Sample(a.rng, n-len(ids))...)
}
