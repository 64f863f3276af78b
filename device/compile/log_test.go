package compile

import "testing"

func TestLogError(t *testing.T) {
	tests := []struct {
		name, log string
		file      string
		line      int
		message   string
	}{
		{"error", "a.cu(3): warning: odd\na.cu(12): error: identifier \"x\" is undefined\n      y[i] = x;\n             ^\na.cu(20): error: second\n",
			"a.cu", 12, `identifier "x" is undefined`},
		{"numbered", "a.cu(7): error #20: identifier \"x\" is undefined\n", "a.cu", 7, `identifier "x" is undefined`},
		{"catastrophic", "tile.cuh(1): catastrophic error: cannot open source file \"b\"\n", "tile.cuh", 1, `cannot open source file "b"`},
		{"assembler", "ptxas error   : Entry function 'x' uses too much shared data (0x61a80 bytes, 0xc000 max)\n",
			"k.cu", 0, "Entry function 'x' uses too much shared data (0x61a80 bytes, 0xc000 max)"},
		{"fatal", "ptxas fatal   : Memory allocation failure\n", "k.cu", 0, "Memory allocation failure"},
		{"option", "nvrtc: error: invalid value for --gpu-architecture (-arch)\n", "k.cu", 0, "invalid value for --gpu-architecture (-arch)"},
		{"odd", "\nsomething else\nmore\n", "k.cu", 0, "something else"},
		{"empty", "", "k.cu", 0, "the compiler refused it without saying why"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := logError("k.cu", tt.log)
			if e.File != tt.file || e.Line != tt.line || e.Message != tt.message || e.Log != tt.log {
				t.Errorf("got %s:%d: %s", e.File, e.Line, e.Message)
			}
		})
	}
}
