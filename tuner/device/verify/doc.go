// Package verify is the plan by which every device proves a variant right. The plan
// says what tensors hold and which of the operator's own kernels run. It says where
// a device looks after a launch, how often a check launches, and how many samples
// are taken.
//
// The plan and the verdicts are values. A device carries them out: the emulator by
// files and programs, a GPU through its driver.
package verify
