package shell_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/shell"
	"github.com/seer-engine/seer/internal/testkit"
)

// folder is a new folder of the sandbox, by both its names.
func folder(t *testing.T, name string) (there, here string) {
	t.Helper()
	b := box(t)
	here = filepath.Join(b.workspace, name)
	if err := os.MkdirAll(here, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(here) })
	return "/workspace/" + name, here
}

func TestFilesOfAnyNameAndContent(t *testing.T) {
	s := agent(t, shell.Options{})
	there, here := folder(t, "names")
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, name := range hostileNames() {
		use(t, s, "write_file", object{"path": there + "/" + name + "/" + name, "base64": base64.StdEncoding.EncodeToString(every), "mode": "750"})
		p := filepath.Join(here, name, name)
		info, err := os.Stat(p)
		if err != nil || info.Mode().Perm() != 0o750 || testkit.ReadFile(t, p) != string(every) {
			t.Errorf("%q: %v", name, err)
			continue
		}
		r := use(t, s, "read_file", object{"path": there + "/" + name + "/" + name})
		r.want(t, object{"encoding": "base64", "content": base64.StdEncoding.EncodeToString(every), "size": 256.0})
		use(t, s, "run_command", object{"command": "set -- *; echo $#", "cwd": there + "/" + name}).want(t, object{"stdout": "1\n"})
		use(t, s, "write_file", object{"path": there + "/" + name + "/" + name, "content": "text é\n"})
		use(t, s, "edit_file", object{"path": there + "/" + name + "/" + name, "old": "é", "new": name})
		if got := testkit.ReadFile(t, p); got != "text "+name+"\n" {
			t.Errorf("%q became %q", name, got)
		}
	}
	if got := len(list(use(t, s, "list_files", object{"path": there, "recursive": true}), "entries")); got != 2*len(hostileNames()) {
		t.Errorf("%d entries", got)
	}
	if left, _ := filepath.Glob(filepath.Join(box(t).workspace, "*pwned*")); left != nil {
		t.Errorf("a name was run: %q", left)
	}
	for _, tool := range []string{"read_file", "write_file", "edit_file", "list_files"} {
		args := object{"path": "a\x00b"}
		if tool == "write_file" {
			args["content"] = ""
		}
		if tool == "edit_file" {
			args["old"], args["new"] = "a", "b"
		}
		refused(t, s, tool, args, "zero byte")
	}
}

func TestTextsAreReadByLines(t *testing.T) {
	s := agent(t, shell.Options{})
	there, here := folder(t, "texts")
	var all strings.Builder
	for i := 1; i <= 5000; i++ {
		all.WriteString("line " + itoa(i) + "\n")
	}
	testkit.WriteFile(t, filepath.Join(here, "long"), all.String())
	r := use(t, s, "read_file", object{"path": there + "/long"})
	r.want(t, object{"offset": 1.0, "next_offset": 2001.0, "encoding": "utf-8"})
	if c := r.text("content"); !strings.HasSuffix(c, "\nline 2000\n") {
		t.Errorf("ends with %q", c[len(c)-20:])
	}
	use(t, s, "read_file", object{"path": there + "/long", "offset": 4999, "limit": 10}).want(t, object{"content": "line 4999\nline 5000\n", "next_offset": nil})
	use(t, s, "read_file", object{"path": there + "/long", "offset": 3, "limit": 1}).want(t, object{"content": "line 3\n", "next_offset": 4.0})
	use(t, s, "read_file", object{"path": there + "/long", "offset": 9999}).want(t, object{"content": ""})
	testkit.WriteFile(t, filepath.Join(here, "empty"), "")
	use(t, s, "read_file", object{"path": there + "/empty"}).want(t, object{"content": "", "size": 0.0, "encoding": "utf-8"})
	testkit.WriteFile(t, filepath.Join(here, "open"), "a\r\nno end")
	use(t, s, "read_file", object{"path": there + "/open"}).want(t, object{"content": "a\r\nno end", "next_offset": nil})

	// The whole is read in parts that fit together, whatever the lines are.
	wide := strings.Repeat(strings.Repeat("é", 30000)+"\n", 7) + "end"
	testkit.WriteFile(t, filepath.Join(here, "wide"), wide)
	got, offset := "", any(1.0)
	for n := 0; offset != nil && n < 20; n++ {
		r := use(t, s, "read_file", object{"path": there + "/wide", "offset": offset})
		got, offset = got+r.text("content"), r.object["next_offset"]
	}
	if got != wide {
		t.Errorf("%d bytes, want %d", len(got), len(wide))
	}
	testkit.WriteFile(t, filepath.Join(here, "one line"), strings.Repeat("x", 200000)+"\nsecond\n")
	r = use(t, s, "read_file", object{"path": there + "/one line"})
	r.want(t, object{"next_offset": 2.0})
	if len(r.text("content")) != 100<<10 || !strings.Contains(r.text("note"), "cut by Seer") {
		t.Errorf("%d bytes, note %q", len(r.text("content")), r.text("note"))
	}
	use(t, s, "read_file", object{"path": there + "/one line", "offset": 2}).want(t, object{"content": "second\n"})
	// A sparse file of 2 GiB does not fill anything.
	if err := os.WriteFile(filepath.Join(here, "large"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(here, "large"), 2<<30); err != nil {
		t.Fatal(err)
	}
	use(t, s, "read_file", object{"path": there + "/large", "limit": 4}).want(t, object{"encoding": "base64", "content": "AAAAAA==", "next_offset": 4.0})
	refused(t, s, "read_file", object{"path": there}, "is a folder, not a file")
	refused(t, s, "read_file", object{"path": there + "/none"}, "none")
	refused(t, s, "read_file", object{"path": "/dev/zero"}, "special file")
	refused(t, s, "read_file", object{"path": ""}, "empty")
	refused(t, s, "read_file", object{"path": there + "/long", "offset": -1}, "0 or more")
}

func TestImagesAreReadAsImages(t *testing.T) {
	s := agent(t, shell.Options{})
	there, _ := folder(t, "images")
	use(t, s, "write_file", object{"path": there + "/p", "base64": onePixel})
	r := use(t, s, "read_file", object{"path": there + "/p"})
	image, ok := r.raw.Content[1].(*sdkmcp.ImageContent)
	if data, _ := base64.StdEncoding.DecodeString(onePixel); !ok || image.MIMEType != "image/png" || !bytes.Equal(image.Data, data) {
		t.Errorf("got %+v", r.raw.Content)
	}
}

func TestEditsAreExact(t *testing.T) {
	s := agent(t, shell.Options{})
	there, here := folder(t, "edits")
	p := testkit.WriteFile(t, filepath.Join(here, "a.sh"), "one\r\ntwo\r\none\r\n")
	if err := os.Chmod(p, 0o755); err != nil {
		t.Fatal(err)
	}
	at := there + "/a.sh"
	refused(t, s, "edit_file", object{"path": at, "old": "one", "new": "1"}, "is in it 2 times")
	refused(t, s, "edit_file", object{"path": at, "old": "three", "new": "3"}, "is not in it")
	refused(t, s, "edit_file", object{"path": at, "old": "", "new": "3"}, "old is empty")
	refused(t, s, "edit_file", object{"path": at, "old": "one"}, "new is missing")
	refused(t, s, "edit_file", object{"path": at, "old": "one", "new": "one"}, "the same")
	refused(t, s, "edit_file", object{"path": there + "/none", "old": "one", "new": "2"}, "none")
	use(t, s, "edit_file", object{"path": at, "old": "one\ntwo\n", "new": "1\n2\n"}).want(t, object{"replaced": 1.0})
	use(t, s, "edit_file", object{"path": at, "old": "\r\n", "new": "|", "all": true}).want(t, object{"replaced": 3.0})
	if info, _ := os.Stat(p); testkit.ReadFile(t, p) != "1|2|one|" || info.Mode().Perm() != 0o755 {
		t.Errorf("%q, %v", testkit.ReadFile(t, p), info.Mode())
	}
	if err := os.Symlink("a.sh", filepath.Join(here, "link")); err != nil {
		t.Fatal(err)
	}
	use(t, s, "edit_file", object{"path": there + "/link", "old": "2", "new": ""})
	if info, _ := os.Lstat(filepath.Join(here, "link")); testkit.ReadFile(t, p) != "1||one|" || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced, or its file was not edited")
	}
	testkit.WriteFile(t, filepath.Join(here, "binary"), "a\xff\xfe")
	refused(t, s, "edit_file", object{"path": there + "/binary", "old": "a", "new": "b"}, "not text in UTF-8")
}

func TestChangesOfOthersAreNoticed(t *testing.T) {
	s, other := agent(t, shell.Options{}), agent(t, shell.Options{})
	there, _ := folder(t, "others")
	at := there + "/shared.txt"
	use(t, s, "write_file", object{"path": at, "content": "a b c"}).want(t, object{"created": true})
	use(t, other, "edit_file", object{"path": at, "old": "b", "new": "B"})
	refused(t, s, "write_file", object{"path": at, "content": "mine"}, "has changed since you have seen it")
	if note := use(t, s, "edit_file", object{"path": at, "old": "c", "new": "C"}).text("note"); !strings.Contains(note, "Somebody else had changed") {
		t.Errorf("note %q", note)
	}
	use(t, s, "write_file", object{"path": at, "content": "mine"}).want(t, object{"created": false}) // its edit has shown it the file
	use(t, other, "read_file", object{"path": at}).want(t, object{"content": "mine"})
	use(t, other, "write_file", object{"path": at, "content": "theirs"})
	use(t, s, "write_file", object{"path": at, "content": "again", "overwrite": true})
	refused(t, s, "write_file", object{"path": at, "content": "x", "mode": "999"}, "999")
	refused(t, s, "write_file", object{"path": at}, "either content or base64")
	refused(t, s, "write_file", object{"path": at, "base64": "%"}, "base64")
	refused(t, s, "write_file", object{"path": there, "content": "x"}, "is a folder")

	// Edits through one server at the same time are all there.
	use(t, s, "write_file", object{"path": there + "/many", "content": "0123456789"})
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			use(t, s, "edit_file", object{"path": there + "/many", "old": itoa(i), "new": string(rune('a' + i))})
		})
	}
	wg.Wait()
	use(t, s, "read_file", object{"path": there + "/many"}).want(t, object{"content": "abcdefghij"})
}

func TestFoldersAreListed(t *testing.T) {
	s := agent(t, shell.Options{})
	there, here := folder(t, "lists")
	for _, p := range []string{"a.py", "b.txt", "src/c.py", "src/deep/er/d.py", "src/deep/e.txt"} {
		testkit.WriteFile(t, filepath.Join(here, p), p)
	}
	if err := os.Symlink("..", filepath.Join(here, "src/up")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args object
		want string
	}{
		{object{}, "a.py b.txt src"}, {object{"recursive": true, "glob": "*.py"}, "a.py src/c.py src/deep/er/d.py"}, {object{"recursive": true, "glob": "src/*.py"}, "src/c.py"},
		{object{"recursive": true, "glob": "src/**/*.py"}, "src/c.py src/deep/er/d.py"}, {object{"recursive": true, "glob": "**/deep/**"}, "src/deep src/deep/e.txt src/deep/er src/deep/er/d.py"}, {object{"glob": "[ab].*"}, "a.py b.txt"},
		// What needs other folders looks into them without being told, and into no others.
		{object{"glob": "**/*.py"}, "a.py src/c.py src/deep/er/d.py"}, {object{"glob": "src/*.py"}, "src/c.py"}, {object{"glob": "./src/**/*.py"}, "src/c.py src/deep/er/d.py"},
		{object{"glob": "s*/deep/*"}, "src/deep/e.txt src/deep/er"}, {object{"glob": "**"}, "a.py b.txt src src/c.py src/deep src/deep/e.txt src/deep/er src/deep/er/d.py src/up"},
		{object{"glob": "*.py"}, "a.py"}, {object{"glob": "./*.py", "recursive": true}, "a.py"}, {object{"glob": "src/"}, "src"}, {object{"glob": "none/*.py"}, ""}, {object{"glob": "src/up/*"}, ""},
	} {
		tt.args["path"] = there
		if got := strings.Join(names(list(use(t, s, "list_files", tt.args), "entries"), "path"), " "); got != tt.want {
			t.Errorf("%v: %s", tt.args, got)
		}
	}
	// A whole path is one, below the folder that was asked for or without one.
	for _, tt := range []struct {
		path, glob, from, want string
	}{
		{there, there + "/src/*.py", there, "src/c.py"}, {there + "/", there + "/*.py", there + "/", "a.py"}, {"/", "/etc/passwd", "/", "etc/passwd"},
		{"", there + "/src/*.py", there + "/src", "c.py"}, {"", there + "/s*/deep/*", there, "src/deep/e.txt src/deep/er"}, {"", there + "/src/**/*.py", there + "/src", "c.py deep/er/d.py"},
		{"", there + "/a.py", there, "a.py"}, {"", there + "/none*", there, ""},
	} {
		r := use(t, s, "list_files", object{"path": tt.path, "glob": tt.glob, "recursive": true})
		if got := strings.Join(names(list(r, "entries"), "path"), " "); got != tt.want || r.text("path") != tt.from {
			t.Errorf("%s in %q: %s in %s", tt.glob, tt.path, got, r.text("path"))
		}
	}
	for _, glob := range []string{"/src/*.py", there, there + "x/*.py", "/"} {
		refused(t, s, "list_files", object{"path": there, "glob": glob}, "not below the path")
	}
	refused(t, s, "list_files", object{"path": "src", "glob": "/workspace/src/*.py"}, `path "/workspace/src" and glob "*.py"`)
	refused(t, s, "list_files", object{"path": there, "glob": "[a"}, "brackets")
	refused(t, s, "list_files", object{"path": there + "/none"}, "none")
	use(t, s, "run_command", object{"command": "mkdir -p many && cd many && seq 1 1100 | xargs touch", "cwd": there})
	r := use(t, s, "list_files", object{"path": there + "/many"})
	if len(list(r, "entries")) != 1000 || !strings.Contains(r.text("note"), "more than 1000") {
		t.Errorf("%d entries, note %q", len(list(r, "entries")), r.text("note"))
	}
}

func TestFilesTravelBothWays(t *testing.T) {
	mine, secret := filepath.Join(t.TempDir(), "my files é"), testkit.WriteFile(t, filepath.Join(t.TempDir(), "secret"), "private")
	s := agent(t, shell.Options{Files: mkdir(t, mine)})
	there, here := folder(t, "travel $(x) '")
	testkit.WriteFile(t, filepath.Join(mine, "data/a b.txt"), "a")
	testkit.WriteFile(t, filepath.Join(mine, "data/sub/-rf"), "\x00\xff")
	if err := os.Chmod(filepath.Join(mine, "data/a b.txt"), 0o751); err != nil {
		t.Fatal(err)
	}
	use(t, s, "upload", object{"from": "data", "path": there + "/new dir"}).want(t, object{"folder": true})
	if info, err := os.Stat(filepath.Join(here, "new dir/a b.txt")); err != nil || info.Mode().Perm() != 0o751 || testkit.ReadFile(t, filepath.Join(here, "new dir/sub/-rf")) != "\x00\xff" {
		t.Errorf("uploaded: %v, %v", info, err)
	}
	testkit.WriteFile(t, filepath.Join(mine, "data/later"), "l")
	use(t, s, "upload", object{"from": "./data/", "path": there + "/new dir"}) // into one that is there
	use(t, s, "upload", object{"from": "data/a b.txt", "path": there + "/deep/er/file"})
	if testkit.ReadFile(t, filepath.Join(here, "new dir/later")) != "l" || testkit.ReadFile(t, filepath.Join(here, "deep/er/file")) != "a" {
		t.Error("the second upload is not whole")
	}
	use(t, s, "download", object{"path": there + "/new dir", "to": "back/again"})
	if testkit.ReadFile(t, filepath.Join(mine, "back/again/sub/-rf")) != "\x00\xff" {
		t.Error("the download is not whole")
	}
	use(t, s, "download", object{"path": there + "/deep/er/file", "to": "back/file"})
	use(t, s, "download", object{"path": there + "/deep/er/file", "to": "back/file"}) // a file is replaced
	refused(t, s, "download", object{"path": there + "/new dir", "to": "back/again"}, "is there already")
	refused(t, s, "download", object{"path": there + "/none", "to": "x"}, "none")
	refused(t, s, "upload", object{"from": "none", "path": there + "/x"}, "none")

	for link, target := range map[string]string{"out": filepath.Dir(secret), "outfile": secret, "bad/out": "../../x", "bad/deep/abs": secret} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(mine, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(mine, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range []string{"out", "outfile", "out/secret", "../x", "/etc/passwd", "..", "", "a\x00b", "data/../../x"} {
		refused(t, s, "upload", object{"from": from, "path": there + "/stolen"}, "")
	}
	refused(t, s, "upload", object{"from": "bad", "path": there + "/stolen"}, "left out", "bad")
	for _, to := range []string{"out/x", "../x", "/tmp/seer-x", "outfile/x"} {
		refused(t, s, "download", object{"path": there + "/deep/er/file", "to": to}, "")
		refused(t, s, "download", object{"path": there + "/deep", "to": to}, "")
	}
	use(t, s, "download", object{"path": there + "/deep/er/file", "to": "outfile"}) // takes the link's place
	if testkit.ReadFile(t, secret) != "private" {
		t.Error("a download has gone through a link")
	}
	for _, dir := range []string{here, mine} {
		if left, _ := filepath.Glob(filepath.Join(dir, ".seer-*")); left != nil {
			t.Errorf("left over: %q", left)
		}
	}
	if _, err := os.Stat(filepath.Join(here, "stolen")); err == nil {
		t.Error("something that was refused is there")
	}
	refused(t, agent(t, shell.Options{}), "run_command", object{"command": "true", "cwd": 5}, "cwd")
	if r, err := agent(t, shell.Options{}).CallTool(t.Context(), &sdkmcp.CallToolParams{Name: "upload", Arguments: object{"from": "x", "path": "y"}}); err == nil && !r.IsError {
		t.Error("an upload without a folder worked")
	}
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
