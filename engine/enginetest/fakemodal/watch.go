package fakemodal

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

type watchEvent struct {
	Type  string   `json:"event_type"`
	Paths []string `json:"paths"`
}

const watchEvery = 50 * time.Millisecond

// watch tells of the changes of a file or folder until the timeout, or until the caller closes the
// standard input. It compares what is there with what was.
func (t fileTool) watch(c fileArguments) error {
	root := t.folder(c.Path)
	if _, err := os.Stat(root); err != nil {
		return err
	}
	before := scan(root, c.Recursive)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for _, err := t.in.Read(make([]byte, 64)); err == nil; _, err = t.in.Read(make([]byte, 64)) {
			continue // only the end counts
		}
	}()
	end := make(<-chan time.Time)
	if c.Timeout != nil {
		end = time.After(time.Duration(*c.Timeout * float64(time.Second)))
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-end:
			_ = t.in.Close() // ends the reader
			<-closed
			return nil
		case <-closed:
			return nil
		}
		after := scan(root, c.Recursive)
		if err := t.report(c, before, after); err != nil {
			return err
		}
		before = after
	}
}

func (t fileTool) report(c fileArguments, before, after map[string]fs.FileInfo) error {
	enc := json.NewEncoder(t.out)
	send := func(kind, rel string) error {
		if c.Filter != nil && !slices.Contains(c.Filter, kind) {
			return nil
		}
		return enc.Encode(watchEvent{Type: kind, Paths: []string{path.Join(c.Path, filepath.ToSlash(rel))}})
	}
	for rel, info := range after {
		old, ok := before[rel]
		var err error
		switch {
		case !ok:
			err = send("Create", rel)
		case !info.IsDir() && (!info.ModTime().Equal(old.ModTime()) || info.Size() != old.Size()):
			err = send("Modify", rel)
		}
		if err != nil {
			return err
		}
	}
	for rel := range before {
		if _, ok := after[rel]; !ok {
			if err := send("Remove", rel); err != nil {
				return err
			}
		}
	}
	return nil
}

// scan lists a folder, or a file as itself. What goes away meanwhile is left out.
func scan(root string, recursive bool) map[string]fs.FileInfo {
	out := map[string]fs.FileInfo{}
	_ = filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		rel, _ := filepath.Rel(root, p) // p is below root
		if info, err := e.Info(); err == nil && (rel != "." || !e.IsDir()) {
			out[rel] = info
		}
		if e.IsDir() && rel != "." && !recursive {
			return fs.SkipDir
		}
		return nil
	})
	return out
}
