package worker

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ChildAttributes gives a child its own process group and asks the kernel to
// kill it when the thread that started it ends.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// claimStdout reserves standard output for the responses and redirects file descriptor 1 to standard error, for C
// libraries as well as for Go code.
func claimStdout() (*os.File, error) {
	own, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.Dup3(2, 1, 0); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(own), "responses"), nil
}
