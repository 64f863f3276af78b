package packer

// addLoaders adds what programs in Python and C load the pack with.
func (p *Packed) addLoaders() error { return nil }
