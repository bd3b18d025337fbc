// Package pipconfig reads what the user and an experiment have set for pip and git, and
// shows it to machines that build. Those run code of packages and repositories, so a file
// that the experiment names must be its own, and what decides the result of a build is a
// copy of what was read.
package pipconfig

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// Folder is where a machine that builds sees the files of the settings.
const Folder = "/seer/build"

// Source says where settings come from.
type Source struct {
	Env    *preflight.Env
	Getenv func(string) string // of this computer: for the usual places of pip's configuration
	Own    map[string]string   // the experiment's variables
	Folder string              // of the experiment; empty = it has none

	// Undefended is for tests that show what the defences are good for: an experiment's
	// variables of pip may name any file and name a layer as the user's do, and builds see
	// the files as they are when the build begins.
	Undefended bool
}

// Settings go to what installs on this computer, not to the sandbox.
type Settings struct {
	Env      map[string]string // for a machine that builds, with paths below [Folder]
	Here     map[string]string // the same, with the paths of this computer
	Identity map[string]string // what of it decides what is installed, without passwords
	Hidden   []string          // the passwords
	Secret   []string          // the variables of the user's, and none of the experiment's, that have some

	mounts     []sdk.Mount
	files      []file   // what decides what is installed, or comes with the experiment
	texts      []string // texts of this computer's user with URLs that lead to servers
	folder     string
	undefended bool
}

// Variables of pip, git and of what they stand on: values, and names of files.
var (
	values      = []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_PRE", "PIP_NO_BINARY", "PIP_ONLY_BINARY", "PIP_PREFER_BINARY"}
	connections = []string{"PIP_TRUSTED_HOST", "PIP_PROXY", "PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT", "PIP_RETRIES", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
		"NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"}
	files = []string{"PIP_CONFIG_FILE", "PIP_CONSTRAINT", "PIP_FIND_LINKS", "PIP_CERT", "PIP_CLIENT_CERT", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
		"CURL_CA_BUNDLE", "GIT_SSL_CAINFO"}
	decisive = map[string]bool{"PIP_CONFIG_FILE": true, "PIP_CONSTRAINT": true, "PIP_FIND_LINKS": true}
)

// Variables are the names of all variables that are read.
func Variables() []string { return slices.Concat(values, connections, files) }

// Read reads the settings. The experiment's own variables of pip win. What the
// experiment or the .env beside it says is part of a layer's identity, so that no layer of
// others comes from there, and names no file outside of the experiment's folder.
func Read(from Source) (Settings, error) {
	s := Settings{
		Env: map[string]string{}, Here: map[string]string{}, Identity: map[string]string{}, folder: from.Folder, undefended: from.Undefended,
	}
	for _, name := range values {
		if value, foreign := from.lookup(name); value != "" {
			s.add(name, value, value, foreign)
			s.reaches(value, foreign)
			s.identify(name, value, foreign)
		}
	}
	for _, name := range connections {
		value, foreign := from.lookup(name)
		if value == "" {
			continue
		}
		s.add(name, value, value, foreign)
		s.reaches(value, foreign)
		if foreign {
			s.identify(name, value, foreign)
		}
	}
	for _, name := range files {
		value, foreign := from.lookup(name)
		if name == "PIP_CONFIG_FILE" && value == "" {
			if value = from.pipConfig(); value != "" {
				s.texts = append(s.texts, content(value))
			}
		} else if s.reaches(value, foreign); decisive[name] && !foreign {
			s.texts = append(s.texts, content(value))
		}
		if err := s.file(name, value, foreign); err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

// reaches notes a value that may lead to servers of this computer. One of the experiment,
// or of a .env file that came with it, opens nothing: it lists its host_ports.
func (s *Settings) reaches(value string, foreign bool) {
	if !foreign {
		s.texts = append(s.texts, value)
	}
}

func content(file string) string {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() >= 1<<20 {
		return ""
	}
	data, _ := os.ReadFile(file)
	return string(data)
}

var here = lazyregexp.New(`://(?:[^/@\s"']+@)?(?:localhost|127(?:\.[0-9]+){3}|\[::1\]):([0-9]+)`)

// HostPorts are the ports of this computer that a machine that builds reaches: those that
// the experiment lists, and those of the user's own servers of packages and proxies.
func (s *Settings) HostPorts(listed []int) []int {
	ports := slices.Clone(listed)
	for _, text := range s.texts {
		for _, found := range here().FindAllStringSubmatch(text, -1) {
			port, err := strconv.Atoi(found[1])
			if err == nil && port >= 1024 && port <= 65535 && !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
	}
	return ports
}

// lookup finds a variable. Foreign are those that come with the experiment.
func (from Source) lookup(name string) (value string, foreign bool) {
	if value, ok := from.Own[name]; ok && strings.HasPrefix(name, "PIP_") {
		return value, true
	}
	value, place, found := from.Env.Lookup(name)
	return value, found && place == preflight.DotEnv
}

// pipConfig is the user's configuration of pip, where it usually is.
func (from Source) pipConfig() string {
	home, config := from.Getenv("HOME"), from.Getenv("XDG_CONFIG_HOME")
	if config == "" && home != "" {
		config = filepath.Join(home, ".config")
	}
	files := []string{"/etc/pip.conf"}
	if home != "" {
		files = append([]string{filepath.Join(home, ".pip", "pip.conf")}, files...)
	}
	if config != "" {
		files = append([]string{filepath.Join(config, "pip", "pip.conf")}, files...)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

var userinfo = lazyregexp.New(`://[^/@\s"']+@`)

func (s *Settings) add(name, inside, here string, foreign bool) {
	s.Env[name], s.Here[name] = inside, here
	s.hide(name, here, foreign)
}

// identify makes a text a part of the layer's identity. The user's own is without
// passwords, so that a new one needs no new layer. The experiment's is whole, and never
// the same as the user's: its author could write another server into the place of a
// password, or be shown what only the user's password opens.
func (s *Settings) identify(name, text string, foreign bool) {
	if foreign && !s.undefended {
		s.Identity[foreignPrefix+name] = text
		return
	}
	s.Identity[name] = userinfo().ReplaceAllString(text, "://")
}

// foreignPrefix is before the names of settings that come with the experiment.
const foreignPrefix = "experiment:"

// hide notes the passwords in a text of URLs.
func (s *Settings) hide(name, text string, foreign bool) {
	for _, found := range userinfo().FindAllString(text, -1) {
		if !foreign {
			s.Secret = append(s.Secret, name) // a token may stand in the place of the name
		}
		_, password, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(found, "://"), "@"), ":")
		if !ok || password == "" {
			continue
		}
		s.Hidden = append(s.Hidden, password)
		if plain, err := url.PathUnescape(password); err == nil && plain != password {
			s.Hidden = append(s.Hidden, plain)
		}
	}
}

// file shows a file or folder to the machine that builds. One that is no path of this
// computer, as a URL, is passed on as it is.
func (s *Settings) file(name, value string, foreign bool) error {
	if value == "" {
		return nil
	}
	path, err := s.find(name, value, foreign)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if path == "" || err != nil {
		s.add(name, value, value, foreign)
		if foreign || decisive[name] {
			s.identify(name, value, foreign)
		}
		return nil
	}
	inside := Folder + "/" + strings.ToLower(name)
	s.add(name, inside, path, foreign)
	if name == "PIP_CLIENT_CERT" && !foreign { // has a key
		s.Secret = append(s.Secret, name)
	}
	if !decisive[name] && !foreign {
		s.mounts = append(s.mounts, sdk.Mount{Source: path, Target: inside})
		return nil
	}
	shown := file{name: name, path: path, inside: inside}
	if foreign && !s.undefended {
		shown.within = s.folder
	}
	text, err := shown.read(info)
	if err != nil {
		return &errdefs.Error{Kind: errdefs.KindConfig, Err: fmt.Errorf("read %s, which is %s: %w", name, value, err)}
	}
	s.hide(name, text, foreign)
	s.identify(name, text, foreign)
	s.files = append(s.files, shown)
	return nil
}

// find is the path that a variable names, without links where the experiment chose it;
// empty if it names none. The code that a build runs can read what it is shown.
func (s *Settings) find(name, value string, foreign bool) (string, error) {
	if !foreign || s.undefended {
		path, err := filepath.Abs(value)
		if err != nil {
			return "", nil
		}
		return path, nil
	}
	path := value
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.folder, path)
	}
	if _, err := os.Lstat(path); err != nil || s.folder == "" {
		return "", nil
	}
	folder, err := filepath.EvalSymlinks(s.folder)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", nil
	}
	if rel, err := filepath.Rel(folder, path); err != nil || !filepath.IsLocal(rel) {
		return "", &errdefs.Error{Kind: errdefs.KindConfig, Err: fmt.Errorf("%s is %s: the experiment may only name files in its own folder; copy the file there, or set the variable in your own environment", name, value)}
	}
	return path, nil
}

// indexes decide from where pip downloads.
var indexes = []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONFIG_FILE"}

// Indexes are the parts of the identity that decide from where pip downloads.
func (s *Settings) Indexes() map[string]string {
	from := map[string]string{}
	for _, name := range indexes {
		for _, name := range []string{name, foreignPrefix + name} {
			if text, ok := s.Identity[name]; ok {
				from[name] = text
			}
		}
	}
	return from
}
