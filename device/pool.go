package device

import "errors"

// ErrGone means that a worker is no longer there, or that none is left. Another worker may be asked instead.
var ErrGone = errors.New("the worker is gone")

// MostWorkers is how many workers of a Pool a search uses.
const MostWorkers = 512

// Pool is a Device that is several of one model, each driven by a worker of its own. Many goroutines may ask its
// sessions at once: any worker answers, and the Outcome says which.
type Pool interface {
	Device
	// Workers names those that are fit for use now, in order. They come and go.
	Workers() []string
	// Worker is one of them as a Device of its own, for what has to be done in one
	// place. Once it is gone, its sessions end with ErrGone.
	Worker(name string) Device
}
