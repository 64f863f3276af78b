//go:build !linux

package worker

import (
	"os"
	"syscall"
)

// ChildAttributes gives a child its own process group.
func ChildAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// claimStdout reserves standard output for the responses; what Go code prints goes to standard error.
func claimStdout() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}
