package cuda

import (
	"fmt"
	"regexp"
)

var driverVersion = regexp.MustCompile(`\b\d{3,}\.\d+(?:\.\d+)?\b`)

// kernelDriver finds the version in the text in which the kernel's driver tells
// it, "" if there is none.
func kernelDriver(text string) string { return driverVersion.FindString(text) }

// cudaVersion writes the driver's number for a CUDA version, 13010, as "13.1".
func cudaVersion(number int) string {
	return fmt.Sprintf("%d.%d", number/1000, number%1000/10)
}

// driver names the driver as Info shows it.
func (d description) driver() string {
	if d.Driver == "" {
		return "CUDA " + cudaVersion(d.CUDA)
	}
	return fmt.Sprintf("%s (CUDA %s)", d.Driver, cudaVersion(d.CUDA))
}
