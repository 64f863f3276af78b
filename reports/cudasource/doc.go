// Package cudasource exports a search's winner as CUDA source: one text that
// other programs can compile and that needs no file beside it.
//
// Of finds the winner's kernel again among the operator's templates and sees
// that it is still the one that was measured. Inline and Defines are the steps
// from there to one text; WriteCUDA writes it as a .cu file. Package pytorch
// builds on the same steps.
package cudasource
