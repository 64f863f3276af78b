package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"autotune/internal/test/must"
)

// roleVariable is an environment variable that makes the test executable a second process of a store. The environment
// variable's value is "hold PATH", "write PATH FIRST" or "merge-and-rm PATH FROM".
const roleVariable = "STORE_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := strings.Fields(os.Getenv(roleVariable)); len(role) > 0 {
		if err := play(role); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// play is the child process: it opens the store and either holds it locked, or writes trials and prints the number of
// each stored trial.
func play(role []string) error {
	s, err := Open(context.Background(), role[1], Options{})
	if err != nil {
		return err
	}
	if role[0] == "hold" {
		return s.transact(context.Background(), false, func(opened) error {
			fmt.Println("open")
			time.Sleep(time.Hour)
			return nil
		})
	}
	fmt.Println("open")
	for role[0] == "merge-and-rm" {
		if err := mergeAndRemove(s, role[2]); err != nil {
			return err
		}
	}
	i, err := strconv.Atoi(role[2])
	if err != nil {
		return err
	}
	for ; ; i++ {
		if err := s.PutTrials(pool, []Entry{sample(i)}); err != nil {
			return err
		}
		fmt.Println(i)
	}
}

// second starts a second process of the test with the given role, and returns a scanner of the lines that the process
// prints.
func second(t *testing.T, role ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	executable, err := os.Executable()
	must.OK(t, err)
	command := exec.Command(executable)
	command.Env = append(os.Environ(), roleVariable+"="+strings.Join(role, " "))
	out, err := command.StdoutPipe()
	must.OK(t, err)
	must.OK(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "open" {
		t.Fatalf("the other process says %q", lines.Text())
	}
	return command, lines
}

func TestLockedByAnotherProcess(t *testing.T) {
	path := newPath(t)
	other, _ := second(t, "hold", path)
	begin := time.Now()
	_, err := Open(t.Context(), path, Options{Wait: 150 * time.Millisecond})
	var locked *LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("got %v, want a LockedError", err)
	}
	if len(locked.Holders) != 1 || locked.Holders[0] != fmt.Sprintf("process %d", other.Process.Pid) {
		t.Errorf("held by %v, want process %d", locked.Holders, other.Process.Pid)
	}
	if took := time.Since(begin); took < 150*time.Millisecond || took > 20*time.Second {
		t.Errorf("waited %v", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, path, Options{Wait: time.Hour}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want DeadlineExceeded", err)
	}
}

func TestWaitsForAnotherProcess(t *testing.T) {
	path := newPath(t)
	other, _ := second(t, "hold", path)
	time.AfterFunc(200*time.Millisecond, func() { _ = other.Process.Kill() })
	s, err := Open(t.Context(), path, Options{Wait: 30 * time.Second})
	must.OK(t, err)
	must.OK(t, s.Close())
}

func TestKilledWriters(t *testing.T) {
	path := newPath(t)
	next := 0
	for round := range 12 {
		writer, lines := second(t, "write", path, strconv.Itoa(next))
		kill := time.AfterFunc(time.Duration(5+17*round%60)*time.Millisecond, func() { _ = writer.Process.Kill() })
		for lines.Scan() {
			i, err := strconv.Atoi(lines.Text())
			if err != nil {
				t.Fatalf("the writer says %q", lines.Text())
			}
			next = i + 1
		}
		kill.Stop()
		_ = writer.Wait()
		checkAcknowledged(t, path, next)
	}
	if next == 0 {
		t.Skip("no writer lived long enough to write")
	}
}

func checkAcknowledged(t *testing.T, path string, n int) {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	must.OK(t, err)
	found := mustTrials(t, s, pool)
	for i := range n {
		if _, ok := found[sample(i).Provenance.Key()]; !ok {
			t.Errorf("trial %d was acknowledged and is lost", i)
		}
	}
	mustBeSound(t, s)
	must.OK(t, s.Close())
}

// Writers in several processes share the file: none waits until another ends, and no trial that was stored is lost.
func TestWritersSideBySide(t *testing.T) {
	const writers, each = 3, 25
	path := newPath(t)
	done := make(chan int, writers)
	for w := range writers {
		_, lines := second(t, "write", path, strconv.Itoa(w*1000))
		go func() {
			n := 0
			for n < each && lines.Scan() && lines.Text() == strconv.Itoa(w*1000+n) {
				n++
			}
			done <- n
		}()
	}
	for range writers {
		if n := <-done; n < each {
			t.Errorf("a writer came to %d of %d trials", n, each)
		}
	}
	s, err := Open(t.Context(), path, Options{})
	must.OK(t, err)
	defer s.Close()
	found := mustTrials(t, s, pool)
	for w := range writers {
		for i := range each {
			if _, ok := found[sample(w*1000+i).Provenance.Key()]; !ok {
				t.Errorf("trial %d was acknowledged and is lost", w*1000+i)
			}
		}
	}
}
