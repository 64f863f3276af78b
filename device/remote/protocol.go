// Package remote lets a search use devices that are not in its own process.
//
// A search asks with a Request and gets a Response. A Host answers requests: it
// serves any device.Device, opens problems on it, and evaluates what it is asked
// to. Two transports carry the messages. A child process on this machine reads
// them from its standard input (Child, Serve). Workers on other machines take
// them from a NATS server (package fleet). Joined makes one
// device.Pool of several devices of this process, without any server.
//
// Decode is the one way in: it reads a message whole, with all parts that its
// kind needs, or refuses it.
package remote

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
)

// MessageBytes is how large a message may be. Larger contents travel beside it.
const MessageBytes = 512 << 10

// DataBytes is how much the data files of an operator may take together.
const DataBytes = 1 << 30

// ChunkBytes is how much of an object one message brings.
const ChunkBytes = 256 << 10

type Kind string

const (
	Describe Kind = "describe" // the devices that there are
	Compile  Kind = "compile"  // a configuration's kernel
	Open     Kind = "open"     // the problem, as a session
	Evaluate Kind = "evaluate" // a configuration
	Check    Kind = "check"    // launch a configuration several times
	Refill   Kind = "refill"   // the session's inputs
	Launch   Kind = "launch"   // a configuration once, while a program watches
	Close    Kind = "close"    // the session
)

type Request struct {
	Search  string `json:"search,omitempty"`
	ID      uint64 `json:"id,omitempty"` // within the search
	Kind    Kind   `json:"kind"`
	Problem string `json:"problem,omitempty"` // its key: the search's name and a number
	// Configuration of the problem; without a template it is the reference.
	space.Configuration
	Digest string        `json:"digest,omitempty"` // of its kernel, which the other side makes itself
	Inputs device.Inputs `json:"inputs"`           // of the session
	Best   float64       `json:"best,omitempty"`
	Energy bool          `json:"energy,omitempty"`
	Look   bool          `json:"look,omitempty"`
	Check  device.Check  `json:"check"`
	Limit  time.Duration `json:"limit,omitempty"` // of a Compile or Launch
	Only   bool          `json:"only,omitempty"`  // no other worker will do
	From   string        `json:"from,omitempty"`  // a worker that has the kernel compiled
}

// Fetch asks for a part of an object: a problem, an operator's files, a compiled kernel.
type Fetch struct {
	Object string `json:"object"`
	Offset int64  `json:"offset,omitempty"` // of a part of ChunkBytes; the last is shorter
}

// Response is what came of a request. Either it has a Fault, or all that the kind of
// its request gives.
type Response struct {
	ID        uint64  `json:"id,omitempty"`
	Kind      Kind    `json:"kind"`
	Worker    string  `json:"worker,omitempty"`
	ControlMS float64 `json:"control_ms,omitempty"`
	Fault     *Fault  `json:"fault,omitempty"`
	// Outcome is of an Evaluate, Check or Launch, and Notice a part of it.
	Outcome  trial.Outcome   `json:"outcome"`
	Notice   string          `json:"notice,omitempty"`
	Launches int             `json:"launches,omitempty"`
	Ceilings device.Ceilings `json:"ceilings"`
	Compiled *compile.Binary `json:"compiled,omitempty"` // without its code, which the worker keeps
	Devices  []device.Info   `json:"devices,omitempty"`  // of a Describe
	// Lost: the device's context is gone, and this process can do no more with it.
	Lost bool `json:"lost,omitempty"`
}

// Problem says how to open a problem: an operator, whose bundle travels beside it, and
// what binds it.
type Problem struct {
	Bundle                 string          `json:"bundle"`          // its BundleName
	Data                   map[string]Data `json:"data,omitempty"`  // the operator's data files, by name
	Named                  bool            `json:"named,omitempty"` // the user named the operator's place: its Python file may run
	operator.ProblemRecord                 // whose text the other side's own must be
	Limits                 operator.Limits `json:"limits"`
	Protocol               device.Protocol `json:"protocol"`
}

// BundleName is what an operator's bundle is called: it stands for the contents.
func BundleName(bundle []byte) string { return fmt.Sprintf("bundle-%x", sha256.Sum256(bundle)) }

// DataName is what a data file is called whose contents have this digest.
func DataName(digest string) string { return "data-" + digest }

// BinaryName is what the kernel is called that a worker has compiled.
func BinaryName(file, digest string) string {
	return fmt.Sprintf("binary-%x", sha256.Sum256([]byte(file+" "+digest)))
}

type Data struct {
	Object string `json:"object"` // its name
	Bytes  int64  `json:"bytes"`
}

// ProblemOf describes a bound problem. Bundle and Data are the transport's to fill in.
func ProblemOf(p *operator.Problem, proto device.Protocol) Problem {
	return Problem{Named: p.Operator.Named, ProblemRecord: p.Record(), Limits: p.Limits, Protocol: proto}
}

// Bind binds the operator as the search has bound it.
func (p Problem) Bind(o *operator.Operator) (*operator.Problem, error) {
	bound, err := o.Bind(p.Request(), p.Limits)
	if err != nil {
		return nil, err
	}
	if bound.String() != p.Text {
		return nil, fmt.Errorf("the problem is %s here, and %.200q to the search", bound, p.Text)
	}
	return bound, nil
}

// KernelOf makes the kernel that a request is about, with these launches if there are any.
// It must be the kernel that the search has.
func (r Request) KernelOf(p *operator.Problem, launches operator.Launches) (k operator.Kernel, err error) {
	if r.Template == "" {
		k, err = p.Reference()
	} else {
		k, err = p.Kernel(r.Configuration)
	}
	if launches != nil {
		k.Launches = launches
	}
	if err == nil && k.Digest() != r.Digest {
		err = fmt.Errorf("the kernel of %s is another here: the search and its workers must be of one version", r.Configuration)
	}
	return k, err
}

// Given is the response with a fault in place of an answer.
func (r Request) Given(message string) Response {
	a := Response{ID: r.ID, Kind: r.Kind}
	switch r.Kind {
	case Evaluate, Check:
		a.Outcome = trial.Outcome{Status: trial.Crashed, Message: message}
	case Compile:
		a.Fault = &Fault{Kind: Refused, Message: message, Crashed: true}
	default:
		a.Fault = &Fault{Kind: Trouble, Message: message}
	}
	return a
}

type message interface{ check() error }

// Encode writes a message, unless it is too large.
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
