package remote

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"autotune/device"
)

type State string

const (
	Ready State = "ready" // it takes jobs
	Aside State = "aside" // it takes none until its control is as it was
	Left  State = "left"  // it has ended
)

type Beat struct {
	Worker    string      `json:"worker"`
	Group     string      `json:"group"` // of the workers that are like it
	Device    device.Info `json:"device"`
	Arch      string      `json:"arch"`
	Compilers int         `json:"compilers"`
	State     State       `json:"state"`
	Why       string      `json:"why,omitempty"` // it is set aside, or has left
	Done      int         `json:"done"`          // jobs but for compilations
	Waiting   int         `json:"waiting"`       // jobs for its device, without the one that it is at
	Running   int         `json:"running"`       // jobs that its device is at
	Control   Control     `json:"control"`
	Started   time.Time   `json:"started"`
}

type Control struct {
	FirstMS float64   `json:"first_ms"`
	LastMS  float64   `json:"last_ms"`
	At      time.Time `json:"at,omitzero"` // of the last; zero: none yet
}

// Group names the workers whose numbers may be compared: they are of one kind and model,
// with one driver and one compiler.
func Group(info device.Info, arch string) string {
	limits := info.Limits
	limits.MemoryBytes = 0 // differs a little from one GPU of a model to the next
	text, _ := json.Marshal([]any{info.Kind, info.Name, info.Driver, info.Compiler, arch, limits})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

func unlike(b, model Beat) string {
	for _, one := range []struct{ what, own, want string }{
		{"it is", b.Device.Name, model.Device.Name}, {"its driver is", b.Device.Driver, model.Device.Driver},
		{"its compiler is", b.Device.Compiler, model.Device.Compiler}, {"it compiles for", b.Arch, model.Arch},
	} {
		if one.own != one.want {
			return fmt.Sprintf("%s %s, and not %s", one.what, one.own, one.want)
		}
	}
	return "its GPU has other limits"
}
