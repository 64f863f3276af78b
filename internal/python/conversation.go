package python

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"autotune/internal/worker"
)

// Conversation is a running Python program that answers one job after another. The program reads jobs as lines of JSON
// on its standard input, and writes each answer as a line to file descriptor 3.
type Conversation struct {
	command *exec.Cmd
	jobs    io.WriteCloser
	answers *os.File
	lines   *bufio.Reader
	said    *worker.Output
	ended   chan error
}

const longestAnswer = 1 << 20

// Begin starts the Python program; its field Limit has no effect. Begin returns ErrMissing if there is no python3. The
// caller must close the Conversation.
func (p Program) Begin(ctx context.Context) (*Conversation, error) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		return nil, ErrMissing
	}
	answers, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	command, said := exec.CommandContext(ctx, interpreter, "-c", p.text()), &worker.Output{}
	command.Dir, command.Stdout, command.Stderr = p.Dir, said, said
	worker.OwnGroup(command)
	c := &Conversation{command: command, answers: answers, said: said, ended: make(chan error, 1)}
	c.lines = bufio.NewReader(io.LimitReader(answers, longestAnswer))
	command.ExtraFiles = []*os.File{theirs}
	if c.jobs, err = command.StdinPipe(); err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start python3: %w", err), answers.Close())
	}
	go func() {
		err := command.Wait()
		_ = answers.SetReadDeadline(time.Now().Add(endGrace)) // a process that the program left behind may hold its end of the pipe
		c.ended <- err
	}()
	return c, nil
}

// Ask sends the program a job and reads the answer. Ask returns ErrTime after the time limit, and an *EndedError if the
// program ends without an answer.
func (c *Conversation) Ask(job, answer any, limit time.Duration) error {
	text, err := json.Marshal(job)
	if err != nil {
		return fmt.Errorf("describe a job to python3: %w", err)
	}
	if err := c.answers.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	if _, err := c.jobs.Write(append(text, '\n')); err != nil {
		return c.lost()
	}
	said, err := c.lines.ReadBytes('\n')
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && len(c.ended) == 0:
		return ErrTime
	case err != nil:
		return c.lost()
	}
	c.lines.Reset(io.LimitReader(c.answers, longestAnswer))
	if err := json.Unmarshal(said, answer); err != nil {
		return fmt.Errorf("python3 answered what is no JSON: %w", err)
	}
	return nil
}

// endGrace is how long a program that no longer answers may take to end by itself.
const endGrace = time.Second

func (c *Conversation) lost() (err error) {
	select {
	case err = <-c.ended:
	case <-time.After(endGrace):
		worker.EndGroup(c.command)
		err = <-c.ended
	}
	c.ended <- err
	return &EndedError{endOf(err), lastOf(c.said.String())}
}

func (c *Conversation) Close() error {
	_ = c.jobs.Close() // the program may have ended already
	worker.EndGroup(c.command)
	c.ended <- <-c.ended
	return c.answers.Close()
}
