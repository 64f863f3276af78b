// Package wire holds what a search and the workers of its pool say to each other
// through a NATS server: jobs, answers, problems and signs of life, where each is
// found, and how large it may be. Whatever arrives is checked here before anything
// is done with it.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"autotune/space"
	"autotune/tuner/device"
	"autotune/tuner/operator"
	"autotune/tuner/trial"
)

// MessageBytes is how large a job, an answer, a problem or a sign of life may be. All
// that is larger goes through the object store.
const MessageBytes = 512 << 10

// Where messages are.
const (
	JobStream      = "AUTOTUNE_JOBS"     // what is asked; a job is there until it is acknowledged
	AnswerStream   = "AUTOTUNE_ANSWERS"  // what came of it, until the search has it
	Workers        = "AUTOTUNE_WORKERS"  // signs of life, by worker
	Searches       = "AUTOTUNE_SEARCHES" // problems of running searches, by search and number
	Objects        = "AUTOTUNE_OBJECTS"  // bundles of operators, and their data files
	Binaries       = "AUTOTUNE_BINARIES" // compiled kernels
	JobSubjects    = "autotune.jobs.>"
	AnswerSubjects = "autotune.answers.>"
	jobs           = "autotune.jobs."
	answers        = "autotune.answers."
)

// Deliveries is how often a job is begun at most. One that outlives no worker has
// crashed them.
const Deliveries = 3

// CompileSubject is where jobs of compiling for a group of like workers are, and
// EvaluateSubject those of running what was compiled.
func CompileSubject(group string) string  { return jobs + group + ".compile" }
func EvaluateSubject(group string) string { return jobs + group + ".evaluate" }

// EvaluateConsumer is the place where a group's workers take jobs of running from.
func EvaluateConsumer(group string) string { return "evaluate-" + group }

// AnswerSubject is where the answer to a search's job is.
func AnswerSubject(search, id string) string { return answers + search + "." + id }

// OnlySubject is where jobs for one worker alone are.
func OnlySubject(worker string) string { return jobs + "only." + worker }

// Kind says what a job asks for.
type Kind string

// The kinds of jobs.
const (
	Compile  Kind = "compile"  // a configuration's kernel
	Open     Kind = "open"     // the problem, as a session
	Evaluate Kind = "evaluate" // a configuration
	Check    Kind = "check"    // launch one several times
	Refill   Kind = "refill"   // the session's inputs
)

// Job is what a search asks of a worker.
type Job struct {
	Search  string `json:"search"`
	ID      uint64 `json:"id"` // within the search
	Kind    Kind   `json:"kind"`
	Problem string `json:"problem"` // its key among the Searches
	// Configuration of the problem; without a template it is the reference.
	space.Configuration
	Digest string        `json:"digest,omitempty"` // of its kernel, which the worker makes itself
	Inputs device.Inputs `json:"inputs"`           // of the session
	Best   float64       `json:"best,omitempty"`
	Energy bool          `json:"energy,omitempty"`
	Look   bool          `json:"look,omitempty"`
	Check  device.Check  `json:"check"`
	Limit  time.Duration `json:"limit,omitempty"` // of a compilation
}

// Answer is what came of a job.
type Answer struct {
	ID        uint64  `json:"id"`
	Worker    string  `json:"worker"`
	ControlMS float64 `json:"control_ms,omitempty"`
	Fault     *Fault  `json:"fault,omitempty"` // why there is nothing else
	// Outcome is of an Evaluate or Check.
	Outcome  trial.Outcome   `json:"outcome"`
	Notice   string          `json:"notice,omitempty"` // of the outcome
	Launches int             `json:"launches,omitempty"`
	Ceilings device.Ceilings `json:"ceilings"`
	Compiled *Compiled       `json:"compiled,omitempty"`
}

// Compiled says of a binary, which is in the object store, what a search asks about.
type Compiled struct {
	Log      string        `json:"log,omitempty"`
	Duration time.Duration `json:"duration"`
	Cached   bool          `json:"cached,omitempty"`
}

// FaultKind tells faults apart.
type FaultKind string

// The kinds of faults.
const (
	Refused      FaultKind = "refused"   // the compiler did, the kernel
	BadReference FaultKind = "reference" // the operator's reference cannot say what is right
	NoMemory     FaultKind = "memory"    // the problem does not fit
	Trouble      FaultKind = "trouble"   // anything else
)

// Fault is an error that keeps its kind.
type Fault struct {
	Kind    FaultKind `json:"kind"`
	Message string    `json:"message"`
	Log     string    `json:"log,omitempty"`
	Part    string    `json:"part,omitempty"` // of the operator, where it is its BadReference
	// File, Line, Timeout and Crashed are those of the compiler's error.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Timeout bool   `json:"timeout,omitempty"`
	Crashed bool   `json:"crashed,omitempty"`
}

func (f *Fault) Error() string { return f.Message }

// Problem is one that a running search is at: an operator, whose bundle is in the
// object store, and what binds it.
type Problem struct {
	Bundle   string              `json:"bundle"`          // the object's name
	Data     map[string]Data     `json:"data,omitempty"`  // the operator's data files, by name
	Named    bool                `json:"named,omitempty"` // the user named the operator's place: its Python file may run
	Shape    []int64             `json:"shape"`
	Settings operator.Parameters `json:"parameters"`
	Math     string              `json:"math"`
	Limits   operator.Limits     `json:"limits"`
	Protocol device.Protocol     `json:"protocol"`
	Text     string              `json:"text"` // canonical, which the worker's own must be
}

// Data is a data file of an operator, which is in the object store.
type Data struct {
	Object string `json:"object"` // its name
	Bytes  int64  `json:"bytes"`
}

// Request is what binds the operator.
func (p Problem) Request() operator.Request {
	return operator.ProblemRecord{Shape: p.Shape, Parameters: p.Settings, Math: p.Math}.Request()
}

// State is what a worker is up to.
type State string

// The states of a worker.
const (
	Ready State = "ready" // it takes jobs
	Aside State = "aside" // it takes none until its control is as it was
	Left  State = "left"  // it has ended
)

// Beat is a worker's sign of life.
type Beat struct {
	Worker    string      `json:"worker"`
	Group     string      `json:"group"` // of the workers that are like it
	Device    device.Info `json:"device"`
	Arch      string      `json:"arch"`
	Compilers int         `json:"compilers"`
	State     State       `json:"state"`
	Why       string      `json:"why,omitempty"` // it is set aside, or has left
	Done      int         `json:"done"`          // jobs but for compilations
	Rate      float64     `json:"rate"`          // of them a second, in the last half minute
	Control   Control     `json:"control"`
	Started   time.Time   `json:"started"`
}

// Control says how long a worker's control took.
type Control struct {
	FirstMS float64   `json:"first_ms"`
	LastMS  float64   `json:"last_ms"`
	At      time.Time `json:"at,omitzero"` // of the last; zero: none yet
}

// message is what may be read.
type message interface{ check() error }

// Encode writes a message, unless it is larger than one may be.
func Encode(m any) ([]byte, error) {
	data, err := json.Marshal(m)
	if err == nil && len(data) > MessageBytes {
		err = fmt.Errorf("a message of %d bytes; %d are the most", len(data), MessageBytes)
	}
	return data, err
}

// Decode reads a message and checks it. Its error is about who wrote it.
func Decode[T any, M interface {
	*T
	message
}](data []byte) (T, error) {
	var m, none T
	if len(data) > MessageBytes {
		return none, fmt.Errorf("a message of %d bytes; %d are the most", len(data), MessageBytes)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&m); err != nil {
		return none, fmt.Errorf("a message that cannot be read: %w", err)
	}
	if d.More() {
		return none, errors.New("a message that goes on after its end")
	}
	if err := M(&m).check(); err != nil {
		return none, err
	}
	return m, nil
}
