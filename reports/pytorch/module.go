package pytorch

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"text/template"

	"autotune/reports/cudasource"
	"autotune/tuner/operator"
)

// The file is put together from these.
var (
	//go:embed module.py.tmpl
	moduleText string // the Python around all else
	//go:embed general.cu.tmpl
	generalText string // the general kernel
	//go:embed host.cu.tmpl
	hostText string // what Python calls
	//go:embed tuned.cu.tmpl
	tunedText string // the tuned kernel
	//go:embed launch.cu.tmpl
	launchText string // its launch
)

// headers are what the host's part of the CUDA source includes. They come
// first, so that they never meet a kernel's macros.
const headers = `#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>

`

// signature is the one function that Python calls.
const signature = `at::Tensor forward(const std::vector<std::optional<at::Tensor>>& given, const std::vector<int64_t>& shape,
                   const std::vector<int64_t>& sizes, bool is_tuned_problem)`

// Write writes the winner as a PyTorch module.
func Write(out io.Writer, w cudasource.Winner) error {
	if w.Problem.Operator.PyTorch == nil {
		return fmt.Errorf("%s cannot be a PyTorch module: its op.yaml has no key `pytorch`", w.Problem.Operator.Name)
	}
	v, err := newView(w)
	if err != nil {
		return err
	}
	cuda, err := fill("cuda", headers+generalText+"\n"+hostText+"\n#ifndef GENERAL_ONLY\n"+tunedText+"\n"+launchText+"#endif\n", v)
	if err != nil {
		return err
	}
	v.CUDA = cuda
	if strings.Contains(v.CUDA, `"""`) {
		return fmt.Errorf("%s holds three quotes in a row, which end a string in Python", w.Kernel.File)
	}
	digest := sha256.Sum256([]byte(v.CUDA))
	v.Extension = "autotune_" + w.Problem.Operator.Name + "_" + hex.EncodeToString(digest[:6])
	text, err := fill("module", moduleText, v)
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// deviceSource is the part of the CUDA source that runs on the GPU.
func deviceSource(v view) (string, error) { return fill("device", generalText+tunedText, v) }

// functions are what the templates may call.
var functions = template.FuncMap{
	"dim3":     cudasource.Dim3,
	"join":     func(list []string) string { return strings.Join(list, ", ") },
	"numbers":  func(sizes []string) string { return numbered("sizes[%d]", sizes) },
	"pointers": func(read []operator.TensorSpec) string { return numbered("read[%d]", read) },
	"quoted":   quoted,
	"tuple":    tuple,
}

// numbered formats the indexes of a list, joined by commas.
func numbered[T any](format string, list []T) string {
	words := make([]string, len(list))
	for i := range list {
		words[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(words, ", ")
}

func fill(name, text string, v view) (string, error) {
	t, err := template.New(name).Delims("{%", "%}").Option("missingkey=error").Funcs(functions).Parse(text)
	if err != nil {
		return "", fmt.Errorf("template %s: %w", name, err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return "", fmt.Errorf("template %s: %w", name, err)
	}
	return b.String(), nil
}
