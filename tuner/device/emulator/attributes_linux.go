package emulator

import "syscall"

// childAttributes give a program its own process group, and let it die with us.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
