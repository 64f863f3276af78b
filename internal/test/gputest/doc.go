// Package gputest holds no code but tests. They prove every template of every built-in operator on the device at
// hand, over a table of shapes and parameters that kernels go wrong on.
//
// For each row of the table (cases_test.go) it takes each template's default configuration. It adds the winners of
// the shipped recordings where they are valid, and some configurations drawn at random. It compares what each
// computes with the operator's reference, on every distribution of inputs that the operator declares. With the build
// tags cuda and gpu it runs on a GPU:
//
//	make test-gpu
//
// The variable AUTOTUNE_TEST_VARIANTS sets how many configurations are drawn for
// each template and row.
//
// Six kernels of another tuner's examples, which are data of the tests, are proven alike.
//
// Without the tags a few small rows run on the emulator, so that the suite itself stays whole where there is no GPU.
package gputest
