//go:build cuda

package cudaworker

import (
	"fmt"
	"slices"
	"time"

	"autotune/tuner/device/cuda/wire"
	"autotune/tuner/trial"
)

// check launches a variant as often as it is asked to and looks at everything
// after each launch. It ends at the first that is wrong.
func (p *problem) check(q *wire.Check) (o trial.Outcome, launches int, unusable bool, err error) {
	v, err := p.loadVariant(q.Variant)
	if err != nil {
		o, unusable, err = p.failed(o, err)
		return o, 0, unusable, err
	}
	o, launches, unusable, err = p.checkLoaded(v, q)
	if !unusable {
		v.unload()
	}
	return o, launches, unusable, err
}

func (p *problem) checkLoaded(v variant, q *wire.Check) (o trial.Outcome, launches int, unusable bool, err error) {
	if fits := p.fit(v, &o); !fits {
		return o, 0, false, nil
	}
	var first findings
	for begin := time.Now(); launches < max(q.Launches, 1); {
		if launches > 0 && q.Limit > 0 && time.Since(begin) > q.Limit {
			break
		}
		_, found, err := p.verify(v, preparation(launches)%preparations)
		if err != nil {
			o, unusable, err = p.failed(o, err)
			return o, launches, unusable, err
		}
		launches++
		o.MaxAbsError = max(o.MaxAbsError, found.largestError)
		if launches == 1 {
			first = found
		}
		if q.Exact && !slices.Equal(found.sums, first.sums) {
			found.complaints = append(found.complaints, "its output is not, bit for bit, that of the first launch")
		}
		if found.any() {
			o, unusable, err = p.wrong(o, fmt.Sprintf("launch %d of %d: ", launches, q.Launches), found)
			return o, launches, unusable, err
		}
	}
	o.Status = trial.OK
	return o, launches, false, nil
}
