package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"autotune/internal/test/must"
	"autotune/internal/worker"
)

// order is a request that tells the test worker what to do.
type order struct {
	Do   string
	Text string
	Data []byte
}

type answer struct {
	Text string
	Data []byte
	PID  int
}

func TestMain(m *testing.M) {
	worker.Dispatch(map[string]worker.Func{
		"test": func(ctx context.Context, in io.Reader, out io.Writer) error {
			return worker.Serve(ctx, in, out, obey)
		},
		"fails": func(context.Context, io.Reader, io.Writer) error { return errors.New("cannot begin") },
	})
	if os.Getenv("TEST_PARENT") != "" {
		parentOfHangingWorker()
		return
	}
	os.Exit(m.Run())
}

func obey(_ context.Context, o order) (answer, error) {
	switch o.Do {
	case "echo":
		return answer{Text: o.Text, Data: o.Data, PID: os.Getpid()}, nil
	case "print":
		fmt.Println("this would garble the responses")
		return answer{Text: o.Text}, nil
	case "fail":
		return answer{}, errors.New(o.Text)
	case "panic":
		panic(o.Text)
	case "exit":
		fmt.Fprintln(os.Stderr, o.Text)
		os.Exit(7)
	case "segfault":
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	case "spam":
		for range 10000 {
			fmt.Fprintln(os.Stderr, "a line that says little")
		}
		panic(o.Text)
	case "hang":
		time.Sleep(time.Hour)
	case "variable":
		return answer{Text: os.Getenv(o.Text)}, nil
	case "group":
		return answer{PID: syscall.Getpgrp()}, nil
	}
	return answer{}, fmt.Errorf("unknown order %q", o.Do)
}

func start(t *testing.T, name string) *worker.Process {
	t.Helper()
	p, err := worker.Start(t.Context(), name)
	must.OK(t, err)
	t.Cleanup(func() { must.OK(t, p.Close()) })
	return p
}

func do(t *testing.T, p *worker.Process, o order) (answer, error) {
	t.Helper()
	return worker.Call[order, answer](t.Context(), p, o)
}

func mustEcho(t *testing.T, p *worker.Process, text string) answer {
	t.Helper()
	a, err := do(t, p, order{Do: "echo", Text: text})
	must.OK(t, err)
	if a.Text != text {
		t.Fatalf("echoed %q, want %q", a.Text, text)
	}
	return a
}

func TestEcho(t *testing.T) {
	p := start(t, "test")
	first := mustEcho(t, p, "first")
	for i := range 100 {
		if a := mustEcho(t, p, strconv.Itoa(i)); a.PID != first.PID || a.PID == os.Getpid() {
			t.Fatalf("answered by process %d, want the worker's %d", a.PID, first.PID)
		}
	}
}

func TestBigPayload(t *testing.T) {
	p := start(t, "test")
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // 16 MiB
	a, err := do(t, p, order{Do: "echo", Data: data})
	must.OK(t, err)
	if !bytes.Equal(a.Data, data) {
		t.Fatal("the payload came back changed")
	}
}

func TestHandlerErrorLeavesTheWorkerUsable(t *testing.T) {
	p := start(t, "test")
	_, err := do(t, p, order{Do: "fail", Text: "no such thing"})
	if err == nil || err.Error() != "no such thing" {
		t.Fatalf("got %v, want the handler's error", err)
	}
	mustEcho(t, p, "still here")
}

func TestPrintingDoesNotGarble(t *testing.T) {
	p := start(t, "test")
	if _, err := do(t, p, order{Do: "print"}); err != nil {
		t.Fatal(err)
	}
	mustEcho(t, p, "fine")
}

func TestDeath(t *testing.T) {
	tests := []struct {
		name, worker string
		order        order
		state        string
		message      string
	}{
		{"panic", "test", order{Do: "panic", Text: "lost my head"}, "exit status 2", "panic: lost my head"},
		{"exit", "test", order{Do: "exit", Text: "out of luck"}, "exit status 7", "out of luck"},
		{"segfault", "test", order{Do: "segfault"}, "exit status 2", "SIGSEGV"},
		{"panic after much output", "test", order{Do: "spam", Text: "at last"}, "exit status 2", "panic: at last"},
		{"worker fails", "fails", order{Do: "echo"}, "exit status 1", "worker fails: cannot begin"},
		{"unknown worker", "nobody", order{Do: "echo"}, "exit status 1", `no worker is called "nobody"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := start(t, tt.worker)
			_, err := do(t, p, tt.order)
			var died *worker.DiedError
			if !errors.As(err, &died) {
				t.Fatalf("got %v, want a DiedError", err)
			}
			if died.ExitState != tt.state || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("state %q, error %q; want %q and %q", died.ExitState, err, tt.state, tt.message)
			}
			if len(died.Stderr) > 16<<10 {
				t.Errorf("kept %d bytes of standard error", len(died.Stderr))
			}
			if p.Alive() {
				t.Error("the worker counts as alive")
			}
			if _, err := do(t, p, order{Do: "echo"}); !errors.As(err, &died) {
				t.Errorf("the next call gives %v, want a DiedError", err)
			}
		})
	}
}

func TestHangIsKilledAtTheDeadline(t *testing.T) {
	p := start(t, "test")
	mustEcho(t, p, "warm")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := worker.Call[order, answer](ctx, p, order{Do: "hang"})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want DeadlineExceeded", err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if p.Alive() {
		t.Error("the worker survived its deadline")
	}
}

func TestWaitingForATurnLeavesTheWorkerAlone(t *testing.T) {
	p := start(t, "test")
	long, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	var hung sync.WaitGroup
	hung.Go(func() { _, _ = worker.Call[order, answer](long, p, order{Do: "hang"}) })
	time.Sleep(100 * time.Millisecond)

	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := worker.Call[order, answer](short, p, order{Do: "echo"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want DeadlineExceeded", err)
	}
	if !p.Alive() {
		t.Error("a call that never had its turn killed the worker")
	}
	hung.Wait()
}

func TestConcurrentCalls(t *testing.T) {
	p := start(t, "test")
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			text := strconv.Itoa(i)
			a, err := worker.Call[order, answer](t.Context(), p, order{Do: "echo", Text: text})
			if err != nil || a.Text != text {
				t.Errorf("echoed %q, %v; want %q", a.Text, err, text)
			}
		})
	}
	group.Wait()
}

func TestOwnProcessGroup(t *testing.T) {
	p := start(t, "test")
	a, err := do(t, p, order{Do: "group"})
	must.OK(t, err)
	if a.PID == syscall.Getpgrp() {
		t.Error("the worker shares its parent's process group, so Ctrl-C would reach it")
	}
}

func TestKillFromAnotherGoroutine(t *testing.T) {
	p := start(t, "test")
	time.AfterFunc(50*time.Millisecond, p.Kill)
	_, err := do(t, p, order{Do: "hang"})
	var died *worker.DiedError
	if !errors.As(err, &died) {
		t.Fatalf("got %v, want a DiedError", err)
	}
}

func TestCloseEndsAHangingWorker(t *testing.T) {
	p := start(t, "test")
	var call sync.WaitGroup
	call.Go(func() { _, _ = worker.Call[order, answer](t.Context(), p, order{Do: "hang"}) })
	time.Sleep(50 * time.Millisecond)
	must.OK(t, p.Close())
	call.Wait()
}

func TestStartWithEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := worker.Start(ctx, "test"); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want Canceled", err)
	}
}

func TestStartInAWorkerThatDidNotDispatch(t *testing.T) {
	t.Setenv("AUTOTUNE_WORKER", "test")
	if _, err := worker.Start(t.Context(), "test"); err == nil {
		t.Fatal("a program that never dispatches would start itself without end")
	}
}

// parentOfHangingWorker starts a worker that hangs, prints the worker's process id and waits to be killed.
func parentOfHangingWorker() {
	p, err := worker.Start(context.Background(), "test")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	a, _ := worker.Call[order, answer](context.Background(), p, order{Do: "group"}) // which the worker leads
	go func() { _, _ = worker.Call[order, answer](context.Background(), p, order{Do: "hang"}) }()
	time.Sleep(50 * time.Millisecond)
	fmt.Println(a.PID)
	time.Sleep(time.Hour)
}

func TestWorkerDiesWithItsParent(t *testing.T) {
	executable, err := os.Executable()
	must.OK(t, err)
	parent := exec.Command(executable)
	parent.Env = append(os.Environ(), "TEST_PARENT=1")
	out, err := parent.StdoutPipe()
	must.OK(t, err)
	must.OK(t, parent.Start())
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	for range 100 {
		if gone(pid) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("worker %d outlives its parent", pid)
}

// gone tells whether a process has ended; a zombie, which nobody has waited for yet, counts as ended.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) != nil
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z") || strings.HasPrefix(after, "X")
}

// A program that runs the worker may write its report after the worker ends; Close waits for the worker and the
// program.
func TestUnderAnotherProgram(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report")
	p, err := worker.StartUnder(t.Context(), []string{"sh", "-c", `"$@"; sleep 2.5; echo "it ended with $?" >` + report, "sh"}, "test")
	must.OK(t, err)
	got, err := worker.Call[order, answer](t.Context(), p, order{Do: "echo", Text: "hello"})
	if err != nil || got.Text != "hello" {
		t.Errorf("%+v, %v", got, err)
	}
	must.OK(t, p.Close())
	if text, err := os.ReadFile(report); err != nil || string(text) != "it ended with 0\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := worker.StartUnder(t.Context(), []string{"/no/such/program"}, "test"); err == nil {
		t.Error("a program that is not there starts")
	}
}

// A worker whose output others read sees only the environment variables that it is given.
func TestStartWith(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "hunter2")
	t.Setenv("CUDA_HOME", "/cuda")
	p, err := worker.StartWith(t.Context(), worker.Environment("CUDA_*"), "test")
	must.OK(t, err)
	defer p.Close()
	for name, want := range map[string]string{"SECRET_TOKEN": "", "CUDA_HOME": "/cuda"} {
		a, err := worker.Call[order, answer](t.Context(), p, order{Do: "variable", Text: name})
		if err != nil || a.Text != want {
			t.Errorf("%s is %q, want %q; %v", name, a.Text, want, err)
		}
	}
}
