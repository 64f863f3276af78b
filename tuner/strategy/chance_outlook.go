package strategy

// Target is the factor by which a configuration must be faster to be worth
// searching on for, unless told otherwise.
const Target = 1.02

// A search is over below these chances.
const (
	overChance = 0.05
	// floorChance is for a search whose best is as fast as data can be copied. Such
	// a best may still be beaten, by a few percent where more is read than written,
	// so the floor alone ends nothing: it makes the search ask for less.
	floorChance = 0.12
)

// Outlook is what a search may still gain.
type Outlook struct {
	Target  float64 `json:"target"`                // a factor: 1.02 is 2 %
	Chance  float64 `json:"chance"`                // that a configuration was not seen which is faster by more
	AtFloor bool    `json:"at_roofline,omitempty"` // the best takes no longer than a copy of what it must move
}

// Over tells whether a search may end: nothing is left that is worth it.
func (o Outlook) Over() bool { return o.Sure() || o.AtFloor && o.Chance < floorChance }

// Sure tells whether the chance alone says so.
func (o Outlook) Sure() bool { return o.Chance < overChance }
