package packer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"autotune/internal/output"
	"autotune/internal/python"
	"autotune/pack/loaders"
)

// nativeFile is the Python package's library over PyTorch's stable ABI.
const nativeFile = "native.so"

// findTorch prints PyTorch's folder and version, without importing it.
const findTorch = `import importlib.util, json, os, re
input()
found, folder = importlib.util.find_spec("torch"), ""
version = ""
if found and found.origin:
    folder = os.path.dirname(found.origin)
    version = re.search(r"__version__ = ['\"]([^'\"]+)", open(os.path.join(folder, "version.py")).read())[1]
os.fdopen(3, "w").write(json.dumps({"folder": folder, "version": version}) + "\n")
`

// torchInstall is where PyTorch lies.
type torchInstall struct{ Folder, Version string }

// BuildNative compiles the library with which the Python package launches without Python. It
// needs g++, or what CXX names, and a PyTorch with the headers of its stable ABI.
func BuildNative(ctx context.Context) ([]byte, error) {
	work, err := os.MkdirTemp("", "autotune-native-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	var torch torchInstall
	program := python.Program{Code: findTorch, Dir: work, Limit: time.Minute}
	switch err := program.Run(ctx, nil, &torch); {
	case errors.Is(err, python.ErrMissing):
		return nil, errors.New("there is no python3, which finds PyTorch's headers; install it")
	case err != nil:
		return nil, fmt.Errorf("python3 does not tell where PyTorch is: %w", err)
	case torch.Folder == "":
		return nil, errors.New("python3 has no torch; install PyTorch 2.10 or newer")
	}
	const header = "include/torch/csrc/stable/c/shim.h"
	if _, err := os.Stat(filepath.Join(torch.Folder, header)); err != nil {
		return nil, fmt.Errorf("PyTorch %s in %s has no %s; install PyTorch 2.10 or newer", torch.Version, torch.Folder, header)
	}
	source, err := loaders.FS.ReadFile("python/native.cpp")
	if err != nil {
		return nil, err
	}
	return compileNative(ctx, work, source, torch.Folder)
}

// compileNative compiles in a temporary folder, whose name does not get into the library.
func compileNative(ctx context.Context, work string, source []byte, torch string) ([]byte, error) {
	if err := os.WriteFile(filepath.Join(work, "native.cpp"), source, 0o600); err != nil {
		return nil, err
	}
	compiler := strings.Fields(cmp.Or(os.Getenv("CXX"), "g++"))
	arguments := append(compiler[1:], "-O2", "-std=c++20", "-s", "-shared", "-fPIC", "-fno-gnu-unique", "-DUSE_CUDA",
		"-DTORCH_TARGET_VERSION=0x020a000000000000", "-isystem", filepath.Join(torch, "include"), "native.cpp", "-o", nativeFile,
		"-L"+filepath.Join(torch, "lib"), "-ltorch_cpu", "-ltorch_cuda")
	command := exec.CommandContext(ctx, compiler[0], arguments...)
	command.Dir = work
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	switch err := command.Run(); {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("there is no C++ compiler %s: install g++ or set CXX", compiler[0])
	case err != nil:
		return nil, fmt.Errorf("%s cannot compile the library for PyTorch: %s", compiler[0], firstFault(said.String(), err))
	}
	return os.ReadFile(filepath.Join(work, nativeFile))
}

// firstFault is the first line of a compiler's output that names an error.
func firstFault(said string, err error) string {
	for line := range strings.Lines(said) {
		if strings.Contains(line, "error") || strings.Contains(line, "cannot find") {
			return output.Line(strings.TrimSpace(line))
		}
	}
	return err.Error()
}
