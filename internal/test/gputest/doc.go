// Package gputest contains only tests. The tests prove that every template of every built-in operator is correct on the
// present device, for a table of difficult shapes and parameters.
//
// For each row of the table (cases_test.go) the tests take each template's default configuration, the winners of the
// shipped recordings where they are valid, and some configurations drawn at random. The tests compare each kernel's
// output with the operator's reference, on every distribution of inputs that the operator declares. With the build tags
// cuda and gpu the tests run on a GPU:
//
//	make test-gpu
//
// The variable AUTOTUNE_TEST_VARIANTS sets how many configurations are drawn for each template and row.
//
// The folder testdata contains six kernels from the examples of Kernel Tuner, which the tests run, too.
//
// Without the build tags cuda and gpu, a few small rows of the table run on the emulator, so that the test code itself
// is tested without a GPU.
package gputest
