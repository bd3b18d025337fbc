package workspace_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/seer-engine/seer/engine/workspace"
	"github.com/seer-engine/seer/internal/testkit"
)

// tree writes files and gives their folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	return testkit.WriteFiles(t, filepath.Join(t.TempDir(), "with space é"), files)
}

func content(t *testing.T, files []workspace.File, path string) string {
	t.Helper()
	for _, f := range files {
		if f.Path == path {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			data, err := io.ReadAll(r)
			if err != nil || int64(len(data)) != f.Size {
				t.Fatalf("%s: %d of %d bytes, %v", path, len(data), f.Size, err)
			}
			return string(data)
		}
	}
	t.Fatalf("there is no %s among %v", path, paths(files))
	return ""
}

func paths(files []workspace.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Path)
	}
	slices.Sort(out)
	return out
}

func same(t *testing.T, what string, got []workspace.File, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(paths(got), want) {
		t.Errorf("%s:\n got %q\nwant %q", what, paths(got), want)
	}
}

const skillText = "---\r\nname: deep-probe\r\ndescription: >-\r\n  Probes deeply.\r\n  Use it for layers.\r\nlicense: MIT\r\n---\r\n\r\n# How\r\n\r\nCall `go()`.\r\n"

func project(t *testing.T) string {
	dir := tree(t, map[string]string{
		"helpers.py": "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nr'''Helps \\d.\n\n    Much.\n'''\n", "plain.py": "x = 1\n",
		"pkg/__init__.py": "'A package.'", "pkg/data/table.csv": "1,2", "pkg/sub/m.py": "", "pkg/__pycache__/m.pyc": "junk", "pkg/old.pyc": "junk", "pkg/.git/config": "x",
		"skills/probe/SKILL.md": skillText, "skills/probe/code.py": "def go(): pass", "skills/probe/scripts/run.sh": "#!/bin/sh\n", "skills/probe/assets/x.bin": "\x00\x01",
		"skills/other/SKILL.md": "---\nname: other\ndescription: Other.\n---\n", "skills/notes.txt": "not a skill", "skills/empty/readme": "nor this",
		"scripted/SKILL.md": "---\nname: scr-ipted\ndescription: S.\n---\nText.", "scripted/scripts/a.py": "1", "scripted/scripts/b/c.py": "2",
		"agent.py": "print()", "dataset/a.txt": "a", "dataset/b/c.txt": "c",
	})
	if err := os.Chmod(filepath.Join(dir, "skills/probe/scripts/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func load(t *testing.T, dir string) workspace.Workspace {
	t.Helper()
	in := func(names ...string) []string {
		for i := range names {
			names[i] = filepath.Join(dir, names[i])
		}
		return names
	}
	w, err := workspace.Load(workspace.Sources{
		Libraries: in("helpers.py", "plain.py", "pkg", "skills/probe", "scripted"), SkillDirs: in("skills"), Skills: in("scripted"), Files: in("agent.py"), Dirs: in("dataset"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestEverythingLandsWhereItIsFound(t *testing.T) {
	w := load(t, project(t))
	libraries := []string{"helpers.py", "plain.py", "pkg/__init__.py", "pkg/data/table.csv", "pkg/sub/m.py", "deep_probe.py", "scr_ipted/__init__.py", "scr_ipted/a.py", "scr_ipted/b/c.py"}
	files := []string{"agent.py", "dataset/a.txt", "dataset/b/c.txt"}
	var skills []string
	for _, dir := range []string{".claude/skills/", ".agents/skills/"} {
		for _, f := range []string{"deep-probe/SKILL.md", "deep-probe/code.py", "deep-probe/scripts/run.sh", "deep-probe/assets/x.bin", "other/SKILL.md", "scr-ipted/SKILL.md", "scr-ipted/scripts/a.py", "scr-ipted/scripts/b/c.py"} {
			skills = append(skills, dir+f)
		}
	}
	inside := func(lists ...[]string) (out []string) {
		for _, name := range slices.Concat(lists...) {
			out = append(out, "/workspace/"+name)
		}
		return out
	}
	for _, kind := range []workspace.Kind{workspace.Scoped, workspace.Local} {
		p := w.Plan(kind)
		same(t, string(kind)+" sandbox", p.Sandbox, inside(libraries)...)
		same(t, string(kind)+" agent", p.Agent, slices.Concat(libraries, files, skills)...)
	}
	for _, kind := range []workspace.Kind{workspace.Notebook, workspace.CLI} {
		p := w.Plan(kind)
		same(t, string(kind)+" sandbox", p.Sandbox, inside(libraries, files)...)
		same(t, string(kind)+" agent", p.Agent, slices.Concat(files, skills)...)
	}
	p := w.Plan(workspace.CLI)
	if got := content(t, p.Agent, ".agents/skills/deep-probe/assets/x.bin"); got != "\x00\x01" {
		t.Errorf("content %q", got)
	}
	for _, f := range p.Agent {
		if want := strings.HasSuffix(f.Path, "run.sh"); (f.Mode&0o111 != 0) != want {
			t.Errorf("%s has the mode %o", f.Path, f.Mode)
		}
	}
	if content(t, p.Sandbox, "/workspace/scr_ipted/__init__.py") != "" {
		t.Error("the made file is not empty")
	}
}

func TestThePromptHasTheDocumentation(t *testing.T) {
	w := load(t, project(t))
	served, err := workspace.LibraryFromFiles("model_tools", []workspace.File{workspace.Made("model_tools/__init__.py", []byte("x"))}, "\nCalls the model.\n")
	if err != nil {
		t.Fatal(err)
	}
	w.Libraries = append(w.Libraries, served)
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	want := "## Libraries\n\nThese can be imported:\n\n### helpers\n\nHelps \\d.\n\nMuch.\n\n### plain\n\n`import plain`\n\n### pkg\n\nA package.\n\n" +
		"### deep_probe\n\n# How\n\nCall `go()`.\n\n### scr_ipted\n\nText.\n\n### model_tools\n\nCalls the model.\n"
	if got := w.Docs(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (workspace.Workspace{}).Docs(); got != "" {
		t.Errorf("nothing is told as %q", got)
	}
	if s := w.Skills[1]; s.Name != "deep-probe" && s.Name != "other" {
		t.Errorf("skills %+v", w.Skills)
	}
	for _, s := range w.Skills {
		if s.Name == "deep-probe" && s.Description != "Probes deeply. Use it for layers." {
			t.Errorf("description %q", s.Description)
		}
	}
}

func TestEachMistakeIsOneClearLine(t *testing.T) {
	long := strings.Repeat("x", 1100)
	dir := tree(t, map[string]string{
		"folder/x.py": "", "text.txt": "", "my-lib.py": "", "class.py": "", "json.py": "", "random/__init__.py": "", "secret": "s", "pkg/__init__.py": "",
		"noskill/x": "", "s1/SKILL.md": "no front", "s2/SKILL.md": "---\nname: Bad Name\ndescription: d\n---\n", "s3/SKILL.md": "---\nname: good\n---\n", "s4/SKILL.md": "---\nname: [\n---\n",
		"s5/SKILL.md": "---\nname: s5\ndescription: " + long + "\n---\n", "s6/SKILL.md": "---\nname: only-text\ndescription: d\n---\n", "s7/SKILL.md": "---\nname: a--b\ndescription: d\n---\n", "s8/SKILL.md": "---\nname: a\ndescription: \xff\n---\n",
		"s9/SKILL.md": "---\nname: x\n", "dirlink/real/x": "", "out/__init__.py": "", "dangling/__init__.py": "", "fifo/__init__.py": "",
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	for link, target := range map[string]string{"out/data": "../secret", "dangling/data": "nowhere", "dirlink/link": "real", "loop": "loop"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(at("fifo/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		list, source, says string
	}{
		{"libraries", "none.py", "does not exist"}, {"libraries", "folder", "not a package: add an __init__.py"}, {"libraries", "text.txt", "not a Python file"},
		{"libraries", "my-lib.py", "`my-lib` cannot be imported"}, {"libraries", "class.py", "`class` cannot be imported"}, {"libraries", "json.py", "standard library"}, {"libraries", "random", "standard library"},
		{"libraries", "out", "leads out of its folder"}, {"libraries", "dangling", "link to nothing"}, {"libraries", "fifo", "neither a file nor a folder"}, {"libraries", "s6", "no code to import"},
		{"libraries", "loop", "cannot be read"},
		{"skills", "noskill", "no SKILL.md"}, {"skills", "none", "does not exist"}, {"skills", "s1", "begin with a line ---"}, {"skills", "s2", `"Bad Name"`}, {"skills", "s3", "no description"}, {"skills", "s4", "not YAML"},
		{"skills", "s5", "longer than 1024"}, {"skills", "s7", `"a--b"`}, {"skills", "s8", "UTF-8"}, {"skills", "s9", "begin with a line ---"},
		{"skill_dirs", "noskill", "no folder with a SKILL.md"}, {"skill_dirs", "s6", "list it under skills"}, {"skill_dirs", "none", "cannot be read"}, {"skill_dirs", "text.txt", "cannot be read"},
		{"files", "none", "does not exist"}, {"files", "dirlink", "link to a folder"}, {"files", "out", "leads out of its folder"}, {"dirs", "text.txt", "list it under files"},
	} {
		s := workspace.Sources{}
		for name, list := range map[string]*[]string{"libraries": &s.Libraries, "skills": &s.Skills, "skill_dirs": &s.SkillDirs, "files": &s.Files, "dirs": &s.Dirs} {
			if name == tt.list {
				*list = []string{at(tt.source)}
			}
		}
		_, err := workspace.Load(s)
		if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.HasPrefix(err.Error(), "workspace."+tt.list+": ") || !strings.Contains(err.Error(), tt.source) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s %s: want %q, got %v", tt.list, tt.source, tt.says, err)
		}
	}
	_, err := workspace.Load(workspace.Sources{Libraries: []string{at("none.py"), at("json.py")}})
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("want both mistakes, got %v", err)
	}
}

func TestNamesThatClash(t *testing.T) {
	one, two := tree(t, map[string]string{"lib.py": "", "data/x": "", "s/SKILL.md": "---\nname: s\ndescription: d\n---\n"}), tree(t, map[string]string{"lib.py": "", "lib/__init__.py": "", "data": "", "s/SKILL.md": "---\nname: s\ndescription: d\n---\n"})
	for _, tt := range []struct {
		s    workspace.Sources
		says string
	}{
		{workspace.Sources{Libraries: []string{one + "/lib.py", two + "/lib.py"}}, "two libraries have the name lib"},
		{workspace.Sources{Libraries: []string{one + "/lib.py", two + "/lib"}}, "two libraries have the name lib"},
		{workspace.Sources{Libraries: []string{two + "/lib"}, Files: []string{one + "/lib.py"}}, "imported by the same name"},
		{workspace.Sources{Skills: []string{one + "/s", two + "/s"}}, "two skills have the name s"},
		{workspace.Sources{Files: []string{one + "/lib.py", two + "/lib.py"}}, "two files go to lib.py"},
		{workspace.Sources{Dirs: []string{one + "/data"}, Files: []string{two + "/data"}}, "data is a file"},
	} {
		if _, err := workspace.Load(tt.s); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("want %q, got %v", tt.says, err)
		}
	}
}

func TestWhatCannotBeReadIsToldEarly(t *testing.T) {
	if os.Geteuid() == 0 {
		// Root reads everything; a folder in a file's place is refused to it, too.
		dir := tree(t, map[string]string{"pkg/__init__.py/x": ""})
		if _, err := workspace.LibraryFromFolder(filepath.Join(dir, "pkg"), ""); err == nil || !strings.Contains(err.Error(), "not a package") {
			t.Errorf("got %v", err)
		}
		return
	}
	dir := tree(t, map[string]string{"pkg/__init__.py": "", "pkg/key": ""})
	if err := os.Chmod(filepath.Join(dir, "pkg/key"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := workspace.LibraryFromFolder(filepath.Join(dir, "pkg"), ""); err == nil || !strings.Contains(err.Error(), "pkg/key cannot be read: permission denied") {
		t.Errorf("got %v", err)
	}
}

func TestLargeFilesAreNotReadAndChangesStayInside(t *testing.T) {
	dir := tree(t, map[string]string{"pkg/__init__.py": "'''Doc'''", "secret": "s"})
	big := filepath.Join(dir, "pkg", "weights.bin")
	if err := os.WriteFile(big, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 2<<30+7); err != nil {
		t.Fatal(err)
	}
	l, err := workspace.LoadLibrary(filepath.Join(dir, "pkg"))
	if err != nil || l.Docs != "Doc" {
		t.Fatalf("%+v, %v", l, err)
	}
	for _, f := range l.Files {
		if f.Path != "pkg/weights.bin" {
			continue
		}
		if f.Size != 2<<30+7 {
			t.Errorf("size %d", f.Size)
		}
		// Whoever puts a link there after the check gets nothing of the computer.
		if err := os.Remove(big); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../secret", big); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Open(); err == nil || !strings.Contains(err.Error(), "leads out") {
			t.Errorf("a link that came later: %v", err)
		}
		if err := os.Remove(big); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Open(); err == nil || !strings.Contains(err.Error(), "has just gone") {
			t.Errorf("a file that has gone: %v", err)
		}
	}
	renamed, err := workspace.LibraryFromFolder(filepath.Join(dir, "pkg"), "other")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "renamed", renamed.Files, "other/__init__.py")
}

func TestModelsAreTold(t *testing.T) {
	models := []workspace.Model{
		{Name: "google/gemma", Preloaded: true}, {Name: "org/secret", VarName: "target", Hidden: true, BaseModel: "org/base", Preloaded: true, PathName: "MODEL_X_PATH"},
		{Name: "org/lora", VarName: "lora", BaseModel: "org/base", Preloaded: true}, {Name: "./tiny", PathName: "MODEL_TINY_PATH"}, {Name: "org/hush", Hidden: true, PathName: "MODEL_MODEL_PATH"},
	}
	want := "## Models\n\nThese are already loaded in Python, in the variables that are named here. Do not load them again.\n\n" +
		"- `model`: google/gemma; its tokenizer is `tokenizer`\n- `target`: <hidden>; its tokenizer is `target_tokenizer`\n- `lora`: org/lora, an adapter of org/base; its tokenizer is `lora_tokenizer`\n" +
		"\nThese are on the machine and not loaded.\n\n- ./tiny: its files are in the folder that the environment variable `MODEL_TINY_PATH` names\n- <hidden>: its files are in the folder that the environment variable `MODEL_MODEL_PATH` names\n"
	if got := workspace.ModelText(models); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := workspace.ModelText(models[3:4]); strings.Contains(got, "loaded in Python") || strings.Contains(got, "load them again") {
		t.Errorf("a model that is not loaded is said to be:\n%s", got)
	}
	data := workspace.DatasetText([]workspace.Dataset{{Name: "org/set", PathName: "DATASET_ORG_SET_PATH"}})
	if want := "## Datasets\n\n- org/set: its files are in the folder that the environment variable `DATASET_ORG_SET_PATH` names, read-only\n"; data != want || workspace.DatasetText(nil) != "" {
		t.Errorf("got\n%s", data)
	}
	if got := workspace.ModelText(nil); got != "" {
		t.Errorf("nothing is told as %q", got)
	}
}
