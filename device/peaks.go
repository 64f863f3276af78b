package device

// Peaks are what a device reaches at most in kinds of work beside copies: bytes or operations a
// millisecond, those measured.
type Peaks map[string]float64

// The kinds of work. 16 bits are bf16 and fp16 alike.
const (
	PeakL2   = "l2"
	PeakFP32 = "fp32"
	PeakTF32 = "tf32"
	PeakFP16 = "fp16"
)

// PeakNames are the kinds in the order that reports show them, with what these call them.
var PeakNames = []struct{ Kind, Name string }{
	{PeakL2, "L2"}, {PeakFP32, "fp32"}, {PeakTF32, "TF32"}, {PeakFP16, "16 bits"},
}
