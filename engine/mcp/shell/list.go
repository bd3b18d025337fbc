package shell

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seer-engine/seer/engine/mcp/internal/reply"
	"github.com/seer-engine/seer/engine/protocol"
)

const (
	// maxEntries is how many entries list_files gives.
	maxEntries = 1000
	// maxFolders is how many folders one list_files looks into.
	maxFolders = 2000
)

type listArgs struct {
	Path      string `json:"path"`
	Recursive bool   `json:"recursive"`
	Glob      string `json:"glob"`
}

type listedFile struct {
	Path   string             `json:"path"` // below the folder that was asked for
	Type   protocol.EntryType `json:"type"`
	Size   int64              `json:"size"`
	Mode   string             `json:"mode"`
	Mtime  int64              `json:"mtime_unix"`
	Target string             `json:"target,omitempty"`
}

type listResult struct {
	Path    string       `json:"path"`
	Entries []listedFile `json:"entries"`
	Note    string       `json:"note,omitempty"` // what is not in it
}

func (s *server) listFiles(ctx context.Context, _ *mcp.CallToolRequest, a listArgs) *mcp.CallToolResult {
	if err := cmp.Or(checkGlob(a.Glob), a.relative()); err != nil {
		return reply.BadArguments("list_files", err)
	}
	if a.Path == "" {
		a.Path = "."
	}
	c, root, err := s.open(a.Path)
	if err != nil {
		return reply.BadArguments("list_files", err)
	}
	want := pattern(a.Glob)
	deep := a.Recursive || len(want) > 0 || strings.Contains(a.Glob, "**")
	r := listResult{Path: a.Path, Entries: []listedFile{}}
	folders := []string{""}
	for looked := 0; len(folders) > 0; looked++ {
		if looked == maxFolders {
			r.Note = fmt.Sprintf("Only the first %d folders were looked into; list a deeper folder.", maxFolders)
			break
		}
		below := folders[0]
		folders = folders[1:]
		entries, err := c.Files().List(ctx, joined(root, below))
		if err != nil && below == "" {
			return reply.Failure(explain(err))
		}
		if err != nil {
			r.Note = fmt.Sprintf("%s cannot be read: %v", below, err)
			continue
		}
		for _, e := range entries {
			name := path.Join(below, e.Name)
			if deep && e.Type == protocol.EntryDir && leads(want, name) {
				folders = append(folders, name)
			}
			if !matches(a.Glob, want, name) {
				continue
			}
			if len(r.Entries) == maxEntries {
				r.Note = fmt.Sprintf("There are more than %d entries; give a glob, or list a deeper folder.", maxEntries)
				return reply.Answer(r)
			}
			r.Entries = append(r.Entries, listedFile{Path: name, Type: e.Type, Size: e.Size, Mode: e.Mode, Mtime: e.MtimeUnix, Target: e.Target})
		}
	}
	return reply.Answer(r)
}

func joined(root, below string) string {
	if below == "" {
		return root
	}
	return strings.TrimSuffix(root, "/") + "/" + below
}

func checkGlob(glob string) error {
	for segment := range strings.SplitSeq(glob, "/") {
		if _, err := path.Match(segment, ""); err != nil {
			return fmt.Errorf("the glob %q has brackets that do not match", glob)
		}
	}
	return nil
}

// relative makes a glob that begins with / one below the folder: below path, or where none
// is given below the folders that it names before it leaves something open.
func (a *listArgs) relative() error {
	if !path.IsAbs(a.Glob) {
		return nil
	}
	glob := path.Clean(a.Glob)
	folder, rest := named(glob)
	if a.Path != "" {
		top := strings.TrimSuffix(path.Clean(a.Path), "/") + "/"
		if !strings.HasPrefix(glob, top) || glob == top {
			return fmt.Errorf("the glob %q is not below the path %s; leave the path out, or give path %q and glob %q", a.Glob, a.Path, folder, rest)
		}
		folder, rest = a.Path, strings.TrimPrefix(glob, top)
	}
	a.Path, a.Glob = folder, "./"+rest // still about paths, not about names
	return nil
}

// named is the folder that an absolute glob names, and what is left of the glob.
func named(glob string) (folder, rest string) {
	rest = glob
	for {
		next := strings.Index(rest[1:], "/") + 1
		if next == 0 || strings.ContainsAny(rest[:next], `*?[\`) {
			return cmp.Or(strings.TrimSuffix(glob, rest), "/"), rest[1:]
		}
		rest = rest[next:]
	}
}

// pattern is what the names on a path have to be; empty for a glob without a slash,
// which is about names alone.
func pattern(glob string) []string {
	if !strings.Contains(glob, "/") {
		return nil
	}
	return strings.Split(strings.Trim(path.Clean(glob), "/"), "/")
}

// matches reports whether a path below the folder fits: by its name where the glob has
// no slash, as a whole otherwise, in which ** is any number of folders.
func matches(glob string, want []string, name string) bool {
	if len(want) > 0 {
		return fits(want, strings.Split(name, "/"))
	}
	ok, _ := path.Match(glob, path.Base(name))
	return ok || glob == "" || glob == "**"
}

// leads reports whether something below a folder may fit.
func leads(want []string, folder string) bool {
	names := strings.Split(folder, "/")
	for i, name := range names {
		switch {
		case i == len(want):
			return len(want) == 0
		case want[i] == "**":
			return true
		}
		if ok, _ := path.Match(want[i], name); !ok {
			return false
		}
	}
	return len(want) > len(names)
}

func fits(glob, name []string) bool {
	for len(glob) > 0 {
		if glob[0] == "**" {
			for i := range len(name) + 1 {
				if fits(glob[1:], name[i:]) {
					return true
				}
			}
			return false
		}
		if len(name) == 0 {
			return false
		}
		if ok, _ := path.Match(glob[0], name[0]); !ok {
			return false
		}
		glob, name = glob[1:], name[1:]
	}
	return len(name) == 0
}
