package gpu

import (
	"encoding/binary"
	"fmt"

	"autotune/device/elements"
	"autotune/device/verify"
	"autotune/operator"
)

type preparation int

// preparation says what written tensors hold before a launch; a check uses the preparations in turn, in the order of
// the constants below.
const (
	poisoned  preparation = iota // a NaN, or an integer, that no kernel writes
	untouched                    // the results of the previous launch, as in timed launches
	zeroed                       // zeros, and a large number around the tensors
	preparations
)

// checks verify the contents of all tensors after a launch.
type checks struct {
	timer
	tensors      *tensors
	helpers      *helpers
	own          *own
	judge        verify.Judge
	guard        uint64 // the word that the guard zones hold
	distribution string
	sizes        []float64 // for large inputs: the reference's largest number, by argument
}

// prepare readies memory for a launch: it restores or overwrites all tensors that a variant writes, and fills the guard
// zones and the shared memory, on which no result may depend.
func (c *checks) prepare(how preparation) {
	guard := uint64(guardNaN)
	if how == zeroed {
		guard = guardLarge
	}
	if guard != c.guard {
		c.guard = guard
		c.fillGuards()
	}
	c.helpers.soilShared()
	c.tensors.restoreAll()
	with := elements.Poison
	switch how {
	case untouched:
		return
	case zeroed:
		with = func(operator.Type) uint64 { return 0 }
	}
	c.poison(with)
}

func (c *checks) poison(with func(operator.Type) uint64) {
	c.tensors.overwrite(operator.Output, c.tensors.data, with)
	c.tensors.overwrite(operator.Workspace, c.tensors.data, with)
}

func (c *checks) fillGuards() { c.guards("guard_fill") }

// guards queues a kernel that fills or checks the guard zones.
func (c *checks) guards(name string, more ...uint64) {
	if c.tensors.zoneCount > 0 {
		c.helpers.run(name, zoneBlocks, int64(c.tensors.zoneCount), append([]uint64{uint64(c.tensors.zones), c.guard}, more...)...)
	}
}

// queueChecks queues all checks of memory after a launch: of the outputs, which lie in the given buffers, of the
// tensors that must not have changed, and of the guard zones.
func (c *checks) queueChecks(outputs []Address) {
	c.clear()
	t := c.tensors
	for i, a := range t.arguments {
		switch at := c.at(c.judge.Layout.Arguments[i]); {
		case !verify.Looked(a):
		case a.Role.Compared():
			if c.sizes != nil {
				a.ATol = verify.ToleranceOf(a, c.distribution, c.sizes[i])
			}
			c.helpers.compareWith(a, outputs[i], t.references[i], at)
			if t.pristine[i] != 0 {
				c.helpers.sum(a, t.pristine[i], at+8*verify.OutcomeWords)
			}
		default:
			c.helpers.sum(a, t.data[i], at)
		}
	}
	c.queueGuards()
	c.own.compare(t, outputs, c.at(c.judge.Apart))
}

func (c *checks) at(word int) Address { return c.tensors.found + Address(8*word) }
func (c *checks) clear()              { c.gpu.Set(c.tensors.found, 4, 0, int64(2*c.judge.Words)) }
func (c *checks) queueGuards()        { c.guards("guard_check", uint64(c.at(c.judge.Hits))) }

func (c *checks) results() ([]uint64, error) {
	const done = 2 // event that marks the end of the checks
	c.gpu.Record(done)
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

func (c *checks) inspect() (f verify.Findings, err error) {
	c.queueChecks(c.tensors.data)
	return c.findings()
}

// findings returns the faults that the most recently queued checks find.
func (c *checks) findings() (f verify.Findings, err error) {
	words, err := c.results()
	if err != nil {
		return f, err
	}
	return c.judge.Findings(words, c.elements)
}

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

// learn stores the checksums of the inputs and of the reference's outputs; the outputs lie in the given buffers.
func (c *checks) learn(outputs []Address) error {
	c.queueChecks(outputs)
	words, err := c.results()
	if err != nil {
		return fmt.Errorf("look at the inputs and the reference's outputs: %w", err)
	}
	return c.judge.Learn(words)
}

// learnSizes stores the distribution of the inputs. For large inputs, learnSizes also stores the largest absolute value
// of each of the reference's outputs, computed as the largest difference from zeros.
func (c *checks) learnSizes(distribution string) error {
	c.distribution, c.sizes = distribution, make([]float64, len(c.tensors.arguments))
	if distribution != operator.Large {
		return nil
	}
	t := c.tensors
	c.clear()
	for i, a := range t.arguments {
		if a.Role.Compared() && verify.Looked(a) {
			t.set(t.data[i], a, 0)
			a.ATol, a.RTol = 0, 0
			c.helpers.compareWith(a, t.data[i], t.references[i], c.at(c.judge.Layout.Arguments[i]))
		}
	}
	words, err := c.results()
	if err != nil {
		return fmt.Errorf("look at the reference's outputs: %w", err)
	}
	c.sizes = c.judge.Largest(words)
	return nil
}

// strays checks only the guard zones, and names those that were overwritten.
func (c *checks) strays() (string, error) {
	if c.tensors.zoneCount == 0 {
		return "", nil
	}
	c.clear()
	c.queueGuards()
	words, err := c.results()
	if err != nil {
		return "", fmt.Errorf("look at the guard zones: %w", err)
	}
	return c.judge.Strays(words), nil
}
