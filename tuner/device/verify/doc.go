// Package verify is the plan by which every device proves a variant right: what its
// tensors hold, which of the operator's own kernels run, what is looked at after a
// launch, how often a check launches, and how many samples are taken.
//
// The plan and the verdicts are values. A device carries them out: the emulator by
// files and programs, a GPU through its driver.
package verify
