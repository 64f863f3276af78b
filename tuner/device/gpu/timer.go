package gpu

import "time"

// timer times work on the queue by pairs of events.
type timer struct{ gpu GPU }

const helperLimit = time.Minute // for the device's own work

// each runs work count times and times each run, in milliseconds, but not what is done
// before each.
func (t timer) each(count int, before, work func(), limit time.Duration) ([]float64, error) {
	for i := range count {
		if before != nil {
			before()
		}
		t.queue(i, work)
	}
	return t.times(count, limit)
}

// queue queues work between the pair of events with that number.
func (t timer) queue(pair int, work func()) {
	t.gpu.Record(2 * pair)
	work()
	t.gpu.Record(2*pair + 1)
}

// times waits for the first pairs of events, for limit at most, and returns the
// milliseconds within each.
func (t timer) times(pairs int, limit time.Duration) (ms []float64, err error) {
	if err := t.wait(2*pairs-1, limit); err != nil {
		return nil, err
	}
	ms = make([]float64, pairs)
	for i := range ms {
		if ms[i], err = t.gpu.Elapsed(2*i, 2*i+1); err != nil {
			return nil, err
		}
	}
	return ms, nil
}

// How long wait looks at an event without pause, and how long it then pauses.
// A core that never sleeps would be missing to the compilers.
const (
	watchFor   = 30 * time.Microsecond
	watchPause = 20 * time.Microsecond
)

// wait waits until the GPU has passed the event, for limit at most.
func (t timer) wait(event int, limit time.Duration) error {
	if err := t.gpu.Err(); err != nil {
		return err
	}
	for begin := time.Now(); ; {
		passed, err := t.gpu.Passed(event)
		if err != nil || passed {
			return err
		}
		switch waited := time.Since(begin); {
		case waited > limit:
			return errLate
		case waited > watchFor:
			time.Sleep(watchPause)
		}
	}
}
