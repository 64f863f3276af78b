// Package remote lets a search use devices outside of its own process.
//
// A search sends a Request and gets a Response. A Server answers requests: it opens problems on a device.Device and
// evaluates variants of them. A Session is a problem that is open on a remote device. Two kinds of Link transport the
// messages: a child process on this machine reads them from its standard input (Child, Serve), and workers on other
// machines receive them through a NATS server (package fleet). A Pool combines several devices into one.
//
// Every received message passes through Decode, which reads and checks it as a whole and rejects a message that lacks a
// part that its kind needs.
package remote

import (
	"encoding/json"
	"fmt"
	"time"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/trial"
	"autotune/operator"
	"autotune/space"
)

// MessageBytes is the largest size of a message. The largest messages contain an operator's files in base64.
const MessageBytes = 2 * operator.BundleBytes

type Kind string

const (
	Describe Kind = "describe" // list the devices
	Compile  Kind = "compile"  // compile a configuration's kernel
	Open     Kind = "open"     // open the problem as a session
	Evaluate Kind = "evaluate" // evaluate a configuration
	Check    Kind = "check"    // launch a configuration several times
	Refill   Kind = "refill"   // change the session's inputs
	Launch   Kind = "launch"   // launch a configuration once, while a program watches
	Close    Kind = "close"    // close the session
)

type Request struct {
	ID      string `json:"id,omitempty"` // a worker carries out a request once, however often it arrives
	Kind    Kind   `json:"kind"`
	Problem string `json:"problem,omitempty"` // its key: the search's name and a number
	// Opening describes the problem. If Opening is nil, the receiver must already know the problem's key.
	Opening *Opening `json:"opening,omitempty"`
	// Configuration is the kernel's configuration; without a template it stands for the problem's reference.
	space.Configuration
	Digest string        `json:"digest,omitempty"` // of the kernel, which the other side makes itself
	Inputs device.Inputs `json:"inputs"`           // of the session
	Best   float64       `json:"best,omitempty"`
	Check  device.Check  `json:"check"`
	Limit  time.Duration `json:"limit,omitempty"` // of a Compile or Launch
}

// Response is the answer to a request, with either a Fault or all fields that its kind requires.
type Response struct {
	ID     string `json:"id,omitempty"`
	Kind   Kind   `json:"kind"`
	Worker string `json:"worker,omitempty"`
	Fault  *Fault `json:"fault,omitempty"`
	// Outcome answers a request of kind Evaluate, Check or Launch. Notice is Outcome.Notice, which the JSON of an
	// Outcome omits.
	Outcome  trial.Outcome   `json:"outcome"`
	Notice   string          `json:"notice,omitempty"`
	Launches int             `json:"launches,omitempty"`
	Ceilings device.Ceilings `json:"ceilings"`
	Compiled *compile.Binary `json:"compiled,omitempty"` // without its code, which the worker keeps
	Devices  []device.Info   `json:"devices,omitempty"`  // of a Describe
	// Lost says that the device's context is gone, so that this process can no longer use the device.
	Lost bool `json:"lost,omitempty"`
}

// Worker is how a worker describes itself to searches.
type Worker struct {
	Worker    string      `json:"worker"`
	Device    device.Info `json:"device"`
	Arch      string      `json:"arch"`
	Compilers int         `json:"compilers"` // number of kernels compiled at once
	Done      int         `json:"done"`      // number of finished jobs
	UnderWay  int         `json:"under_way"` // number of unfinished jobs
	Started   time.Time   `json:"started"`
}

// Opening says how to open a problem: the operator's files, and the data that the operator is bound with.
type Opening struct {
	Bundle                 []byte          `json:"bundle"`
	Named                  bool            `json:"named,omitempty"` // the user named its path: its Python file may run
	operator.ProblemRecord                 // its text must equal that of the problem bound by the other side
	Limits                 operator.Limits `json:"limits"`
	Protocol               device.Protocol `json:"protocol"`
}

func openingOf(p *operator.Problem, proto device.Protocol) (o Opening, err error) {
	o = Opening{Named: p.Operator.Named, ProblemRecord: p.Record(), Limits: p.Limits, Protocol: proto}
	o.Bundle, err = p.Operator.Bundle()
	return o, err
}

// bind binds the operator with the same data as the search did.
func (o *Opening) bind() (*operator.Problem, error) {
	op, err := operator.LoadBundle(o.Bundle)
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

// kernel generates the kernel of a request, and replaces its launches unless the parameter launches is nil. kernel
// returns an error if the generated kernel differs from the search's kernel.
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

// Failed returns the response of a worker that failed while it processed the request. If the request is about a
// variant, Failed reports the failure as the variant's outcome.
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

// Encode marshals a message and returns an error if it is too large.
func Encode(m any) ([]byte, error) {
	data, err := json.Marshal(m)
	if err == nil && len(data) > MessageBytes {
		err = fmt.Errorf("a message of %d bytes; %d are the most", len(data), MessageBytes)
	}
	return data, err
}

// Decode reads a message and checks it. Decode returns an error only if the sender wrote a wrong message.
func Decode[T any, M interface {
	*T
	message
}](data []byte) (T, error) {
	var m, none T
	if len(data) > MessageBytes {
		return none, fmt.Errorf("a message of %d bytes; %d are the most", len(data), MessageBytes)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return none, fmt.Errorf("a message that cannot be read: %w", err)
	}
	if err := M(&m).check(); err != nil {
		return none, err
	}
	return m, nil
}
