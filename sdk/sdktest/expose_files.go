package sdktest

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/seer-engine/seer/sdk"
)

func (m *mode) files(ctx context.Context, t *trial) {
	m.each(ctx, t, func(name string, req sdk.ExposeRequest, s sdk.Surface) {
		seen := map[string]bool{}
		for _, f := range s.Files {
			folded := strings.ToLower(f.Path)
			switch {
			case !fs.ValidPath(f.Path) || f.Path == "." || strings.ContainsAny(f.Path, "\\\x00:"):
				t.failf("%s: the path %q is not slash-separated, relative and without ..", name, f.Path)
			case seen[folded]:
				t.failf("%s: the path %q is there twice", name, f.Path)
			case f.Kind != sdk.FileText && f.Kind != sdk.FilePythonClient && f.Kind != sdk.FileConnection:
				t.failf("%s: %s has the kind %q, which the contract does not know", name, f.Path, f.Kind)
			case f.Kind != sdk.FileText && f.Text != "":
				t.failf("%s: %s has the kind %q, which the engine writes, and a text of its own", name, f.Path, f.Kind)
			case dotted(f.Path) && !m.allowsFile(f.Path):
				t.failf("%s: %s has a part that begins with a dot; programs look for settings there: ask for it in the manifest's permissions.files, with a reason", name, f.Path)
			case !ofService(f.Path, req.Name) && !m.allowsFile(f.Path):
				t.failf("%s: %s is neither %s.* nor below %[3]s/; name it so, or ask for it in the manifest's permissions.files, with a reason", name, f.Path, req.Name)
			}
			seen[folded] = true
		}
	})
}

// ofService reports whether a file is named after the service, and so needs no permission.
func ofService(file, service string) bool {
	rest, ok := strings.CutPrefix(file, service)
	return ok && len(rest) > 1 && (rest[0] == '/' || rest[0] == '.' && !strings.Contains(rest, "/"))
}

func dotted(p string) bool {
	return slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return strings.HasPrefix(part, ".") })
}

func (m *mode) allowsFile(name string) bool {
	for _, p := range m.kit.Permissions.Files {
		for _, pattern := range p.Paths {
			if matchPath(pattern, name) {
				return true
			}
		}
	}
	return false
}

func matchPath(pattern, name string) bool {
	head, deep := strings.CutSuffix(pattern, "/**")
	if !deep {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	}
	parts := strings.Split(name, "/")
	n := strings.Count(head, "/") + 1
	if len(parts) <= n {
		return false
	}
	ok, err := path.Match(head, strings.Join(parts[:n], "/"))
	return ok && err == nil
}
