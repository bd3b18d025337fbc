// Package collect brings files that an agent or a sandbox made to the user without
// anything that runs there by itself. It follows no link, waits for no pipe, is bounded
// by what is really on the disk, and gives another name to files and folders of which it is
// known that common programs obey them merely because they are used in that folder.
package collect

import (
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// suffix is what such a name gets.
const suffix = ".collected"

// obeyed are names of files and folders by which a program runs commands, or takes others
// for its own, although the user only uses that program in the folder. A name without a
// dot in front is here only where a program reads it unasked: make and npm run what a
// project says because the user asks for that, and are not here. No such list is complete.
var obeyed = []string{
	// Version control: configuration with hooks, monitors, pagers and aliases. HEAD makes
	// any folder a repository of git, whatever its name is.
	".git", "HEAD", ".hg", ".jj", ".sl", ".bzr", "_darcs", ".pijul", ".fossil-settings", ".fslckout", "_FOSSIL_", "_MTN", ".repo", ".west",
	// Folders to which core.hooksPath of many repositories leads.
	".husky", ".githooks",
	// Shells that load an environment when a folder is entered, and version managers
	// whose shims run what the folder says.
	".envrc", ".env", ".autoenv.zsh", "mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".mise", "mise", ".tool-versions", ".rtx.toml", ".devbox",
	// Editors: tasks, startup scripts, language servers.
	".vscode", ".idea", ".fleet", ".zed", ".exrc", ".vimrc", ".gvimrc", ".nvimrc", ".nvim.lua", ".lvimrc", ".vim", ".emacs.desktop", ".dir-locals.el", ".dir-locals-2.el", ".helix", ".devcontainer", ".devcontainer.json",
	// Agents: hooks and servers.
	".claude", ".mcp.json", ".cursor", ".codex", ".gemini", ".opencode", "opencode.json", "opencode.jsonc", ".aider.conf.yml", ".continue", ".windsurf", ".agents", ".kiro", ".roo", ".qwen", ".amazonq", ".junie", ".factory", ".crush.json", "crush.json",
	// Interpreters and debuggers.
	".pdbrc", ".pylintrc", "pylintrc", ".Rprofile", ".Renviron", ".RData", ".iex.exs", ".erlang", ".ocamlinit", ".latexmkrc", "latexmkrc", "ansible.cfg", ".irbrc", ".pryrc", ".octaverc", "startup.m", ".ghci", ".gdbinit", ".lldbinit", ".perldb", ".radare2rc",
	// Package managers and compilers: programs that replace the user's.
	".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn", ".pnp.cjs", ".pnpmfile.cjs", "bunfig.toml", ".cargo", "rust-toolchain", "rust-toolchain.toml", ".mvn", ".jvmopts", ".sbtopts", ".bundle", ".bazelrc",
}

// patterns are further ones: Jupyter and IPython run their configuration of the folder
// in which they are started, and mise has a file for each environment.
var patterns = []string{"jupyter*_config.py", "jupyter*_config.json", "ipython*_config.py", "ipython*_config.json", "mise.*.toml", ".mise.*.toml"}

// modules are those that Python imports unasked, from the folder in which it is started:
// readline and rlcompleter at a terminal, in older versions.
var modules = []string{"sitecustomize", "usercustomize", "readline", "rlcompleter"}

// isModule reports whether Python could import one of the modules from a file or folder of
// that name: the source, compiled code, a library or a package.
func isModule(name string) bool {
	stem, kind, _ := strings.Cut(name, ".")
	kinds := []string{"", "py", "pyc", "so", "pyd"} // also tagged: cpython-310-x86_64-linux-gnu.so
	return slices.ContainsFunc(modules, func(m string) bool { return canonical(m) == stem }) &&
		slices.ContainsFunc(kinds, func(k string) bool { return canonical(k) == kind[strings.LastIndex(kind, ".")+1:] })
}

// Safe is the name under which a file or folder is kept. It is the same name unless
// programs obey it; different names stay different.
func Safe(name string) string {
	plain := name
	for strings.HasSuffix(plain, suffix) {
		plain = strings.TrimSuffix(plain, suffix)
	}
	if !Obeyed(plain) {
		return name
	}
	const longest = 255 // bytes, on most file systems
	if len(name)+len(suffix) > longest {
		return canonical(plain) + suffix
	}
	return strings.ReplaceAll(name, ":", "_") + suffix
}

// Obeyed reports whether programs obey a file or folder of that name, on any file system:
// some do not tell capitals apart, pass over characters that nobody sees or over dots and
// blanks at the end, or have a second, short name.
func Obeyed(name string) bool {
	name = canonical(name)
	if known()[name] || isModule(name) {
		return true
	}
	if short, n, ok := strings.Cut(name, "~"); ok && short == "GIT" && n != "" && strings.Trim(n, "0123456789") == "" {
		return true
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(canonical(p), name)
		return ok && err == nil
	})
}

// known are the names as file systems compare them.
var known = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, name := range obeyed {
		all[canonical(name)] = true
	}
	return all
})

// canonical is the same for all names that some file system takes for one.
func canonical(name string) string {
	name, _, _ = strings.Cut(name, ":") // a stream of NTFS
	name = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, name)
	return strings.TrimRight(name, ". ")
}
