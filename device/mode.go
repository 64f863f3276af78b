package device

// ModeChoice says who chose a problem's math mode, or that PyTorch computes the problem in another one: Err ends the
// search.
type ModeChoice struct {
	By  string
	Err error
}
