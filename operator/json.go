package operator

// Expressions and the like stand in JSON as op.yaml has them.

// MarshalText writes an expression as op.yaml has it.
func (f Formula) MarshalText() ([]byte, error) { return []byte(f.Text), nil }

// IsZero tells whether op.yaml leaves it out.
func (f Formula) IsZero() bool { return f.Text == "" || f.Never() }

// MarshalText writes a text as op.yaml has it.
func (t Interpolated) MarshalText() ([]byte, error) { return []byte(t.Text), nil }

// MarshalText tells how outputs are compared.
func (c *CompareSpec) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// MarshalText tells what a tensor is filled with.
func (f FillSpec) MarshalText() ([]byte, error) { return []byte(f.String()), nil }
