package trial

// Bests are the fastest right trials of each template, by its name.
func Bests(trials []Trial) map[string]Trial {
	best := map[string]Trial{}
	for _, t := range trials {
		if known, has := best[t.Template]; t.Status == OK && (!has || t.Time.Median < known.Time.Median) {
			best[t.Template] = t
		}
	}
	return best
}
