package strategy_test

import (
	"fmt"
	"hash/fnv"
	"os"
	"testing"

	"autotune/tuner/strategy"
)

func TestZZTrace(t *testing.T) {
	h := fnv.New64a()
	for _, s := range []interface{ Len() int64 }{gridSpace(t, 12, 9, 7, 5), mixedSpace(t)} {
		_ = s
	}
	spaces := []int{0, 1}
	for _, k := range spaces {
		s := mixedSpace(t)
		if k == 0 {
			s = gridSpace(t, 12, 9, 7, 5)
		}
		score := bowl(s)
		for seed := range uint64(4) {
			for _, with := range []bool{false, true} {
				o := strategy.Options{Seed: seed}
				if with {
					o.Expected, _ = strategy.Expect(s, seed, func(id int64) (float64, bool, error) {
						x := score(id)
						return x.Score + 0.3*float64(id%5) + 0.1, true, nil
					})
				}
				st := started(t, "bayesian", s, o)
				var pending []int64
				var seen []strategy.Seen
				for i := 0; i < 230; i++ {
					id, ok := st.Ask()
					if !ok {
						break
					}
					fmt.Fprint(h, id, " ")
					pending = append(pending, id)
					if len(pending) > 5 {
						out := score(pending[0])
						seen = append(seen, strategy.Seen{ID: pending[0], Outcome: out})
						st.Tell(pending[0], out)
						pending = pending[1:]
					}
				}
				for _, n := range []int{30, 60, 120} {
					if n < len(seen) {
						p := strategy.Look(s, seen[:n], o.Expected, 1.02, seed)
						fmt.Fprintf(h, "%v %v %v|", p.Chance, p.Best, p.Beside)
					}
				}
			}
		}
	}
	fmt.Fprintf(os.Stderr, "TRACE %x\n", h.Sum64())
}
