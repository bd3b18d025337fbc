package surface

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/internal/attack"
	"github.com/seer-engine/seer/internal/testkit"
	"github.com/seer-engine/seer/sdk"
)

func put(t *testing.T, text string, elem ...string) string {
	t.Helper()
	return testkit.WriteFile(t, filepath.Join(elem...), text)
}

func surfaceOf(paths ...string) (s sdk.Surface) {
	for _, path := range paths {
		s.Files = append(s.Files, sdk.SurfaceFile{Path: path, Text: "evil"})
	}
	return s
}

// replaces writes a surface over a file of the user's; nil if that is lost.
func replaces(t *testing.T, defended bool, dir, mine string, s sdk.Surface) error {
	t.Helper()
	_, err := Write(t.Context(), dir, s, Target{Records: Records{Dir: t.TempDir()}, overwrite: !defended})
	if data, rerr := os.ReadFile(mine); rerr != nil || string(data) != "mine" {
		return nil
	}
	return err
}

func TestAttacks(t *testing.T) {
	const want = "would be replaced"
	attack.Run(t, []attack.Row{
		{Name: "surface-replaces-users-file", Want: want, Try: func(t *testing.T, defended bool) error {
			dir := t.TempDir()
			return replaces(t, defended, dir, put(t, "mine", dir, "tools.py"), surfaceOf("tools.py"))
		}},
		{Name: "surface-writes-through-link-inside", Want: want, Try: func(t *testing.T, defended bool) error {
			dir := t.TempDir()
			mine := put(t, "mine", dir, "src", "main.go")
			if err := os.Symlink("src", filepath.Join(dir, "tools")); err != nil {
				t.Fatal(err)
			}
			return replaces(t, defended, dir, mine, surfaceOf("tools/main.go"))
		}},
		{Name: "surface-replaces-edited-file", Want: want, Try: func(t *testing.T, defended bool) error {
			dir, target := t.TempDir(), Target{Records: Records{Dir: t.TempDir()}, overwrite: !defended}
			if _, err := Write(t.Context(), dir, surfaceOf("tools.py"), target); err != nil {
				t.Fatal(err)
			}
			mine := put(t, "mine", dir, "tools.py")
			next := sdk.Surface{Files: []sdk.SurfaceFile{{Path: "tools.py", Text: "next"}}}
			_, err := Write(t.Context(), dir, next, target)
			if data, _ := os.ReadFile(mine); string(data) != "mine" {
				return nil
			}
			return err
		}},
		{Name: "surface-replaces-users-prompt", Want: want, Try: func(t *testing.T, defended bool) error {
			dir := t.TempDir()
			mine := put(t, "mine", dir, "prompt.md")
			_, err := Write(t.Context(), dir, sdk.Surface{Prompt: "evil"}, Target{PromptFile: "prompt.md", overwrite: !defended})
			if data, _ := os.ReadFile(mine); string(data) != "mine" {
				return nil
			}
			return err
		}},
	})
}

// TestOwnFilesAreReplaced: served again, also after a program that was killed between the
// note and the file, and by two programs at once.
func TestOwnFilesAreReplaced(t *testing.T) {
	dir, target := t.TempDir(), Target{Records: Records{Dir: t.TempDir()}}
	text := func(text string) sdk.Surface {
		return sdk.Surface{Files: []sdk.SurfaceFile{{Path: "tools/a.py", Text: text}}}
	}
	for _, one := range []string{"one", "two", "two", "one"} {
		if _, err := Write(t.Context(), dir, text(one), target); err != nil {
			t.Fatal(err)
		}
	}
	rec, err := target.Records.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	rec.Note("tools/a.py", Sum([]byte("three")))
	if err := rec.Save(); err != nil {
		t.Fatal(err)
	}
	rec.Close() // killed: either content may be there
	if _, err := Write(t.Context(), dir, text("four"), target); err != nil {
		t.Error(err)
	}
	var all sync.WaitGroup
	for _, one := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			if _, err := Write(t.Context(), dir, text(one), target); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// TestAllThatIsInTheWayIsNamed: nothing is written, and pipes are not waited for.
func TestAllThatIsInTheWayIsNamed(t *testing.T) {
	dir := t.TempDir()
	put(t, "mine", dir, "tools.py")
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "tools.md"), 0o600), os.Symlink("nowhere", filepath.Join(dir, "tools.json")), os.MkdirAll(filepath.Join(dir, "tools.d"), 0o755)); err != nil {
		t.Fatal(err)
	}
	put(t, "mine", dir, "tools")
	_, err := Write(t.Context(), dir, surfaceOf("tools.txt", "tools.py", "tools.md", "tools.json", "tools.d", "tools/x"), Target{Records: Records{Dir: t.TempDir()}})
	var way *InTheWayError
	if !errors.As(err, &way) || strings.Join(way.Files, " ") != "tools.py tools.md tools.json tools.d tools/x" {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "tools.txt")); err == nil {
		t.Error("a part was written")
	}
}

// TestMCPServersOfOthersStay: a program that both start does not make an entry Seer's.
func TestMCPServersOfOthersStay(t *testing.T) {
	path := put(t, `{"mcpServers": {"mine": {"command": "node", "args": ["mine.js"]}}}`, t.TempDir(), "mcp.json")
	records := Records{Dir: t.TempDir()}
	evil := map[string]sdk.MCPServer{"mine": {Command: "node", Args: []string{"evil.js"}}}
	if err := WriteMCPConfig(t.Context(), path, evil, records); err == nil {
		t.Error("a server of the user's was replaced")
	}
	own := map[string]sdk.MCPServer{"ours": {Command: "node", Args: []string{"1"}}}
	for _, arg := range []string{"1", "2"} {
		own["ours"] = sdk.MCPServer{Command: "node", Args: []string{arg}}
		if err := WriteMCPConfig(t.Context(), path, own, records); err != nil {
			t.Error(err)
		}
	}
	var got struct{ McpServers map[string]sdk.MCPServer }
	data, _ := os.ReadFile(path)
	if err := json.Unmarshal(data, &got); err != nil || len(got.McpServers) != 2 || got.McpServers["ours"].Args[0] != "2" {
		t.Errorf("%s: %v", data, err)
	}
}
