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

// helperVariable makes the test's executable a process that has a scratch folder until it is killed.
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

// What a killed process leaves is removed by the next one, and nothing else.
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
	// A process that was killed before it made its folder, or in the midst of removing it.
	must.OK(t, os.WriteFile(filepath.Join(dir, "autotune-emulator-gone.lock"), nil, 0o600))
	for _, name := range []string{"autotune-emulator-young", "another"} {
		must.OK(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	must.OK(t, exec.Command("mkfifo", filepath.Join(dir, "autotune-emulator-young.lock")).Run())
	must.OK(t, os.Symlink(filepath.Join(dir, "another"), filepath.Join(dir, "autotune-emulator-link.lock")))
	live, dead := start(), start()
	before := foldersIn(t, dir)
	if len(before) != 8 || !slices.Contains(before, "autotune-emulator-young") { // they swept the lock without a folder
		t.Fatalf("folders: %v", before)
	}
	dead.Process.Kill()
	dead.Wait()
	own, err := New("emulator")
	must.OK(t, err)
	after := foldersIn(t, dir)
	if len(after) != 8 || !slices.Contains(after, "another") || !slices.Contains(after, "autotune-emulator-young") || !slices.Contains(after, "autotune-emulator-link.lock") {
		t.Errorf("folders after the sweep: %v, before: %v", after, before)
	}
	must.OK(t, own.Close())
	live.Process.Kill()
	live.Wait()
	sweep(dir, "autotune-emulator-")
	if left := foldersIn(t, dir); len(left) != 4 {
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
