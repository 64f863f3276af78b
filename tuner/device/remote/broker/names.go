package broker

import (
	"crypto/sha256"
	"fmt"
)

// Where messages are at the server.
const (
	JobStream   = "AUTOTUNE_JOBS"     // what is asked; a job is there until it is acknowledged
	Workers     = "AUTOTUNE_WORKERS"  // signs of life, by worker
	Searches    = "AUTOTUNE_SEARCHES" // problems of running searches, by search and number
	Objects     = "AUTOTUNE_OBJECTS"  // bundles of operators, and their data files
	Binaries    = "AUTOTUNE_BINARIES" // compiled kernels
	JobSubjects = jobs + ">"
	jobs        = "autotune.jobs."
	answers     = "autotune.answers."
)

// CompileSubject is where jobs of compiling for a group of like workers are, and
// EvaluateSubject those of running what was compiled.
func CompileSubject(group string) string  { return jobs + group + ".compile" }
func EvaluateSubject(group string) string { return jobs + group + ".evaluate" }

// EvaluateConsumer is the place where a group's workers take jobs of running from.
func EvaluateConsumer(group string) string { return "evaluate-" + group }

// AnswerSubject is where a search hears of the answer to its job.
func AnswerSubject(search, id string) string { return answers + search + "." + id }

// OnlySubject is where jobs for one worker alone are.
func OnlySubject(worker string) string { return jobs + "only." + worker }

// DataName is what a data file is called whose contents have this digest.
func DataName(digest string) string { return "data-" + digest }

// BinaryName is what the binary is called that a group makes of a kernel.
func BinaryName(group, file, digest string) string {
	return fmt.Sprintf("binary-%x", sha256.Sum256([]byte(group+" "+file+" "+digest)))
}
