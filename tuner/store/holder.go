package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// commandLength bounds the command line that a message shows.
const commandLength = 120

// lockedBy says who holds the file, as far as /proc tells.
func lockedBy(path string, waited time.Duration) *LockedError {
	e := &LockedError{Path: path, Waited: waited}
	pids := lockHolders(path)
	if len(pids) == 0 {
		pids = openers(path)
	}
	for _, pid := range pids {
		e.Holders = append(e.Holders, Holder{PID: pid, Command: commandLine(pid)})
	}
	return e
}

// lockHolders reads the kernel's list of locks, whose lines look like
// "1: FLOCK  ADVISORY  WRITE 20102 fe:00:9977947 0 EOF". Only the inode is
// compared: some file systems show another device there than to stat.
func lockHolders(path string) []int {
	var file syscall.Stat_t
	list, err := os.ReadFile("/proc/locks")
	if err != nil || syscall.Stat(path, &file) != nil {
		return nil
	}
	var pids []int
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[1] != "FLOCK" || !strings.HasSuffix(fields[5], fmt.Sprintf(":%d", file.Ino)) {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil && pid > 0 && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// openers lists other processes that have the file open, for kernels that hide
// their locks. Only the user's own processes can be seen.
func openers(path string) []int {
	file, err := os.Stat(path)
	if err != nil {
		return nil
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	var pids []int
	for _, link := range links {
		if open, err := os.Stat(link); err != nil || !os.SameFile(open, file) {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(link, "/")[2])
		if err == nil && pid != os.Getpid() && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func commandLine(pid int) string {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	line := strings.TrimSpace(strings.ReplaceAll(strings.TrimRight(string(raw), "\x00"), "\x00", " "))
	if len(line) > commandLength {
		line = strings.ToValidUTF8(line[:commandLength], "") + "..."
	}
	return line
}
