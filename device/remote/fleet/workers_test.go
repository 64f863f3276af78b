package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/remote"
	"autotune/device/remote/fleet"
	"autotune/device/trial"
	"autotune/internal/test/must"
	"autotune/operator"
	"autotune/space"
	"autotune/tuner"
)

// Three workers share a search. Each configuration runs once, on the worker that compiled it. All evidence for the
// winner, which passes all gates and is confirmed, comes from one device.
func TestWorkers(t *testing.T) {
	p := newPlace(t)
	gpus := map[string]*fakeGPU{"a": {}, "b": {}, "c": {}}
	for name, gpu := range gpus {
		p.worker(name, gpu)
	}
	r := search(t, p.pool(3), tuner.Options{Strategy: "random"})
	mustBeWhole(t, r)
	if r.Gates == nil || r.Gates.Launches != 100 || r.Confirmation == nil || r.Confirmation.Worker == r.Winner.Worker {
		t.Errorf("gates %v, confirmed by %v, the winner's worker is %s", r.Gates, r.Confirmation, r.Winner.Worker)
	}
	if r.Ceilings.ReferenceMS != 100 {
		t.Errorf("the reference took %v ms", r.Ceilings.ReferenceMS)
	}
	shares := map[string]int{}
	for _, one := range r.Trials {
		shares[one.Worker]++
	}
	for name, gpu := range gpus {
		for _, one := range r.Trials {
			if k, err := toyProblem(t).Kernel(one.Configuration); err != nil || one.Worker == name && gpu.compiled[k.Digest()] == 0 {
				t.Errorf("%s did not compile %s, %v", name, one.Configuration, err)
			}
		}
		if shares[name] < 144/9 {
			t.Errorf("the workers' shares are %v", shares)
		}
	}
}

// A search that chose one of the workers uses only this worker, from the first trial to the gates.
func TestOneWorker(t *testing.T) {
	p := newPlace(t)
	gpus := map[string]*fakeGPU{"a": {}, "b": {}}
	for name, gpu := range gpus {
		p.worker(name, gpu)
	}
	d := p.pool(2).Worker("b")
	if _, ok := d.(device.Pool); ok {
		t.Error("one worker is a pool")
	}
	r := search(t, d, tuner.Options{Strategy: "random"})
	mustBeWhole(t, r)
	if len(gpus["a"].runs()) > 0 || r.Gates == nil || r.Confirmation != nil || r.Winner.Worker != "b" {
		t.Errorf("the other worker ran %d configurations; the winner is %s's, gates %v, confirmed by %v", len(gpus["a"].runs()), r.Winner.Worker, r.Gates, r.Confirmation)
	}
}

// A kernel that fails or does not compile on a worker becomes a trial with that status, as on a single device.
func TestWorkersTellFailuresApart(t *testing.T) {
	p := newPlace(t)
	gpu := &fakeGPU{refuse: func(k operator.Kernel) error {
		for _, m := range k.Macros {
			if m.Name == "A" && m.Value == "7" {
				return &compile.Error{File: "plain.cu", Line: 3, Message: "seven is not allowed", Log: "plain.cu(3): error"}
			}
		}
		return nil
	}}
	p.worker("a", gpu)
	r := search(t, p.pool(1), tuner.Options{Strategy: "random"})
	if r.ByStatus[trial.CompileError] != 12 || r.ByStatus[trial.OK] != 132 {
		t.Errorf("by status: %v", r.ByStatus)
	}
	for _, one := range r.Trials {
		if one.Status == trial.CompileError && one.Reason() != "plain.cu:3: seven is not allowed" {
			t.Errorf("the reason is %q", one.Reason())
		}
	}
}

// A problem that fails on every worker ends the search with the same error as on a single device.
func TestWorkersTellErrorsApart(t *testing.T) {
	var reference *device.ReferenceError
	for name, test := range map[string]struct {
		gpu  *fakeGPU
		want func(error) bool
	}{
		"memory": {&fakeGPU{open: onToy(fmt.Errorf("too large: %w", device.ErrMemory))}, func(err error) bool { return errors.Is(err, device.ErrMemory) }},
		"reference": {&fakeGPU{open: onToy(&device.ReferenceError{Operator: "toy", Fault: "gives NaN"})}, func(err error) bool {
			return errors.As(err, &reference) && reference.Fault == "gives NaN" && reference.Operator == "toy"
		}},
		"refused reference": {&fakeGPU{refuse: func(k operator.Kernel) error {
			if k.Operator == "toy" {
				return &compile.Error{File: k.File, Line: 1, Message: "no"}
			}
			return nil
		}}, func(err error) bool {
			return errors.As(err, &reference) && reference.Fault == "does not compile: reference.cu:1: no"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.worker("a", test.gpu)
			if _, err := tuner.Search(t.Context(), toyProblem(t), p.pool(1), tuner.Options{}); !test.want(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func onToy(err error) func(*operator.Problem) error {
	return func(p *operator.Problem) error {
		if p.Operator.Name == "toy" {
			return err
		}
		return nil
	}
}

// A search leaves out workers whose device differs from the first worker's, with a message. --gpu chooses a model.
func TestWorkersOfOneModel(t *testing.T) {
	p := newPlace(t)
	p.worker("a", &fakeGPU{})
	p.worker("b", &fakeGPU{name: "Other 200"})
	p.worker("c", &fakeGPU{driver: "999"})
	p.worker("d", &fakeGPU{})
	look := p.connect("look")
	await(t, "four workers", func() bool {
		all, err := look.Look(t.Context())
		return err == nil && len(all) == 4
	})
	d := p.pool(2)
	if got := fmt.Sprint(d.Workers()); got != "[a d]" {
		t.Errorf("the workers are %s", got)
	}
	like := "and not Fake 100, driver , compiler fake compiler 1, for sm_90, 132 multiprocessors"
	want := map[string]bool{
		"worker b is left out: it is Other 200, driver , compiler fake compiler 1, for sm_90, 132 multiprocessors, " + like:   true,
		"worker c is left out: it is Fake 100, driver 999, compiler fake compiler 1, for sm_90, 132 multiprocessors, " + like: true,
	}
	await(t, "words about those left out", func() bool {
		select {
		case text := <-p.said:
			delete(want, text)
		default:
		}
		return len(want) == 0
	})
	other := p.pool(1, func(o *fleet.Options) { o.GPU = "other" })
	if other.Info().Name != "Other 200" {
		t.Errorf("--gpu other gives %s", other.Info().Name)
	}
}

// Without any worker Open returns an error that gives the reason.
func TestWorkersOfNobody(t *testing.T) {
	p := newPlace(t)
	_, err := fleet.Open(t.Context(), p.connect("search"), fleet.Options{Wait: 1})
	if !errors.Is(err, device.ErrNone) {
		t.Errorf("got %v", err)
	}
	p.worker("a", &fakeGPU{})
	p.pool(1)
	_, err = fleet.Open(t.Context(), p.connect("search"), fleet.Options{Wait: 300e6, GPU: "B200"})
	if want := `no worker with "B200" can be used: a has Fake 100: no such device`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Two searches share the workers, and neither sees the other's trials.
func TestTwoSearchesOnOnePool(t *testing.T) {
	p := newPlace(t)
	p.worker("a", &fakeGPU{})
	p.worker("b", &fakeGPU{})
	results := make(chan *tuner.Result, 2)
	for range 2 {
		d := p.pool(2)
		go func() {
			r, err := tuner.Search(t.Context(), toyProblem(t), d, tuner.Options{Strategy: "random"})
			if err != nil {
				t.Error(err)
			}
			results <- r
		}()
	}
	for range 2 {
		if r := <-results; r != nil {
			mustBeWhole(t, r)
		}
	}
}

// A worker refuses a problem that does not fit into its memory. If two problems fit only one at a time, the worker
// closes the problem that has been unused for longer.
func TestWorkersMemory(t *testing.T) {
	p := newPlace(t)
	gpu := &fakeGPU{}
	p.worker("a", gpu, func(o *fleet.WorkerOptions) { o.Memory = 600 << 20 })
	all := p.pool(1)
	r := search(t, all, tuner.Options{Strategy: "random", Budget: 3})
	if r.Winner == nil {
		t.Error("no winner")
	}
	tight := newPlace(t)
	tight.worker("a", &fakeGPU{}, func(o *fleet.WorkerOptions) { o.Memory = 100 })
	if _, err := tuner.Search(t.Context(), toyProblem(t), tight.pool(1), tuner.Options{}); err == nil || !strings.Contains(err.Error(), "a worker here may use") {
		t.Errorf("got %v", err)
	}
}

// Two workers cannot have the same name at once. A worker that has ended frees its name.
func TestNamesAreTakenOnce(t *testing.T) {
	p := newPlace(t)
	stop, ended := p.worker("a", &fakeGPU{})
	p.pool(1)
	_, second := p.worker("a", &fakeGPU{})
	if err := <-second; err == nil || !strings.Contains(err.Error(), "there is a worker a already") {
		t.Errorf("got %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("a worker that was ended says %v", err)
	}
	b := p.connect("look")
	await(t, "the name to be free", func() bool {
		all, err := b.Look(t.Context())
		return err == nil && len(all) == 0
	})
	_, third := p.worker("a", &fakeGPU{})
	select {
	case err := <-third:
		t.Errorf("the name is not free: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
}

// A configuration that ends every worker that runs it counts as crashed, and the search goes on.
func TestDeliveryLimit(t *testing.T) {
	p := newPlace(t)
	p.options = quick
	deadly := func(_ context.Context, c space.Configuration) (trial.Outcome, error) {
		if number(c, "a") == 5 && number(c, "b") == 5 {
			return trial.Outcome{}, fmt.Errorf("the GPU has fallen off the bus")
		}
		return bowl(c), nil
	}
	for i := range 5 {
		p.worker(fmt.Sprint("w", i), &fakeGPU{evaluate: deadly})
	}
	r := search(t, p.pool(5), tuner.Options{Strategy: "random"})
	if r.ByStatus[trial.Crashed] != 1 || r.ByStatus[trial.OK] != 143 {
		t.Errorf("by status: %v", r.ByStatus)
	}
	for _, one := range r.Trials {
		if one.Status == trial.Crashed && (number(one.Configuration, "a") != 5 || !strings.Contains(one.Message, "handed out 2 times")) {
			t.Errorf("%s: %s", one.Configuration, one.Message)
		}
	}
}

// When the last worker ends, the search ends with that worker's error.
func TestLastWorkerEnds(t *testing.T) {
	p := newPlace(t)
	p.worker("a", &fakeGPU{evaluate: func(context.Context, space.Configuration) (trial.Outcome, error) {
		return trial.Outcome{}, fmt.Errorf("the GPU has fallen off the bus")
	}})
	_, err := tuner.Search(t.Context(), toyProblem(t), p.pool(1, func(o *fleet.Options) { o.Patience = 200 * time.Millisecond }), tuner.Options{})
	if err == nil || !strings.Contains(err.Error(), "fallen off the bus") {
		t.Errorf("got %v", err)
	}
}

// A worker whose answers cannot be decoded leaves the pool, and another worker does its jobs.
func TestSenselessAnswers(t *testing.T) {
	p := newPlace(t)
	p.worker("a", &fakeGPU{evaluate: slowBowl})
	p.worker("b", &fakeGPU{evaluate: slowBowl})
	d := p.pool(2)
	b := p.connect("rogue")
	_, err := b.Conn.Subscribe(fleet.WorkerSubject("a"), func(msg *nats.Msg) { // answers faster than the worker
		if msg.Reply == "" { // the message is one of these answers
			return
		}
		for _, answer := range []string{`{"worker": "a", "outcome": {"status": "fine"}}`, "{", strings.Repeat("[", 1<<17)} {
			_ = b.Conn.Publish(msg.Reply, []byte(answer))
			_ = b.Conn.Publish(fleet.WorkerSubject("a"), []byte(answer))
		}
	})
	must.OK(t, err)
	must.OK(t, b.Conn.Flush())
	mustBeWhole(t, search(t, d, tuner.Options{Strategy: "random"}))
	if got := fmt.Sprint(d.Workers()); got != "[b]" {
		t.Errorf("the workers are %s", got)
	}
}

// A worker drops a job that lacks a part that its kind needs, or whose kind no worker accepts, and goes on with other
// jobs. The test includes a changed job of kind Open, which once ended the worker.
func TestChangedJobs(t *testing.T) {
	p := newPlace(t)
	gpu := &fakeGPU{}
	p.worker("a", gpu)
	d := p.pool(1)
	problem := toyProblem(t)
	b, c := p.connect("rogue"), problem.Defaults(t.Context())[0]
	heard := make(chan remote.Request, 1000)
	_, err := b.Conn.Subscribe(fleet.WorkerSubject("a"), func(msg *nats.Msg) {
		if q, err := remote.Decode[remote.Request](msg.Data); err == nil {
			heard <- q
		}
	})
	if err == nil {
		err = b.Conn.Flush()
	}
	must.OK(t, err)
	s, err := d.Open(t.Context(), problem, nil, device.ProtocolFor(problem.Operator)) // so that the problem is known
	must.OK(t, err)
	defer s.Close()
	kernel, err := problem.Kernel(c)
	must.OK(t, err)
	whole := <-heard
	whole.Configuration, whole.Digest = c, kernel.Digest()
	folder, jobs := t.TempDir(), 0 // whose files are none of a search's elsewhere
	for _, kind := range []remote.Kind{remote.Describe, remote.Compile, remote.Open, remote.Evaluate, remote.Check, remote.Refill, remote.Launch, remote.Close, "", "other"} {
		for _, change := range []func(*remote.Request){
			func(*remote.Request) {},
			func(r *remote.Request) { r.Digest = "" },
			func(r *remote.Request) { r.Digest = strings.Repeat("0", 64) },
			func(r *remote.Request) { r.Problem = "S.999" },
			func(r *remote.Request) { r.Configuration = space.Configuration{} },
			func(r *remote.Request) { r.Template = "another" },
			func(r *remote.Request) { r.Inputs = device.Inputs{} },
			func(r *remote.Request) { r.Opening = &remote.Opening{Protocol: device.DefaultProtocol()} },
			func(r *remote.Request) { r.Check.Leave = folder },
		} {
			changed := whole
			changed.Kind = kind
			jobs++
			changed.ID = fmt.Sprint("rogue.", jobs)
			change(&changed)
			data, err := json.Marshal(changed)
			if err == nil {
				err = b.Conn.Publish(fleet.WorkerSubject("a"), data)
			}
			must.OK(t, err)
		}
	}
	mustBeWhole(t, search(t, d, tuner.Options{Strategy: "random"}))
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("the worker left %v, %v", left, err)
	}
	if got := fmt.Sprint(d.Workers()); got != "[a]" {
		t.Errorf("the workers are %s", got)
	}
}

// A worker goes on after its own code has panicked over a job.
func TestPanicOfAJob(t *testing.T) {
	p := newPlace(t)
	p.worker("a", &fakeGPU{evaluate: func(_ context.Context, c space.Configuration) (trial.Outcome, error) {
		if number(c, "a") == 5 && number(c, "b") == 5 {
			panic("index out of range")
		}
		return bowl(c), nil
	}})
	r := search(t, p.pool(1), tuner.Options{Strategy: "random"})
	if r.ByStatus[trial.Crashed] != 1 || r.ByStatus[trial.OK] != 143 {
		t.Errorf("by status: %v", r.ByStatus)
	}
	for _, one := range r.Trials {
		if want := "the worker a met a fault of its own: index out of range"; one.Status == trial.Crashed && one.Message != want {
			t.Errorf("it says %q, want %q", one.Message, want)
		}
	}
}
