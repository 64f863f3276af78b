package worker

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// streamGrace is how long what a command left behind may hold its output.
const streamGrace = time.Second

// OwnGroup makes a command lead a process group of its own, which dies with its
// context and, where the system can, with this process. EndGroup belongs to it.
func OwnGroup(command *exec.Cmd) {
	command.SysProcAttr = ChildAttributes()
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = streamGrace
}

// EndGroup kills what a command of its own group left behind, once it has been
// waited for, and tells whether there was anything.
func EndGroup(command *exec.Cmd) bool {
	return command.Process != nil && syscall.Kill(-command.Process.Pid, syscall.SIGKILL) == nil
}

// killGroup kills a worker and what it started.
func killGroup(p *os.Process) {
	if syscall.Kill(-p.Pid, syscall.SIGKILL) != nil {
		_ = p.Kill()
	}
}
