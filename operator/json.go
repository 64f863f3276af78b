package operator

// Expressions and the like stand in JSON as op.yaml has them.

func (f Formula) MarshalText() ([]byte, error) { return []byte(f.Text), nil }

// IsZero tells whether op.yaml leaves it out.
func (f Formula) IsZero() bool { return f.Text == "" || f.Never() }

func (t Interpolated) MarshalText() ([]byte, error) { return []byte(t.Text), nil }

func (c *CompareSpec) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func (f FillSpec) MarshalText() ([]byte, error) { return []byte(f.String()), nil }
