package strategy

import "math"

// member is a configuration of a population.
type member struct {
	id   int64
	loss float64 // +Inf while unknown and for failures
}

// owners maps a configuration to the members for which it was proposed.
type owners map[int64][]int

func (o owners) add(id int64, member int) { o[id] = append(o[id], member) }

// take returns and forgets the members that wait for a configuration.
func (o owners) take(id int64) []int {
	list := o[id]
	delete(o, id)
	return list
}

// populationSize suits windows of a hundred to a thousand evaluations, and is
// less in spaces that are not much larger.
func populationSize(a *archive) int {
	return int(max(2, min(20, a.space.Len()/3)))
}

// unknown is a member that has no configuration yet.
func unknown() member { return member{id: -1, loss: math.Inf(1)} }

// valid turns a choice into a configuration: itself if it is valid, else the
// nearest that is.
func (a *archive) valid(part int, choice []int) (int64, bool) {
	if id, ok := a.space.IndexOf(part, choice); ok {
		return id, true
	}
	tunables := a.space.Parts()[part].Tunables
	positions := make([]float64, len(choice))
	for k, v := range choice {
		positions[k] = float64(v) / float64(max(len(tunables[k].Values)-1, 1))
	}
	return a.space.Nearest(part, positions)
}
