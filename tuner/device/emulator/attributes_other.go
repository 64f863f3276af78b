//go:build !linux

package emulator

import "syscall"

// childAttributes give a program its own process group.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
