package pool_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"autotune/device/compile"
	"autotune/device/recording"
	"autotune/device/remote/broker"
	"autotune/device/remote/pool"
	"autotune/device/remote/poolworker"
	"autotune/device/trial"
	"autotune/internal/test/toy"
	"autotune/space"
	"autotune/tuner"
	"autotune/tuner/final"
)

// recorded is the recording whose durations the workers take.
const recorded = "h200-conv2d-16x16x1024x1024-tf32-c4dcb65f.json.gz"

// durations are what the trials of a recording took: to compile, and to verify and time.
func durations() (compiling, evaluating []time.Duration, err error) {
	r, err := recording.LoadFS(recording.Shipped(), recorded)
	if err != nil {
		return nil, nil, err
	}
	ms := func(x float64) time.Duration { return time.Duration(x * float64(time.Millisecond)) }
	for _, one := range r.Trials {
		if one.Status == trial.OK {
			compiling = append(compiling, ms(one.Phases.CompileMS))
			evaluating = append(evaluating, ms(one.Phases.VerifyMS+one.Phases.MeasureMS))
		}
	}
	return compiling, evaluating, nil
}

// pick is one of them, the same for the same key.
func pick(all []time.Duration, key string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(key)) // a hash's Write does not fail
	return all[h.Sum32()%uint32(len(all))]
}

// sleeper is a fakeGPU that takes as long as was recorded.
type sleeper struct {
	*fakeGPU
	compiling []time.Duration
}

func (s *sleeper) Compiler() compile.Compiler { return s }

func (s *sleeper) Compile(ctx context.Context, r compile.Request) (*compile.Binary, error) {
	time.Sleep(pick(s.compiling, r.Kernel.Digest()))
	return s.fakeGPU.Compile(ctx, r)
}

// The number of workers that a process is to have.
const countVariable = "POOL_TEST_COUNT"

// sleepers are workers in one process, which take as long as was recorded.
func sleepers() error {
	compiling, evaluating, err := durations()
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(os.Getenv(countVariable))
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(context.Background())
	for i := range n {
		gpu := &sleeper{compiling: compiling, fakeGPU: &fakeGPU{evaluate: func(_ context.Context, c space.Configuration) (trial.Outcome, error) {
			time.Sleep(pick(evaluating, c.Key()))
			return bowl(c), nil
		}}}
		group.Go(func() error {
			b, err := broker.Connect(ctx, broker.Login{URL: os.Getenv(urlVariable)}, "worker", broker.Options{})
			if err != nil {
				return err
			}
			defer b.Close()
			return poolworker.Serve(ctx, b, gpu, poolworker.Options{Name: fmt.Sprint("w", i), Compilers: sleepersCompilers})
		})
	}
	return group.Wait()
}

// sleepersCompilers is how many kernels each worker compiles at once, as on a host with
// sixteen cores a GPU.
const sleepersCompilers = 16

// processTime is what a process has taken of its processors; 0 if that cannot be read.
func processTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
	const user, system, tick = 11, 12, 10 * time.Millisecond
	var total time.Duration
	for _, at := range []int{user, system} {
		n, _ := strconv.Atoi(fields[at])
		total += time.Duration(n) * tick
	}
	return total
}

// BenchmarkWorkers is what more workers are worth where compiling and evaluating take what
// was recorded. Search, server and workers have a process of their own each. It reports
// trials a second, the share of the time in which workers evaluated, and a trial's
// processor time in each of the three.
func BenchmarkWorkers(b *testing.B) {
	_, evaluating, err := durations()
	if err != nil {
		b.Fatal(err)
	}
	wide := strings.NewReplacer("a: ["+upTo(12)+"]", "a: ["+upTo(250)+"]", "b: ["+upTo(12)+"]", "b: ["+upTo(250)+"]").Replace(toyText)
	for _, workers := range []int{1, 2, 8, 64, 512} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			s := newServer(b)
			child, _ := start(b, "sleepers", urlVariable+"="+s.url, countVariable+"="+strconv.Itoa(workers))
			connection, err := broker.Connect(b.Context(), broker.Login{URL: s.url}, "search", broker.Options{})
			if err != nil {
				b.Fatal(err)
			}
			d, err := pool.Open(b.Context(), connection, pool.Options{All: workers, Wait: 3 * time.Minute})
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			problem, trials, slept, searching := toy.Problem(b, wide, 64), 0, time.Duration(0), time.Duration(0)
			processes := map[string]int{"search": os.Getpid(), "server": s.process.Process.Pid, "workers": child.Process.Pid}
			before := map[string]time.Duration{}
			for name, pid := range processes {
				before[name] = processTime(pid)
			}
			for b.Loop() {
				o := tuner.Options{Strategy: "random", Gating: final.GateNone, Budget: 60 * workers, Time: 40 * time.Second}
				r, err := tuner.Search(b.Context(), problem, d, o)
				if err != nil {
					b.Fatal(err)
				}
				trials += len(r.Trials)
				searching += time.Duration((r.Seconds - r.Spent.Finals) * float64(time.Second))
				for _, one := range r.Trials {
					slept += pick(evaluating, one.Configuration.Key())
				}
			}
			b.ReportMetric(float64(trials)/searching.Seconds(), "trials/s")
			b.ReportMetric(float64(slept)/float64(searching)/float64(workers), "busy")
			for name, pid := range processes {
				b.ReportMetric((processTime(pid)-before[name]).Seconds()*1000/float64(trials), name+"-ms/trial")
			}
		})
	}
}

// upTo are the numbers from 1.
func upTo(n int) string {
	var all []string
	for i := range n {
		all = append(all, strconv.Itoa(i+1))
	}
	return strings.Join(all, ", ")
}
