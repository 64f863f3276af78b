package family

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"autotune/internal/lists"
	"autotune/operator"
)

func (f *Family) WriteText(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "family     %s\ndevice     %s\nfree       %s\n\n", f, f.Device.Name, strings.Join(f.Free, ", "))
	for i, e := range f.Entries {
		fmt.Fprintf(&b, "entry %d    %s\n", i, e.Configuration)
	}
	fmt.Fprintf(&b, "\nthe tree, by %s of the samples\n", strings.Join(f.Free, ", "))
	f.Tree.write(&b, "  ", f)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nshape (* held out)\town best, ms\tgeneral\tchosen\tslowdown")
	for i, s := range slices.Concat(f.Samples, f.HeldOut) {
		shape, general, chosen := operator.FormatShape(s.Shape), "-", "general"
		if i >= len(f.Samples) {
			shape += " *"
		}
		if s.General != nil {
			general = fmt.Sprintf("%.2fx", s.General.Median/s.OwnBest.Median)
		}
		if s.Chosen >= 0 {
			chosen = fmt.Sprint("entry ", s.Chosen)
		}
		fmt.Fprintf(w, "%s\t%.4g\t%s\t%s\t%.3f\n", shape, s.OwnBest.Median, general, chosen, s.Slowdown)
	}
	w.Flush()
	fmt.Fprintf(&b, "\nslowdown against the own best\nsamples    %s\nheld out   %s\n", f.Regret.Samples, f.Regret.Score)
	for _, l := range f.LeftOut {
		fmt.Fprintf(&b, "left out %s: %s\n", operator.FormatShape(l.Shape), l.Reason)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (n *Node) write(b *strings.Builder, indent string, f *Family) {
	if n.If == "" {
		names := lists.Of(n.Entries, func(e int) string { return fmt.Sprintf("entry %d (%s)", e, f.Entries[e].Template) })
		if names == nil {
			names = []string{"the general kernel"}
		}
		fmt.Fprintf(b, "%s%s\n", indent, strings.Join(names, ", else "))
		return
	}
	fmt.Fprintf(b, "%sif %s\n", indent, n.If)
	n.Then.write(b, indent+"    ", f)
	fmt.Fprintf(b, "%selse\n", indent)
	n.Else.write(b, indent+"    ", f)
}

func (s Score) String() string {
	if s.Of == 0 {
		return "no shape"
	}
	return fmt.Sprintf("%.3f at worst, %.3f by the geometric mean of %d", s.Worst, s.Mean, s.Of)
}
