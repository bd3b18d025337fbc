// Command hub-transformer runs a fake Hub with the repositories in the folder of its argument:
// ORG--NAME is a model, datasets--ORG--NAME a dataset, and a model whose name begins with gated
// is gated. It prints the variables that make clients use it, one NAME=VALUE a line, then an
// empty line. For each line of its standard input it prints how many bytes of files it has sent
// until then. It ends with its input.
package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seer-engine/seer/e2e/fakes"
	"github.com/seer-engine/seer/engine/enginetest/fakehub"
)

func main() { fakes.Main("hub-transformer", run) }

func run(dir string) error {
	repos, err := repos(dir)
	if err != nil {
		return err
	}
	hub, err := fakehub.New(fakehub.Options{Repos: repos, Users: map[string]string{"hf_alice": "alice"}})
	if err != nil {
		return err
	}
	defer hub.Close()
	fakes.PrintEnv(hub.Env())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		sent := int64(0)
		for _, r := range hub.Requests() {
			if slices.Contains([]fakehub.Call{fakehub.Resolve, fakehub.ResolveCache, fakehub.Blob, fakehub.Xorb}, r.Call) {
				sent += r.Bytes
			}
		}
		fmt.Println(sent)
	}
	return lines.Err()
}

func repos(dir string) (all []fakehub.Repo, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		files, err := files(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		name, data := strings.CutPrefix(e.Name(), "datasets--")
		r := fakehub.Repo{ID: strings.ReplaceAll(name, "--", "/"), Commits: []fakehub.Commit{{Files: files}}}
		if data {
			r.Type = fakehub.Dataset
		}
		if strings.Contains(r.ID, "/gated") {
			r.Gated, r.Readers = "manual", []string{"alice"}
		}
		all = append(all, r)
	}
	return all, nil
}

func files(dir string) (map[string]fakehub.File, error) {
	all := map[string]fakehub.File{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f := fakehub.File{Content: fakehub.Bytes(data)}
		if strings.HasSuffix(path, ".safetensors") {
			f.Kind = fakehub.Xet
		}
		name, err := filepath.Rel(dir, path)
		all[filepath.ToSlash(name)] = f
		return err
	})
	return all, err
}
