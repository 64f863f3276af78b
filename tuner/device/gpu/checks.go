package gpu

import (
	"encoding/binary"
	"errors"
	"fmt"

	"autotune/tuner/device/elements"
	"autotune/tuner/device/verify"
	"autotune/tuner/operator"
)

// preparation is what outputs and workspaces hold before a launch.
type preparation int

// The preparations, in the order in which launches take turns with them.
const (
	poisoned  preparation = iota // a NaN, or an integer, that no kernel writes
	untouched                    // what the launch before left, as when it is timed
	zeroed                       // zeros, and a large number around the tensors
	preparations
)

// checks look at all of the tensors after a launch.
type checks struct {
	timer
	tensors *tensors
	helpers *helpers
	own     *own
	judge   verify.Judge
	guard   uint64 // the word that the guard zones hold
}

// prepare readies all that a variant writes, and all that it should not depend on,
// for a launch.
func (c *checks) prepare(how preparation) error {
	guard := uint64(guardNaN)
	if how == zeroed {
		guard = guardLarge
	}
	if guard != c.guard {
		c.guard = guard
		if err := c.fillGuards(); err != nil {
			return err
		}
	}
	if err := c.helpers.soilShared(); err != nil {
		return err
	}
	if err := c.tensors.restoreAll(); err != nil {
		return err
	}
	switch how {
	case untouched:
		return nil
	case zeroed:
		return c.tensors.overwriteAll(func(operator.Type) uint64 { return 0 })
	default:
		return c.tensors.overwriteAll(elements.Poison)
	}
}

func (c *checks) fillGuards() error {
	if c.tensors.zoneCount == 0 {
		return nil
	}
	if err := c.helpers.run(c.helpers.guardFill, zoneBlocks, int64(c.tensors.zoneCount), uint64(c.tensors.zones), c.guard); err != nil {
		return fmt.Errorf("fill the guard zones: %w", err)
	}
	return nil
}

// queueChecks queues all that looks at memory after a launch: the outputs, which lie in
// the given buffers, what must not have changed, and the guard zones.
func (c *checks) queueChecks(outputs []Address) error {
	if err := c.clear(); err != nil {
		return err
	}
	t := c.tensors
	for i, a := range t.arguments {
		var err error
		switch at := c.at(c.judge.Layout.Arguments[i]); {
		case !verify.Looked(a):
		case a.Role.Compared():
			err = c.helpers.compareWith(a, outputs[i], t.references[i], at)
			if t.pristine[i] != 0 {
				err = errors.Join(err, c.helpers.sum(a, t.pristine[i], at+8*verify.OutcomeWords))
			}
		default:
			err = c.helpers.sum(a, t.data[i], at)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(c.queueGuards(), c.own.compare(t, outputs, c.at(c.judge.Apart)))
}

// at is where a word of what is found lies.
func (c *checks) at(word int) Address { return c.tensors.found + Address(8*word) }

// clear zeroes all words.
func (c *checks) clear() error { return c.gpu.Set(c.tensors.found, 4, 0, int64(2*c.judge.Words)) }

// queueGuards queues a look at the guard zones.
func (c *checks) queueGuards() error {
	if c.tensors.zoneCount == 0 {
		return nil
	}
	return c.helpers.run(c.helpers.guardCheck, zoneBlocks, int64(c.tensors.zoneCount), uint64(c.tensors.zones), c.guard, uint64(c.at(c.judge.Hits)))
}

// results waits for the checks that were queued last and fetches what they found.
func (c *checks) results() ([]uint64, error) {
	const done = 2 // an event that the queue has passed
	if err := c.gpu.Record(done); err != nil {
		return nil, err
	}
	if err := c.wait(done, helperLimit); err != nil {
		return nil, err
	}
	found := make([]byte, 8*c.judge.Words)
	if err := c.gpu.Read(found, c.tensors.found); err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	words := make([]uint64, c.judge.Words)
	for i := range words {
		words[i] = binary.NativeEndian.Uint64(found[8*i:])
	}
	return words, nil
}

// inspect looks at everything that the launches so far wrote.
func (c *checks) inspect() (f verify.Findings, err error) {
	if err := c.queueChecks(c.tensors.data); err != nil {
		return f, err
	}
	return c.findings()
}

// findings judges what the checks that were queued last find.
func (c *checks) findings() (f verify.Findings, err error) {
	words, err := c.results()
	if err != nil {
		return f, err
	}
	return c.judge.Findings(words, c.elements)
}

// elements reads one element of an output and of its reference.
func (c *checks) elements(argument int, element int64) (got, want string, err error) {
	a := c.tensors.arguments[argument]
	var bits [2]uint64
	for i, buffers := range [2][]Address{c.tensors.data, c.tensors.references} {
		if bits[i], err = c.tensors.element(buffers, argument, element); err != nil {
			return "", "", err
		}
	}
	return elements.Text(a.Type, bits[0]), elements.Text(a.Type, bits[1]), nil
}

// learn keeps what inputs and references look like; outputs is where the reference wrote.
func (c *checks) learn(outputs []Address) error {
	err := c.queueChecks(outputs)
	var words []uint64
	if err == nil {
		words, err = c.results()
	}
	if err != nil {
		return fmt.Errorf("look at the inputs and the reference's outputs: %w", err)
	}
	return c.judge.Learn(words)
}

// strays looks at the guard zones alone, and names those that were written into.
func (c *checks) strays() (string, error) {
	if c.tensors.zoneCount == 0 {
		return "", nil
	}
	if err := c.clear(); err != nil {
		return "", err
	}
	if err := c.queueGuards(); err != nil {
		return "", err
	}
	words, err := c.results()
	if err != nil {
		return "", fmt.Errorf("look at the guard zones: %w", err)
	}
	return c.judge.Strays(words), nil
}
