package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"autotune/internal/output"
	"autotune/operator"
	"autotune/pack/capture"
)

const captureName = "capture"

func captureCommand() *cli.Command {
	var path string
	return command(captureName+" COMMAND...", "run a program with PyTorch, and write the problems that it has",
		"Runs the command as it is, watches the functions of PyTorch's that it calls, and writes those that "+
			"operators can serve as a problems file, which `search` and `tune` read. Its output, its exit code and signals "+
			"are the command's own.",
		func(_ context.Context, l line) error { return captured(l.arguments, path) },
		textFlag(&path, "output", "problems.yaml", "write the problems to `FILE`", "o"))
}

// endedError says that a captured program ended with an exit code other than 0, which autotune returns, too.
type endedError struct{ code int }

func (e *endedError) Error() string { return fmt.Sprintf("the program ended with %d", e.code) }

func captured(words []string, path string) (err error) {
	if len(words) == 0 {
		return badInput(errors.New("which program? `autotune capture -- python3 train.py` runs one"))
	}
	if path == output.Standard {
		return badInput(errors.New("--output -: standard output is the program's; name a file"))
	}
	if err := output.Check(path); err != nil {
		return badInput(fmt.Errorf("--output %s: %w", path, err))
	}
	operators, err := operator.Operators()
	if err != nil {
		return err
	}
	watcher, err := capture.Open(tool(), operators)
	if err != nil {
		return badInput(err)
	}
	defer func() { err = errors.Join(err, watcher.Close()) }()
	code, err := runProgram(words, watcher.Environment(os.Environ()))
	if err != nil {
		return badInput(err)
	}
	err = writeSeen(watcher, path)
	if code != 0 { // the program's code wins over a failure to write the file
		if err != nil {
			say("autotune: " + explain(err))
		}
		return &endedError{code}
	}
	return err
}

// writeSeen writes a program's PyTorch calls to a file. If the program made no PyTorch call, writeSeen leaves an
// earlier file unchanged.
func writeSeen(watcher *capture.Watcher, path string) error {
	seen, err := watcher.Read()
	if err != nil {
		return badInput(err)
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 &&
		len(seen.Problems)+len(seen.Unserved) == 0 {
		say("autotune: " + path + " is as it was, since no call of PyTorch's was seen: " + cmp.Or(strings.Join(seen.Notes,
			"; "), "the program made none"))
		return nil
	}
	if err := output.To(path, func(w io.Writer) error { return seen.WriteProblems(w, time.Now()) }); err != nil {
		return badInput(err)
	}
	return seen.Show(os.Stderr, path)
}

// runProgram runs a program with this process's input and output, passes signals on to it, and returns its exit code.
// As in a shell, the exit code is 128 plus the signal's number if a signal ended the program.
func runProgram(words, environment []string) (code int, err error) {
	command := exec.Command(words[0], words[1:]...)
	command.Env, command.Stdin, command.Stdout, command.Stderr = environment, os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1,
		syscall.SIGUSR2)
	defer signal.Stop(signals)
	if err := command.Start(); err != nil {
		return 0, fmt.Errorf("cannot run %s: %w", words[0], err)
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	for {
		select {
		case s := <-signals:
			if !fromTerminal(s) {
				_ = command.Process.Signal(s) // a process that has ended cannot be signalled
			}
		case err := <-done:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, fmt.Errorf("run %s: %w", words[0], err)
			}
			if status, ok := command.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return 128 + int(status.Signal()), nil
			}
			return command.ProcessState.ExitCode(), nil
		}
	}
}

// fromTerminal tells whether a signal is one that the terminal's keys send, to this process and to the captured program
// alike.
func fromTerminal(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	terminal, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
