package reports

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"autotune/internal/lists"
	"autotune/internal/output"
	"autotune/operator"
	"autotune/tuner/bestconfig"
)

// Unit is what all times of one search are written in.
type Unit struct {
	Name  string  `json:"name"`
	PerMS float64 `json:"per_ms"` // how many of it a millisecond has
}

// UnitOf is the unit in which a time in milliseconds reads best.
func UnitOf(ms float64) Unit {
	switch {
	case ms > 0 && ms < 0.1:
		return Unit{"µs", 1000}
	case ms >= 1e5:
		return Unit{"s", 0.001}
	}
	return Unit{"ms", 1}
}

func (u Unit) Format(ms float64) string { return significant(ms*u.PerMS, 4) + " " + u.Name }

// unitOf is the unit of the untuned default's time, which is known from a search's beginning, or else of the winner's.
func unitOf(b bestconfig.Document) Unit {
	if base, known := b.Baselines[bestconfig.Default]; known {
		return UnitOf(base.TimeMS)
	}
	return UnitOf(b.Time.Median)
}

func FormatMS(ms float64) string { return UnitOf(ms).Format(ms) }

// significant writes x with that many significant digits, and never an exponent.
func significant(x float64, digits int) string {
	_, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', digits-1, 64), "e")
	power, err := strconv.Atoi(exponent)
	if err != nil { // NaN or an infinity
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	return strconv.FormatFloat(x, 'f', max(0, digits-1-power), 64)
}

func formatPercent(share float64) string { return significant(100*share, 3) + " %" }

// formatChance writes a chance; a small one is not rounded to zero.
func formatChance(chance float64) string {
	if chance > 0 && chance < 0.01 {
		return "under 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*chance)
}

// formatBandwidth writes bytes a second in the decimal units that GPUs are sold by.
func formatBandwidth(bytesPerSecond float64) string {
	if bytesPerSecond >= 1e12 {
		return significant(bytesPerSecond/1e12, 3) + " TB/s"
	}
	return significant(bytesPerSecond/1e9, 3) + " GB/s"
}

// perSecond writes billions of things a second, when n of them take ms.
func perSecond(n int64, ms float64) string { return significant(float64(n)/ms/1e6, 4) }

func formatBytes(n int64) string {
	switch x := float64(n); {
	case x >= 1e9:
		return significant(x/1e9, 3) + " GB"
	case x >= 1e6:
		return significant(x/1e6, 3) + " MB"
	case x >= 1e4:
		return significant(x/1e3, 3) + " kB"
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}

// Title names the problem briefly: "conv2d 16x16x1024x1024".
func Title(b bestconfig.Document) string {
	return output.Line(b.Operator + " " + operator.FormatShape(b.Problem.Shape))
}

// parametersOf are the problem's parameters, "kernel=3x3", and its math mode,
// in the order of the problem's own text where there is one.
func parametersOf(b bestconfig.Document) []string {
	if words := strings.Fields(output.Line(b.Problem.Text)); len(words) > 2 {
		return words[2:]
	}
	words := lists.Of(b.Problem.Parameters, func(p operator.Parameter) string { return output.Line(p.Name + "=" + p.Value) })
	if b.Problem.Math != "" {
		words = append(words, "math="+b.Problem.Math)
	}
	return words
}

// originOf says where the times come from, so that nobody takes an emulator or a replay for a GPU measured now.
func originOf(b bestconfig.Document) string {
	kind := b.Device.Kind.Properties()
	switch {
	case !kind.Compiles && b.Recording != nil:
		return fmt.Sprintf("replayed from a recording of %s on %s", day(b.Recording.RecordedAt), b.Recording.Device)
	case kind.Caveat != "":
		return fmt.Sprintf("%s, %s: times say nothing about a GPU", kind.Caveat, day(b.RecordedAt))
	}
	return b.Device.Name + ", " + day(b.RecordedAt)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func settingOf(b bestconfig.Document) string {
	return output.Line(joined(", ", originOf(b), b.Conditions.Unusual()))
}

func joined(separator string, texts ...string) string {
	return strings.Join(lists.Where(texts, func(text string) bool { return text != "" }), separator)
}

// number matches a word that is a number. The next word is its unit, and both stay on one line.
var number = regexp.MustCompile(`^[0-9][0-9.,]*$`)

// phrases are a text's words; a number and its unit are one.
func phrases(text string) []string {
	var list []string
	after := false
	for _, word := range strings.Fields(text) {
		if last := len(list) - 1; after {
			list[last] += " " + word
		} else {
			list = append(list, word)
		}
		after = number.MatchString(word) && !strings.HasSuffix(word, ",")
	}
	return list
}

// middle shortens a text to a number of letters by leaving out its middle: names that begin alike differ at the end.
func middle(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	head := most / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(most-head-1):])
}

// Wrap breaks a text between words into lines of a width, all but the first indented.
func Wrap(text string, width int) string {
	const indent = "  "
	fits := func(line string) bool { return len(indent)+utf8.RuneCountInString(line) <= width }
	return strings.Join(wrapped(phrases(text), fits), "\n"+indent)
}

// Hang is a text behind a label, in lines of a table's width, the later ones under the first; nothing where there is
// no text.
func Hang(label, text string) string {
	t := &table{}
	t.wrap(label, utf8.RuneCountInString(label), text)
	return t.lines.String()
}

// wrapped puts as many words on each line as fit, and one at least.
func wrapped(words []string, fits func(line string) bool) []string {
	var lines []string
	for i, word := range words {
		if last := len(lines) - 1; i > 0 && fits(lines[last]+" "+word) {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
