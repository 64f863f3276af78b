package capture

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"autotune/internal/quote"
	"autotune/operator"
)

// mostProblems and mostUnserved limit the problems and the unserved calls in a problems file, so that a search can read
// the file. A comment in the problems file says how many problems were left out.
const (
	mostProblems = 600
	mostUnserved = 200
)

// WriteProblems writes a problems file for searches. Calls that no operator serves are listed in comments.
func (s *Seen) WriteProblems(w io.Writer, at time.Time) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by autotune capture on %s, of a program with PyTorch %s.\n", at.Format(time.DateOnly), quote.YAMLComment(s.Torch))
	if s.GPU != "" {
		fmt.Fprintf(&b, "# Shares are of %.4g ms on %s, by CUDA events around PyTorch's calls.\n", s.MS, quote.YAMLComment(s.GPU))
	} else {
		fmt.Fprintf(&b, "# Shares are of %.4g ms on the CPU. They say little about a GPU.\n", s.MS)
	}
	for _, note := range s.Notes {
		fmt.Fprintf(&b, "# Note: %s.\n", quote.YAMLComment(note))
	}
	b.WriteByte('\n')
	if len(s.Problems) == 0 {
		b.WriteString("# No call was seen that an operator serves.\n[]\n")
	}
	for _, p := range s.Problems[:min(len(s.Problems), mostProblems)] {
		p.write(&b)
	}
	if more := s.Problems[min(len(s.Problems), mostProblems):]; len(more) > 0 {
		fmt.Fprintf(&b, "# %d further problems with %s of the time are left out.\n", len(more), percent(rest(more)))
	}
	if len(s.Unserved) > 0 {
		b.WriteString("\n# What no operator serves:\n")
	}
	for i, u := range s.Unserved {
		if i == mostUnserved {
			fmt.Fprintf(&b, "# and %d others\n", len(s.Unserved)-i)
			break
		}
		fmt.Fprintf(&b, "#   %7s  %d x %s(%s): %s\n", percent(u.Share), u.Calls, quote.YAMLComment(u.Function), quote.YAMLComment(u.Arguments), quote.YAMLComment(u.Why))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func rest(list []Problem) (share float64) {
	for _, p := range list {
		share += p.Share
	}
	return share
}

func percent(share float64) string { return fmt.Sprintf("%.2f %%", 100*share) }

func (p Problem) write(b *bytes.Buffer) {
	var parameters []string
	for _, s := range p.Parameters {
		parameters = append(parameters, s.Name+": "+quote.YAML(s.Value))
	}
	fmt.Fprintf(b, "- {operator: %s, shape: %s, parameters: {%s}", p.Operator.Name, operator.FormatShape(p.Shape), strings.Join(parameters, ", "))
	if p.Named {
		fmt.Fprintf(b, ", math: %s", p.Math)
	}
	fmt.Fprintf(b, ", calls: %d, share: %.4f} # %.4g ms a call\n", p.Calls, p.Share, p.MS/float64(p.Calls))
}
