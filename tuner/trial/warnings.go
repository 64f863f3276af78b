package trial

import "fmt"

// A timing is worth a warning beyond these bounds.
const (
	noiseBound      = 0.05 // of Timing.Noise
	intervalSamples = 6    // the fewest whose order statistics bound the median with 95 %
)

// Warnings says what makes the timing doubtful: samples that are few, or far
// apart.
func (t Timing) Warnings() []string {
	var all []string
	if t.Samples > 0 && t.Samples < intervalSamples {
		all = append(all, fmt.Sprintf("%d samples are too few for a 95 %% interval, which takes %d: theirs is their whole range", t.Samples, intervalSamples))
	}
	if noise := t.Noise(); noise > noiseBound {
		all = append(all, fmt.Sprintf("noisy samples: the middle half spreads over %.1f %% of the median", noise*100))
	}
	return all
}
