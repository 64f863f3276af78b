// Package source turns a search's winner back into source code that other
// programs can compile: one text that needs no file beside it.
//
// Of finds the winner's kernel again among the operator's templates and sees
// that it is still the one that was measured. Inline and Defines are the steps
// from there to one text; WriteCUDA makes a .cu file of them. Package pytorch
// builds on the same steps.
package source
