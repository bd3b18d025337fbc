package host

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/sdk"
)

// What a surface may hold at most; its size is limited by the output of a call.
const (
	maxSurfaceFiles = 10_000
	maxSurfacePath  = 512
	maxServers      = 64
	maxVariables    = 256
)

// surfaceCheck is what one surface may hold.
type surfaceCheck struct {
	plugin  Plugin
	granted sdk.Permissions
	name    string // of the surface

	unbounded bool // for tests: a surface may have any file
}

func newSurfaceCheck(p Plugin, g Grant, name string) surfaceCheck {
	return surfaceCheck{plugin: p, granted: access.Limit(p.Manifest, g.Lines).Permissions, name: name}
}

// check makes sure that a surface holds nothing by which a plugin could do more than it is
// granted, through the agent or the programs that see the surface.
func (c surfaceCheck) check(s sdk.Surface) error {
	if err := c.files(s.Files); err != nil {
		return err
	}
	if err := c.env("surface", s.Env); err != nil {
		return err
	}
	if len(s.MCPServers) > maxServers {
		return c.bad("its surface has %d MCP servers; the limit is %d", len(s.MCPServers), maxServers)
	}
	for _, name := range slices.Sorted(maps.Keys(s.MCPServers)) {
		if err := c.server(name, s.MCPServers[name]); err != nil {
			return err
		}
	}
	return nil
}

func (c surfaceCheck) bad(format string, args ...any) error {
	return fault(FaultSurface, c.plugin, format, args...)
}

// lacks is the error for what needs a permission. The pattern is one that would do.
func (c surfaceCheck) lacks(what, line string, asked bool) error {
	if asked {
		return ungranted(c.plugin, "%s, for which it needs `%s`: its manifest asks for it, but it was not granted; grant it to the plugin", what, line)
	}
	return c.bad("%s, for which its manifest must ask: `%s`", what, line)
}

func (c surfaceCheck) files(files []sdk.SurfaceFile) error {
	if len(files) > maxSurfaceFiles {
		return c.bad("its surface has %d files; the limit is %d", len(files), maxSurfaceFiles)
	}
	taken, folders := map[string]bool{}, map[string]bool{}
	var lacking []string
	for _, f := range files {
		named, err := c.file(f)
		if err != nil {
			return err
		}
		if !named && !allowsFile(c.granted, f.Path) {
			lacking = append(lacking, f.Path)
		}
		// On some file systems capital letters make no difference.
		low := strings.ToLower(f.Path)
		if taken[low] {
			return c.bad("its surface has the file %q twice", f.Path)
		}
		taken[low] = true
		for dir := path.Dir(low); dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	for _, f := range files {
		if folders[strings.ToLower(f.Path)] {
			return c.bad("its surface has %q as a file and as a folder", f.Path)
		}
	}
	return c.lacksFiles(lacking)
}

// lacksFiles is the error for all files that need a permission.
func (c surfaceCheck) lacksFiles(names []string) error {
	if len(names) == 0 || c.unbounded {
		return nil
	}
	asked := !slices.ContainsFunc(names, func(name string) bool { return !allowsFile(c.plugin.Manifest.Permissions, name) })
	const most = 20
	var what, lines []string
	for _, name := range names[:min(most, len(names))] {
		why := "which is not named after the service"
		if slices.ContainsFunc(strings.Split(name, "/"), obeyed) {
			why = "a place where programs look for their settings"
		}
		what, lines = append(what, "the file "+name+", "+why), append(lines, access.File(name))
	}
	if more := len(names) - most; more > 0 {
		what = append(what, fmt.Sprintf("and %d more", more))
	}
	return c.lacks("its surface has "+strings.Join(what, "; "), strings.Join(lines, "`, `"), asked)
}

// ofService reports whether a file is one that a surface may have without a permission:
// NAME.* or anything below NAME/.
func (c surfaceCheck) ofService(name string) bool {
	rest, named := strings.CutPrefix(name, c.name)
	if !named || c.name == "" || len(rest) < 2 {
		return false
	}
	return rest[0] == '/' || rest[0] == '.' && !strings.Contains(rest, "/")
}

// file refuses what no surface may have, and reports whether a file needs no permission.
func (c surfaceCheck) file(f sdk.SurfaceFile) (free bool, err error) {
	if !fs.ValidPath(f.Path) || f.Path == "." || len(f.Path) > maxSurfacePath {
		return false, c.bad("its surface has the file %.600q, which is not a plain relative path of up to %d bytes", f.Path, maxSurfacePath)
	}
	parts, hidden := strings.Split(f.Path, "/"), false
	for _, part := range parts {
		if !portable(part) {
			return false, c.bad("its surface has the file %q, whose part %q is not a file name everywhere", f.Path, part)
		}
		hidden = hidden || obeyed(part)
	}
	if !hidden && among(seersFiles, parts[len(parts)-1]) {
		return false, c.bad("its surface has the file %q: a file of that name is Seer's own", f.Path)
	}
	return !hidden && c.ofService(f.Path), c.connection(f, parts)
}

// connection keeps a plugin from replacing the connection file of another surface in
// the same folder: who reads it would talk to somebody else.
func (c surfaceCheck) connection(f sdk.SurfaceFile, parts []string) error {
	base := strings.ToLower(parts[len(parts)-1])
	if base != "connection.json" && !strings.HasSuffix(base, ".connection.json") {
		return nil
	}
	own := strings.EqualFold(base, c.name+".connection.json")
	for _, folder := range parts[:len(parts)-1] {
		own = own || strings.ReplaceAll(folder, "-", "_") == strings.ReplaceAll(c.name, "-", "_")
	}
	if f.Kind != sdk.FileConnection || !own || c.name == "" {
		return c.bad("its surface has the file %q: a file of that name is a connection file, of the kind %q, called %s.connection.json or in a folder %[3]s", f.Path, sdk.FileConnection, c.name)
	}
	return nil
}

func allowsFile(p sdk.Permissions, name string) bool {
	for _, f := range p.Files {
		for _, pattern := range f.Paths {
			if matchFile(pattern, name) {
				return true
			}
		}
	}
	return false
}

func (c surfaceCheck) env(where string, env map[string]string) error {
	if len(env) > maxVariables {
		return c.bad("its %s sets %d variables; the limit is %d", where, len(env), maxVariables)
	}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		asked := func(p sdk.Permissions) bool {
			return slices.ContainsFunc(p.Env, func(e sdk.EnvPermission) bool { return slices.Contains(e.Names, name) })
		}
		switch {
		case !variableName().MatchString(name):
			return c.bad("its %s sets %.200q, which is not a name of a variable", where, name)
		case strings.ContainsRune(env[name], 0):
			return c.bad("its %s sets %s to a text with a NUL", where, name)
		case !freeVariable(name) && !asked(c.granted):
			return c.lacks("its "+where+" sets the variable "+name, access.Env(name), asked(c.plugin.Manifest.Permissions))
		}
	}
	return nil
}
