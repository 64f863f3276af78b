package scratch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"autotune/internal/test/must"
)

// helperVariable tells the test's executable to make a scratch folder and to wait until it is killed.
const helperVariable = "TEST_SCRATCH_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		hold()
		return
	}
	os.Exit(m.Run())
}

func hold() {
	s, err := New("emulator")
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(s.Dir + "\n")
	time.Sleep(time.Hour)
}

// New removes the scratch folders that a killed process left, and no others.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helperVariable+"=1")
		out, err := cmd.StdoutPipe()
		must.OK(t, err)
		must.OK(t, cmd.Start())
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	must.OK(t, os.Mkdir(filepath.Join(dir, "another"), 0o700))
	must.OK(t, exec.Command("mkfifo", filepath.Join(dir, "autotune-emulator-pipe")).Run())
	must.OK(t, os.Symlink(filepath.Join(dir, "another"), filepath.Join(dir, "autotune-emulator-link")))
	live, dead := start(), start()
	if before := foldersIn(t, dir); len(before) != 5 {
		t.Fatalf("folders: %v", before)
	}
	dead.Process.Kill()
	dead.Wait()
	own, err := New("emulator")
	must.OK(t, err)
	if after := foldersIn(t, dir); len(after) != 5 || !slices.Contains(after, "another") {
		t.Errorf("folders after the sweep: %v", after)
	}
	must.OK(t, own.Close())
	live.Process.Kill()
	live.Wait()
	sweep(filepath.Join(dir, "autotune-emulator-*"))
	if left := foldersIn(t, dir); len(left) != 3 {
		t.Errorf("left: %v", left)
	}
}

func foldersIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must.OK(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
