package verify

import (
	"fmt"
	"slices"
	"time"

	"autotune/tuner/device"
	"autotune/tuner/trial"
)

const notExact = "its output is not, bit for bit, that of the first launch"

// Repeat launches a variant as often as a check asks, and ends at the first launch that
// is wrong. launch gets the number of the launches before, and gives sums that identify
// the outputs. nil sums are not compared.
func Repeat[S comparable](c device.Check, launch func(before int) (trial.Outcome, []S, error)) (o trial.Outcome, launches int, err error) {
	var first []S
	wanted, worst, begin := max(c.Launches, 1), 0.0, time.Now()
	for launches < wanted && (launches == 0 || c.Limit <= 0 || time.Since(begin) <= c.Limit) {
		var sums []S
		if o, sums, err = launch(launches); o.Status == "" {
			return o, launches, err
		}
		launches++
		worst = max(worst, o.MaxAbsError)
		o.MaxAbsError = worst
		if launches == 1 {
			first = sums
		}
		if c.Exact && sums != nil && !slices.Equal(sums, first) {
			if o.Status == trial.WrongResult {
				o.Message += "; " + notExact
			} else {
				o.Fail(trial.WrongResult, notExact)
			}
		}
		if o.Status != trial.OK || err != nil {
			if wanted > 1 {
				o.Message = fmt.Sprintf("launch %d of %d: %s", launches, wanted, o.Message)
			}
			return o, launches, err
		}
	}
	return o, launches, nil
}
