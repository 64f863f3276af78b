package emulator

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/cache"

	"autotune/device/compile"
	"autotune/device/elements"
)

// support contains the sources that every variant is compiled against and linked with.
//
//go:embed shim runtime
var support embed.FS

func supportDigest() string {
	h := sha256.New()
	fmt.Fprintf(h, "elements.h %s\n", elements.Source)
	_ = fs.WalkDir(support, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := support.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", path, len(text))
		h.Write(text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil))
}

// runtimeObject holds the compiled runtime, the folder of the shim's headers, and the walls (the sandbox's launcher).
// The runtime, the headers and the launcher are each made once, when the first variant needs them.
type runtimeObject struct {
	mu     sync.Mutex
	dir    string // the folder that contains all of it
	whole  bool   // the sources are unpacked, which only a compilation needs
	shim   string // folder
	object string // file
	walls  *walls
}

func (r *runtimeObject) get(ctx context.Context, c *hostCompiler) (shim, object string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.object != "" {
		return r.shim, r.object, nil
	}
	dir, err := r.folder(c)
	if err == nil {
		err = r.unpack()
	}
	if err != nil {
		return "", "", err
	}
	shim, object = filepath.Join(dir, "shim"), filepath.Join(dir, "runtime.o")
	arguments := append(c.baseFlags(), "-O2", "-fno-threadsafe-statics", "-I", shim, "-c", filepath.Join(dir, "runtime", "runtime.cpp"))
	if err := c.makeOnce(ctx, dir, "runtime", object, arguments); err != nil {
		return "", "", err
	}
	// GCC uses a precompiled header only if all flags are the same, as they are for most variants. If a variant's
	// flags differ from those of the precompiled header, or if the header cannot be precompiled, GCC reads the
	// header's source.
	header := filepath.Join(shim, words)
	arguments = slices.Concat(c.baseFlags(), c.variantFlags(hostArch()), []string{"-x", "c++-header", header})
	_ = c.makeOnce(ctx, dir, "words", header+".gch", arguments)
	r.shim, r.object = shim, object
	return shim, object, nil
}

func (r *runtimeObject) folder(c *hostCompiler) (dir string, err error) {
	if r.dir == "" {
		r.dir, err = temporary(c.scratch.Dir, "support-")
	}
	return r.dir, err
}

// unpack writes the sources of the runtime and the shim into the folder r.dir. The sources are written only when
// the runtime or the shim must be compiled, because a search whose kernels are all cached compiles neither.
func (r *runtimeObject) unpack() error {
	if r.whole {
		return nil
	}
	err := os.CopyFS(r.dir, support)
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, "runtime", "elements.h"), []byte(elements.Source), 0o644)
	}
	if err != nil {
		return fmt.Errorf("the emulator cannot unpack its headers: %w", err)
	}
	r.whole = true
	return nil
}

// makeOnce takes the compiled form of a part of the support code from the cache, or compiles it.
func (c *hostCompiler) makeOnce(ctx context.Context, dir, part, path string, arguments []string) error {
	// An error of storing a compiled part of the support code in the cache is ignored, because the part can be compiled
	// again.
	kept := compile.Kept(c.options.CacheDir)
	key := cache.ActionID(sha256.Sum256([]byte("emulator's " + part + " " + hostArch() + " " + c.fingerprint)))
	if kept != nil {
		if code, _, err := kept.GetBytes(key); err == nil {
			return writeProgram(path, code)
		}
	}
	if err := c.support.unpack(); err != nil {
		return err
	}
	log, err := c.run(ctx, dir, append(arguments, "-o", path))
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s cannot compile the emulator's %s: %w\n%s", c.version, part, err, strings.TrimSpace(log))
	}
	if code, err := os.ReadFile(path); err == nil && kept != nil {
		_ = kept.PutBytes(key, code)
	}
	return nil
}
