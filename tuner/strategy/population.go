package strategy

// member is a configuration of a population.
type member struct {
	id   int64
	loss float64
}

// populationSize suits windows of a hundred to a thousand evaluations, and is
// less in spaces that are not much larger.
func populationSize(a *archive) int {
	return int(max(2, min(20, a.space.Len()/3)))
}

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
