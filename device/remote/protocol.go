// Package remote lets a search use devices that are not in its own process.
//
// A search asks with a Request and gets a Response. A Server answers: it serves any device.Device, opens problems on
// it, and evaluates what it is asked to. A Session is a problem on a device elsewhere. Two transports, Links, carry the
// messages between the two: a child process on this machine reads them from its standard input (Child, Serve), and
// workers on other machines get them through a NATS server (package fleet). A Pool makes one device of several,
// wherever they are.
//
// Decode is the one way in: it reads a message whole, with all parts that its kind needs, or refuses it.
package remote

import (
	"bytes"
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

// MessageBytes is how large a message may be: one that opens a problem has the operator's bundle, in base64.
const MessageBytes = 2 * operator.BundleBytes

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
	ID      string `json:"id,omitempty"` // a worker does a request once, however often it hears it
	Kind    Kind   `json:"kind"`
	Problem string `json:"problem,omitempty"` // its key: the search's name and a number
	// Opening makes the problem known. Without it, the other side must know the key.
	Opening *Opening `json:"opening,omitempty"`
	// Configuration of the problem; without a template it is the reference.
	space.Configuration
	Digest string        `json:"digest,omitempty"` // of its kernel, which the other side makes itself
	Inputs device.Inputs `json:"inputs"`           // of the session
	Best   float64       `json:"best,omitempty"`
	Energy bool          `json:"energy,omitempty"`
	Look   bool          `json:"look,omitempty"`
	Check  device.Check  `json:"check"`
	Limit  time.Duration `json:"limit,omitempty"` // of a Compile or Launch
}

// Response is what came of a request. Either it has a Fault, or all that the kind of its request gives.
type Response struct {
	ID     string `json:"id,omitempty"`
	Kind   Kind   `json:"kind"`
	Worker string `json:"worker,omitempty"`
	Fault  *Fault `json:"fault,omitempty"`
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

// Worker is what a worker elsewhere says of itself.
type Worker struct {
	Worker    string      `json:"worker"`
	Device    device.Info `json:"device"`
	Arch      string      `json:"arch"`
	Compilers int         `json:"compilers"` // kernels at once
	Done      int         `json:"done"`      // jobs
	UnderWay  int         `json:"under_way"` // jobs that it has
	Started   time.Time   `json:"started"`
}

// Opening says how to open a problem: the operator's files, and what binds it.
type Opening struct {
	Bundle                 []byte           `json:"bundle"`
	Named                  bool             `json:"named,omitempty"` // the user named the operator's place: its Python file may run
	operator.ProblemRecord                  // whose text the other side's own must be
	Limits                 operator.Limits  `json:"limits"`
	Protocol               device.Protocol  `json:"protocol"`
	Known                  *device.Ceilings `json:"known,omitempty"` // that were measured before
}

func openingOf(p *operator.Problem, proto device.Protocol) (o Opening, err error) {
	o = Opening{Named: p.Operator.Named, ProblemRecord: p.Record(), Limits: p.Limits, Protocol: proto}
	o.Bundle, err = p.Operator.Bundle()
	return o, err
}

// bind binds the operator as the search has bound it.
func (o *Opening) bind(data Files) (*operator.Problem, error) {
	op, err := operator.LoadBundle(o.Bundle, data)
	if err != nil {
		return nil, err
	}
	bound, err := op.AsNamed(o.Named).Bind(o.Request(), o.Limits)
	if err != nil {
		return nil, err
	}
	if bound.String() != o.Text {
		return nil, fmt.Errorf("the problem is %s here, and %.200q to the search", bound, o.Text)
	}
	return bound, nil
}

// kernel makes the kernel that a request is about, with these launches if there are any.
// It must be the kernel that the search has.
func (r *Request) kernel(p *operator.Problem, launches operator.Launches) (k operator.Kernel, err error) {
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

// Failed is the response of a worker that failed over the request. If it is about a variant, that is the variant's
// outcome.
func (r *Request) Failed(status trial.Status, message string) Response {
	a := Response{ID: r.ID, Kind: r.Kind}
	switch r.Kind {
	case Evaluate, Check, Launch:
		a.Outcome = trial.Outcome{Status: status, Message: message}
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
