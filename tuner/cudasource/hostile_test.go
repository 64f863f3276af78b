package cudasource

import (
	"bytes"
	"strings"
	"testing"

	"autotune/internal/test/must"
	"autotune/operator"
)

// The texts for device and tool in a document cannot break out of the comment at the head of the file.
func TestCommentsStayComments(t *testing.T) {
	op, err := operator.Find("max_pool2d")
	must.OK(t, err)
	p, err := op.Bind(operator.Request{Shape: []int64{1, 4, 9, 9}}, operator.TypicalLimits())
	must.OK(t, err)
	for _, text := range []string{"an H100\n#error ran", "an H100\\", "an H100 ??/", "an H100\u2028#error", "an H100\r#error"} {
		w := winnerOf(t, p, 0)
		w.Best.Device.Name, w.Tool = text, text
		var out bytes.Buffer
		must.OK(t, w.WriteCUDA(&out))
		head, _, _ := strings.Cut(out.String(), "\n\n")
		for line := range strings.Lines(head) {
			if line = strings.TrimSuffix(line, "\n"); !strings.HasPrefix(line, "//") || strings.HasSuffix(line, `\`) || strings.Contains(line, "??/") || strings.ContainsAny(line, "\r\u2028") {
				t.Errorf("%q: the line %q", text, line)
			}
		}
	}
}
