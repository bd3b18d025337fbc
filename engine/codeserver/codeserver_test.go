package codeserver_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/seer-engine/seer/engine/codeserver"
	"github.com/seer-engine/seer/sdk"
)

func put(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	put(t, in("npm/lib/node_modules/code-server/out/node/entry.js"))
	node := put(t, in("bin/node"))
	put(t, in("release é/lib/node"))
	put(t, in("release é/bin/code-server"))
	if err := os.MkdirAll(in("npm/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../lib/node_modules/code-server/out/node/entry.js", in("npm/bin/code-server")); err != nil {
		t.Fatal(err)
	}
	put(t, in("tools/code-server/node_modules/code-server/out/node/entry.js"))
	put(t, in("tools/code-server/node_modules/node/bin/node"))
	npm := codeserver.Program{Dir: in("npm/lib/node_modules/code-server"), Node: node}
	release := codeserver.Program{Dir: in("release é")}
	for name, c := range map[string]struct {
		env   map[string]string
		tools string
		want  codeserver.Program
	}{
		"folder of a release":    {map[string]string{"SEER_CODE_SERVER": in("release é")}, "", release},
		"executable":             {map[string]string{"SEER_CODE_SERVER": in("release é/bin/code-server")}, "", release},
		"npm, in the PATH":       {map[string]string{"PATH": in("nothing") + ":" + in("npm/bin") + ":" + in("bin")}, in("none"), npm},
		"folder of an npm place": {map[string]string{"SEER_CODE_SERVER": in("npm/lib"), "PATH": in("bin")}, "", npm},
		"tools":                  {nil, in("tools"), codeserver.Program{Dir: in("tools/code-server/node_modules/code-server"), Node: in("tools/code-server/node_modules/node/bin/node")}},
	} {
		got, err := codeserver.Find(func(key string) string { return c.env[key] }, c.tools)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, env := range map[string]map[string]string{
		"nothing":          {"PATH": in("bin")},
		"npm without node": {"SEER_CODE_SERVER": in("npm/lib")},
	} {
		if p, err := codeserver.Find(func(key string) string { return env[key] }, in("none")); sdk.CodeOf(err) != sdk.NotFound {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// Where npm puts the dependencies depends on how it is called: beside the program, or in it.
func TestMountsShowDependencies(t *testing.T) {
	dir := t.TempDir()
	entry := put(t, filepath.Join(dir, "node_modules", "code-server", "out", "node", "entry.js"))
	p := codeserver.Program{Dir: filepath.Dir(filepath.Dir(filepath.Dir(entry))), Node: "/usr/bin/node"}
	put(t, filepath.Join(dir, "node_modules", "express", "index.js"))
	if m := p.Mounts(); len(m) != 2 || m[0].Source != filepath.Join(dir, "node_modules") || filepath.Base(m[0].Target) != "node_modules" {
		t.Errorf("dependencies beside it: %+v", m)
	}
	put(t, filepath.Join(p.Dir, "node_modules", "express", "index.js"))
	if m := p.Mounts(); m[0].Source != p.Dir {
		t.Errorf("dependencies in it: %+v", m)
	}
}
