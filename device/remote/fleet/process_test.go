package fleet_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"autotune/device"
	"autotune/device/remote/fleet"
	"autotune/device/trial"
	"autotune/internal/test/endurance"
	"autotune/internal/worker"
	"autotune/space"
	"autotune/tuner"
)

// The roles in which the test starts itself again, and what they are told.
const (
	roleVariable = "POOL_TEST_ROLE"
	urlVariable  = "POOL_TEST_URL"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "worker":
		err = workerProcess()
	case "server":
		err = serverProcess()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// evaluation is what one takes in the tests of kills.
const evaluation = 10 * time.Millisecond

func slowBowl(ctx context.Context, c space.Configuration) (trial.Outcome, error) {
	select {
	case <-time.After(evaluation):
		return bowl(c), nil
	case <-ctx.Done():
		return trial.Outcome{}, ctx.Err()
	}
}

// workerProcess is a worker with a fake GPU.
func workerProcess() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b, err := fleet.Connect(fleet.Login{URL: os.Getenv(urlVariable)}, "worker", quick)
	if err != nil {
		return err
	}
	defer b.Close()
	return fleet.Serve(ctx, b, &fakeGPU{evaluate: slowBowl}, fleet.WorkerOptions{Name: fmt.Sprint("p", os.Getpid())})
}

// serverProcess is a server that says where it is.
func serverProcess() error {
	port := server.RANDOM_PORT
	if given := os.Getenv(urlVariable); given != "" {
		_, text, _ := net.SplitHostPort(strings.TrimPrefix(given, "nats://"))
		port, _ = strconv.Atoi(text)
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return fmt.Errorf("the server does not come up")
	}
	fmt.Println(s.ClientURL())
	s.WaitForShutdown()
	return nil
}

// start starts this test again in a role; it is killed at the end.
func start(t testing.TB, role string, settings ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(executable)
	c.Env = append(append(os.Environ(), roleVariable+"="+role), settings...)
	c.Stderr = os.Stderr
	c.SysProcAttr = worker.ChildAttributes()
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(c) })
	return c, out
}

// kill is kill -9.
func kill(c *exec.Cmd) {
	_ = c.Process.Signal(syscall.SIGKILL)
	_ = c.Wait()
}

// realServer is a server in a process of its own.
type realServer struct {
	t       testing.TB
	url     string
	process *exec.Cmd
}

func newServer(t testing.TB) *realServer {
	s := &realServer{t: t}
	s.start()
	return s
}

// start starts it, the second time where it was.
func (s *realServer) start() {
	s.t.Helper()
	var out io.Reader
	s.process, out = start(s.t, "server", urlVariable+"="+s.url)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.t.Fatal("the server says nothing: ", err)
	}
	s.url = strings.TrimSpace(line)
}

func (s *realServer) connect(url string) *fleet.Broker {
	s.t.Helper()
	b, err := fleet.Connect(fleet.Login{URL: url}, "test", quick)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

func (s *realServer) pool() *fleet.Pool {
	s.t.Helper()
	p, err := fleet.Open(s.t.Context(), s.connect(s.url), fleet.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = p.Close() })
	return p
}

func needProcesses(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes and kills them")
	}
}

// Workers are killed at random and others come: nothing is lost, nothing is doubled, and
// the winner is one device's.
func TestKilledWorkers(t *testing.T) {
	needProcesses(t)
	unlucky := 0
	for round := range endurance.Times(1, 20) {
		s := newServer(t)
		var workers []*exec.Cmd
		more := func() {
			c, _ := start(t, "worker", urlVariable+"="+s.url)
			workers = append(workers, c)
		}
		for range 4 {
			more()
		}
		d := s.pool()
		rng := rand.New(rand.NewPCG(7, uint64(round)))
		ended := make(chan struct{})
		var killer sync.WaitGroup
		killed := 0
		killer.Go(func() {
			for at := range 4 { // each of the first four
				select {
				case <-time.After(time.Duration(100+rng.IntN(300)) * time.Millisecond):
				case <-ended:
					return
				}
				kill(workers[at])
				killed++
				more()
			}
		})
		r := search(t, d, tuner.Options{Strategy: "random", Seed: uint64(round + 1)})
		close(ended)
		killer.Wait()
		t.Logf("%d workers were killed", killed)
		// A job that two of the killed had is not handed out a third time.
		if slices.ContainsFunc(r.Trials, func(one trial.Trial) bool { return strings.Contains(one.Message, "handed out 2 times") }) {
			if unlucky++; unlucky > 1 {
				t.Error("a job was with two killed workers, again")
			}
			continue
		}
		mustBeWhole(t, r)
		if killed == 0 {
			t.Error("the search was done before a worker was killed")
		}
	}
}

// The server is killed and started again where it was.
func TestKilledServer(t *testing.T) {
	needProcesses(t)
	for range endurance.Times(1, 10) {
		s := newServer(t)
		for range 2 {
			start(t, "worker", urlVariable+"="+s.url)
		}
		d := s.pool()
		var once sync.Once
		evaluated := 0
		r := search(t, d, tuner.Options{Strategy: "random", Evaluated: func(trial.Trial) {
			if evaluated++; evaluated == 40 {
				once.Do(func() {
					kill(s.process)
					s.start()
				})
			}
		}})
		mustBeWhole(t, r)
	}
}

// gate is a way to a server that can be closed without a word.
type gate struct {
	url    string
	closed atomic.Bool
}

func newGate(t *testing.T, to string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	g := &gate{url: "nats://" + l.Addr().String()}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", strings.TrimPrefix(to, "nats://"))
			if err != nil {
				in.Close()
				continue
			}
			go g.pass(in, out)
			go g.pass(out, in)
		}
	}()
	return g
}

// pass hands bytes on; while the gate is closed they wait.
func (g *gate) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		for g.closed.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// A worker that nobody hears of for a while loses its jobs to another, and what it
// answers later is dropped.
func TestPartition(t *testing.T) {
	needProcesses(t)
	long := time.Duration(endurance.Times(1, 20)) * time.Second
	s := newServer(t)
	g := newGate(t, s.url)
	far, near := &fakeGPU{evaluate: slowBowl}, &fakeGPU{evaluate: slowBowl}
	for name, one := range map[string]*fakeGPU{"far": far, "near": near} {
		url := s.url
		if name == "far" {
			url = g.url
		}
		b := s.connect(url)
		go func() {
			_ = fleet.Serve(t.Context(), b, one, fleet.WorkerOptions{Name: name})
			b.Close()
		}()
	}
	d := s.pool()
	for len(d.Workers()) < 2 {
		time.Sleep(10 * time.Millisecond)
	}
	evaluated := 0
	r := search(t, d, tuner.Options{Strategy: "random", Evaluated: func(trial.Trial) {
		if evaluated++; evaluated == 30 {
			g.closed.Store(true)
			time.AfterFunc(long, func() { g.closed.Store(false) })
		}
	}})
	mustBeWhole(t, r)
	twice := 0
	for key, n := range far.runs() {
		if near.runs()[key] > 0 && n > 0 {
			twice++
		}
	}
	t.Logf("%d configurations ran on both", twice)
}

// A search's connection is lost for a while.
func TestPartitionOfTheSearch(t *testing.T) {
	needProcesses(t)
	s := newServer(t)
	start(t, "worker", urlVariable+"="+s.url)
	g := newGate(t, s.url)
	d, err := fleet.Open(t.Context(), s.connect(g.url), fleet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	evaluated := 0
	r := search(t, d, tuner.Options{Strategy: "random", Evaluated: func(trial.Trial) {
		if evaluated++; evaluated == 30 {
			g.closed.Store(true)
			time.AfterFunc(time.Duration(endurance.Times(1, 20))*time.Second, func() { g.closed.Store(false) })
		}
	}})
	mustBeWhole(t, r)
}

// A server that is gone for good, with a word or without, is told of within 3 s. The search
// ends with what it has: when the connection has been tried long enough, or its time is up.
func TestServerGoneForGood(t *testing.T) {
	needProcesses(t)
	for name, test := range map[string]struct {
		limit, time, most time.Duration
		silent            bool
	}{
		"limit":        {limit: time.Second, most: 6 * time.Second},
		"limit silent": {limit: time.Second, silent: true, most: 9 * time.Second},
		"time":         {limit: time.Minute, time: 3 * time.Second, most: 5 * time.Second},
		"time silent":  {limit: time.Minute, time: 6 * time.Second, silent: true, most: 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait
			s := newServer(t)
			worker, _ := start(t, "worker", urlVariable+"="+s.url)
			defer kill(worker)
			g := newGate(t, s.url)
			defer g.closed.Store(false)
			o, said := quick, make(chan string, 100)
			var lost time.Time
			o.Limit, o.Say = test.limit, func(text string) {
				if took := time.Since(lost); took > 4*time.Second { // 3, and some for a busy machine
					t.Errorf("it was said after %s", took)
				}
				said <- text
			}
			b, err := fleet.Connect(fleet.Login{URL: g.url}, "test", o)
			if err != nil {
				t.Fatal(err)
			}
			d, err := fleet.Open(t.Context(), b, fleet.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			evaluated := 0
			r, err := tuner.Search(t.Context(), toyProblem(t), d, tuner.Options{Strategy: "random", Time: test.time, Evaluated: func(trial.Trial) {
				if evaluated++; evaluated == 20 {
					lost = time.Now()
					if g.closed.Store(true); !test.silent {
						kill(s.process)
						g.closed.Store(false)
					}
				}
			}})
			if took := time.Since(lost); took > test.most {
				t.Errorf("the search went on for %s", took)
			}
			if !errors.Is(err, device.ErrGone) || r == nil || r.Winner == nil || r.Stop != tuner.Interrupted || !strings.Contains(strings.Join(r.Warnings, " "), "the search ended early: ") {
				t.Errorf("got %v and %+v", err, r)
			}
			select {
			case text := <-said:
				if !strings.Contains(text, "the connection to "+g.url+" is lost (") || !strings.Contains(text, "it is tried again for "+test.limit.String()+" at most") {
					t.Errorf("said %q", text)
				}
			default:
				t.Error("nothing was said")
			}
		})
	}
}

// The worker says that it has lost the server, and that it is there again.
func TestWorkerSaysThatTheServerIsGone(t *testing.T) {
	needProcesses(t)
	s := newServer(t)
	o, said := quick, make(chan string, 100)
	o.Say = func(text string) { said <- text }
	b, err := fleet.Connect(fleet.Login{URL: s.url}, "test", o)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = fleet.Serve(t.Context(), b, &fakeGPU{}, fleet.WorkerOptions{Name: "a"})
		b.Close()
	}()
	s.pool()
	kill(s.process)
	hear := func(want string) {
		t.Helper()
		select {
		case text := <-said:
			if !strings.Contains(text, want) {
				t.Errorf("said %q, want %q", text, want)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("nothing was said of %q", want)
		}
	}
	hear("it is tried again until it is there again")
	s.start()
	hear("is there again after ")
	mustBeWhole(t, search(t, s.pool(), tuner.Options{Strategy: "random"}))
}
