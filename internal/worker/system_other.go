//go:build !linux

package worker

import (
	"os"
	"syscall"
)

// ChildAttributes gives a child its own process group.
func ChildAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// claimStdout keeps standard output for the responses; Go code that prints lands on standard error.
func claimStdout() (*os.File, error) {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out, nil
}
