package device

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNone means that there is no such device on this machine; the message
// wrapped around it says what is missing and what to do.
var ErrNone = errors.New("no such device")

// Reason is what an error that wraps ErrNone says besides that.
func Reason(err error) string {
	return strings.TrimSuffix(err.Error(), ": "+ErrNone.Error())
}

// ErrMemory means that a problem's tensors do not fit into the device.
var ErrMemory = errors.New("not enough device memory")

// GiB writes an amount of memory as messages give it.
func GiB(bytes int64) string { return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30)) }
