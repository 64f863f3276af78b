package cudafile

import "testing"

func TestSqueeze(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"comments", "// head\nint a; // the first\n/* two\nlines */ int b;\n\n\n  int /* within */ c;", "int a;\nint b;\nint c;"},
		{"no word is joined", "int/* */a; x = b + +c;", "int a; x = b + +c;"},
		{"a macro's bracket", "#define A (1)\n#define B(x) x", "#define A (1)\n#define B(x) x"},
		{"directives keep their lines", "#define A \\\n    1 // one\n#undef A", "#define A \\\n1\n#undef A"},
		{"a comment that goes on", "int a; // this \\\n too\nint b;", "int a;\nint b;"},
		{"strings", `asm("a  // b /* c" "\"  //"); s = u8R"x(  // ") )x"; t = R"(  "  )";`, `asm("a  // b /* c" "\"  //"); s = u8R"x(  // ") )x"; t = R"(  "  )";`},
		{"characters", `c = '"'; d = '\''; // e` + "\ne = '/*'; f = 1'000 /* ' */ + 0x1'F;", `c = '"'; d = '\'';` + "\ne = '/*'; f = 1'000 + 0x1'F;"},
		{"an apostrophe", "#error don't  do this\nint a; // it", "#error don't  do this\nint a;"},
		{"cut short", "int a; /* open", "int a;"},
		{"an open string", `"  a`, `"  a`},
		{"an open raw string", `R"(  a`, `R"(  a`},
		{"nothing", " \n// only a comment", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Squeeze(c.text)
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if again := Squeeze(got); again != got {
				t.Errorf("a second time: %q", again)
			}
		})
	}
}

func FuzzSqueeze(f *testing.F) {
	f.Add("int a; // b\n\"c\" 'd' R\"x(y)x\" /* e */ 1'000")
	f.Fuzz(func(t *testing.T, text string) {
		once := Squeeze(text)
		if len(once) > len(text) {
			t.Errorf("%q became longer: %q", text, once)
		}
	})
}
