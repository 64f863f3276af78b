package devices

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"autotune/device"
	"autotune/device/compile"
	"autotune/device/cuda"
	"autotune/device/emulator"
	"autotune/device/remote/fleet"
)

type Spec struct {
	Kind     device.Kind // the kind of device; empty for auto
	Argument string      // the text after the kind and a colon: a GPU's number, a recording's file
}

// Forms returns the possible forms of --device, with capitals for the parts that the user fills in.
func Forms() []string {
	forms := []string{"auto"}
	for _, p := range device.Kinds() {
		forms = append(forms, string(p.Kind))
		if p.Argument != "" {
			forms = append(forms, string(p.Kind)+":"+p.Argument)
		}
	}
	return forms
}

// FormsText returns the Forms as a list for a sentence, with commas and "or".
func FormsText() string {
	forms := Forms()
	last := len(forms) - 1
	return strings.Join(forms[:last], ", ") + " or " + forms[last]
}

func Parse(s string) (Spec, error) {
	if s == "auto" || s == "" {
		return Spec{}, nil
	}
	if spec, ok, err := readTimes(s); ok {
		return spec, err
	}
	name, argument, given := strings.Cut(s, ":")
	p := device.Kind(name).Properties()
	if p.Kind == "" || given && p.Argument == "" {
		return Spec{}, fmt.Errorf("--device %s: want %s", s, FormsText())
	}
	if !given {
		return Spec{Kind: p.Kind}, nil
	}
	if check := kindsByName[p.Kind].check; check != nil {
		if err := check(argument); err != nil {
			return Spec{}, err
		}
	} else if argument == "" {
		return Spec{}, fmt.Errorf("--device %s: want %s:%s", s, p.Kind, p.Argument)
	}
	return Spec{p.Kind, argument}, nil
}

// OneGPU returns the number of the GPU if the Spec names a single GPU of this host, otherwise ok=false.
func (s Spec) OneGPU() (ordinal int, ok bool) {
	n, err := strconv.Atoi(cmp.Or(s.Argument, "0"))
	return n, err == nil && (s.Kind == "" || s.Kind == device.CUDA)
}

// IsTrouble reports whether an error comes from a device or its software, rather than from a wrong request.
func IsTrouble(err error) bool {
	troubles := []error{
		device.ErrNone, device.ErrMemory, compile.ErrMissing, compile.ErrArch, device.ErrGone, fleet.ErrServer,
		cuda.ErrNoSanitizer, emulator.ErrNoCompiler,
	}
	return slices.ContainsFunc(troubles, func(trouble error) bool { return errors.Is(err, trouble) })
}
