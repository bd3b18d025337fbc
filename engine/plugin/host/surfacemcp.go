package host

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

var (
	variableName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
	serverName   = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$`)
	windowsName  = lazyregexp.New(`(?i)^(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?$`)
)

// seersOwn are variables by which Seer itself finds programs and plugins to run, and
// agents what Seer has written for them.
var seersOwn = []string{"SEER_ARTIFACTS_DIR", "SEER_BASE_PYTHON", "SEER_MCP_CONFIG", "SEER_OUTPUTS", "SEER_PLUGIN_DIR", "SEER_PROMPT", "SEER_PYTHON", "SEER_RUN", "SEER_SDK_DIR"}

// seersFiles are files that Seer writes or reads itself in an agent's folder or an
// experiment's: whoever could put one there could start programs by it.
var seersFiles = []string{"mcp.json", "seer.lock", "seer.yaml"}

// readUnasked are files without a dot that agents, interpreters and build tools obey
// wherever they find them.
var readUnasked = []string{
	"AGENTS.md", "CLAUDE.md", "GEMINI.md", "GNUmakefile", "Makefile", "conftest.py", "opencode.json", "opencode.jsonc",
	"package.json", "pyproject.toml", "pytest.ini", "setup.cfg", "sitecustomize.py", "tox.ini", "usercustomize.py",
}

// obeyed reports whether programs look for their settings in a file or folder of that name.
func obeyed(part string) bool { return part[0] == '.' || among(readUnasked, part) }

// among compares as file systems do that know no capital letters.
func among(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// freeVariable reports whether a surface may set a variable without a permission.
func freeVariable(name string) bool {
	return strings.HasPrefix(name, "SEER_") && !slices.Contains(seersOwn, name)
}

// shortName is how some systems call a file with a longer name, such as .git.
var shortName = lazyregexp.New(`~[0-9]`)

// portable reports whether a part of a path means the same everywhere. Some systems
// pass over characters that nobody sees.
func portable(part string) bool {
	odd := func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || strings.ContainsRune(`\:<>"|?*`, r)
	}
	return !shortName().MatchString(part) && !strings.ContainsFunc(part, odd) && !strings.HasSuffix(part, ".") && strings.TrimSpace(part) == part && !windowsName().MatchString(part)
}

// server checks a program that the agent starts.
func (c surfaceCheck) server(name string, s sdk.MCPServer) error {
	if !serverName().MatchString(name) {
		return c.bad("its surface has the MCP server %.200q, whose name is not one of letters, digits and ._-", name)
	}
	if err := c.env("MCP server "+name, s.Env); err != nil {
		return err
	}
	for _, arg := range append([]string{s.Command}, s.Args...) {
		if strings.ContainsRune(arg, 0) {
			return c.bad("its MCP server %s has a NUL in its command line", name)
		}
	}
	if s.Command == sdk.PlaceholderSeer {
		if !servesConnection(s.Args) {
			return c.bad("its MCP server %s starts seer with %.500q; a surface may only start it as `mcp --connection %s`, with --wait and --handle-above",
				name, s.Args, sdk.PlaceholderConnection)
		}
		return nil
	}
	asked := func(p sdk.Permissions) bool {
		return slices.ContainsFunc(p.Commands, func(a sdk.CommandPermission) bool { return a.Command == s.Command })
	}
	if asked(c.granted) {
		return nil
	}
	if len(s.Command) > maxSurfacePath {
		return c.bad("its MCP server %s is a command of %d bytes", name, len(s.Command))
	}
	return c.lacks("its MCP server "+name+" starts the program "+strconv.Quote(s.Command), access.Command(s.Command), asked(c.plugin.Manifest.Permissions))
}

// servesConnection reports whether arguments make seer serve the surface's own
// connection over stdio, and nothing else.
func servesConnection(args []string) bool {
	if len(args) < 3 || args[0] != "mcp" || len(args)%2 == 0 {
		return false
	}
	connection := false
	for i := 1; i < len(args); i += 2 {
		value, ok := args[i+1], false
		switch args[i] {
		case "--connection":
			ok, connection = value == sdk.PlaceholderConnection && !connection, true
		case "--wait":
			d, err := time.ParseDuration(value)
			ok = err == nil && d >= 0
		case "--handle-above":
			_, err := strconv.ParseUint(value, 10, 63)
			ok = err == nil
		}
		if !ok {
			return false
		}
	}
	return connection
}

// matchFile compares part by part; a last part ** takes all the rest.
func matchFile(pattern, name string) bool {
	head, all := strings.CutSuffix(pattern, "/**")
	if all {
		parts, n := strings.Split(name, "/"), strings.Count(head, "/")+1
		if len(parts) <= n {
			return false
		}
		name = strings.Join(parts[:n], "/")
	}
	ok, err := path.Match(head, name) // brackets could match a slash
	return err == nil && ok && strings.Count(head, "/") >= strings.Count(name, "/")
}
