package engine

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/preflight"
	"github.com/seer-engine/seer/sdk"
)

// settings are what the user has set on this computer for pip and git. They go to
// what installs on this computer, not to the sandbox.
type settings struct {
	env      map[string]string // files as a building machine sees them
	here     map[string]string // the same, for a machine that is shown the real files
	identity map[string]string // what of it decides what is installed, without passwords
	mounts   []sdk.Mount
	files    []settingFile // what decides what is installed, or comes with the experiment
	hidden   []string      // the passwords
	secret   []string      // the variables of the user's, and none of the experiment's, that have some
	ways     []string      // texts of this computer's user with URLs that lead to servers

	folder    string // of the experiment; empty = it has none
	hostFiles bool
	alike     bool // for tests: what the experiment sets counts as if the user had set it
}

// Variables of pip, git and of what they stand on: values, and names of files.
var (
	settingValues = []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_PRE", "PIP_NO_BINARY", "PIP_ONLY_BINARY", "PIP_PREFER_BINARY"}
	settingWays   = []string{"PIP_TRUSTED_HOST", "PIP_PROXY", "PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT", "PIP_RETRIES", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
		"NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"}
	settingFiles = []string{"PIP_CONFIG_FILE", "PIP_CONSTRAINT", "PIP_FIND_LINKS", "PIP_CERT", "PIP_CLIENT_CERT", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
		"CURL_CA_BUNDLE", "GIT_SSL_CAINFO"}
	decisive = map[string]bool{"PIP_CONFIG_FILE": true, "PIP_CONSTRAINT": true, "PIP_FIND_LINKS": true}
)

// installerSettings reads them. The experiment's own variables of pip win. What the
// experiment or the .env beside it says is part of a layer's identity, so that no layer of
// others comes from there, and names no file outside of the experiment's folder.
func (e *Engine) installerSettings(env *preflight.Env, exp *experiment.Experiment) (settings, error) {
	s := settings{env: map[string]string{}, here: map[string]string{}, identity: map[string]string{}, hostFiles: e.seams.hostFiles, alike: e.seams.settingsAlike}
	if exp.File != "" {
		s.folder = filepath.Dir(exp.File)
	}
	own := exp.Sandbox.Env
	for _, name := range settingValues {
		if value, foreign := lookup(env, own, name); value != "" {
			s.add(name, value, value, foreign)
			s.reaches(value, foreign)
			s.identify(name, value, foreign)
		}
	}
	for _, name := range settingWays {
		value, foreign := lookup(env, own, name)
		if value == "" {
			continue
		}
		s.add(name, value, value, foreign)
		s.reaches(value, foreign)
		if foreign {
			s.identify(name, value, foreign)
		}
	}
	for _, name := range settingFiles {
		value, foreign := lookup(env, own, name)
		if name == "PIP_CONFIG_FILE" && value == "" {
			if value = e.pipConfig(); value != "" {
				s.ways = append(s.ways, content(value))
			}
		} else if s.reaches(value, foreign); decisive[name] && !foreign {
			s.ways = append(s.ways, content(value))
		}
		if err := s.file(name, value, foreign); err != nil {
			return settings{}, err
		}
	}
	return s, nil
}

// reaches notes a value that may lead to servers of this computer. One of the experiment,
// or of a .env file that came with it, opens nothing: it lists its host_ports.
func (s *settings) reaches(value string, foreign bool) {
	if !foreign {
		s.ways = append(s.ways, value)
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

var here = regexp.MustCompile(`://(?:[^/@\s"']+@)?(?:localhost|127(?:\.[0-9]+){3}|\[::1\]):([0-9]+)`)

// hostPorts are the ports of this computer that a machine that builds reaches: those that
// the experiment lists, and those of the user's own servers of packages and proxies.
func (s *settings) hostPorts(listed []int) []int {
	ports := slices.Clone(listed)
	for _, text := range s.ways {
		for _, found := range here.FindAllStringSubmatch(text, -1) {
			port, err := strconv.Atoi(found[1])
			if err == nil && port >= 1024 && port <= 65535 && !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
	}
	return ports
}

// lookup finds a variable. Foreign are those that come with the experiment.
func lookup(env *preflight.Env, own map[string]string, name string) (value string, foreign bool) {
	if value, ok := own[name]; ok && strings.HasPrefix(name, "PIP_") {
		return value, true
	}
	value, from, found := env.Lookup(name)
	return value, found && from == preflight.DotEnv
}

// pipConfig is the user's configuration of pip, where it usually is.
func (e *Engine) pipConfig() string {
	home, config := e.getenv("HOME"), e.getenv("XDG_CONFIG_HOME")
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

var userinfo = regexp.MustCompile(`://[^/@\s"']+@`)

func (s *settings) add(name, inside, here string, foreign bool) {
	s.env[name], s.here[name] = inside, here
	s.hide(name, here, foreign)
}

// identify makes a text a part of the layer's identity. The user's own is without
// passwords, so that a new one needs no new layer. The experiment's is whole, and never
// the same as the user's: its author could write another server into the place of a
// password, or be shown what only the user's password opens.
func (s *settings) identify(name, text string, foreign bool) {
	if foreign && !s.alike {
		s.identity[foreignPrefix+name] = text
		return
	}
	s.identity[name] = userinfo.ReplaceAllString(text, "://")
}

// foreignPrefix is before the names of settings that come with the experiment.
const foreignPrefix = "experiment:"

// hide notes the passwords in a text of URLs.
func (s *settings) hide(name, text string, foreign bool) {
	for _, found := range userinfo.FindAllString(text, -1) {
		if !foreign {
			s.secret = append(s.secret, name) // a token may stand in the place of the name
		}
		_, password, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(found, "://"), "@"), ":")
		if !ok || password == "" {
			continue
		}
		s.hidden = append(s.hidden, password)
		if plain, err := url.PathUnescape(password); err == nil && plain != password {
			s.hidden = append(s.hidden, plain)
		}
	}
}

// file shows a file or folder to the machine that builds. One that is no path of this
// computer, as a URL, is passed on as it is.
func (s *settings) file(name, value string, foreign bool) error {
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
	inside := buildPath + "/" + strings.ToLower(name)
	s.add(name, inside, path, foreign)
	if name == "PIP_CLIENT_CERT" && !foreign { // has a key
		s.secret = append(s.secret, name)
	}
	if !decisive[name] && !foreign {
		s.mounts = append(s.mounts, sdk.Mount{Source: path, Target: inside})
		return nil
	}
	shown := settingFile{name: name, path: path, inside: inside}
	if foreign && !s.hostFiles {
		shown.within = s.folder
	}
	text, err := shown.read(info)
	if err != nil {
		return &Error{Kind: KindConfig, Err: fmt.Errorf("read %s, which is %s: %w", name, value, err)}
	}
	s.hide(name, text, foreign)
	s.identify(name, text, foreign)
	s.files = append(s.files, shown)
	return nil
}

// find is the path that a variable names, without links where the experiment chose it;
// empty if it names none. The code that a build runs can read what it is shown.
func (s *settings) find(name, value string, foreign bool) (string, error) {
	if !foreign || s.hostFiles {
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
		return "", &Error{Kind: KindConfig, Err: fmt.Errorf("%s is %s: the experiment may only name files in its own folder; copy the file there, or set the variable in your own environment", name, value)}
	}
	return path, nil
}
