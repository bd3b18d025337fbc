package engine

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

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
	hidden   []string // the passwords
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

// installerSettings reads them. The experiment's own variables of pip win.
func (e *Engine) installerSettings(env *preflight.Env, own map[string]string) settings {
	s := settings{env: map[string]string{}, here: map[string]string{}, identity: map[string]string{}}
	for _, name := range settingValues {
		if value := lookup(env, own, name); value != "" {
			s.add(name, value, value)
			s.identity[name] = userinfo.ReplaceAllString(value, "://")
		}
	}
	for _, name := range settingWays {
		if value := lookup(env, own, name); value != "" {
			s.add(name, value, value)
		}
	}
	for _, name := range settingFiles {
		value := lookup(env, own, name)
		if name == "PIP_CONFIG_FILE" && value == "" {
			value = e.pipConfig()
		}
		s.file(name, value)
	}
	return s
}

func lookup(env *preflight.Env, own map[string]string, name string) string {
	if value, ok := own[name]; ok && strings.HasPrefix(name, "PIP_") {
		return value
	}
	value, _, _ := env.Lookup(name)
	return value
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

func (s *settings) add(name, inside, here string) {
	s.env[name], s.here[name] = inside, here
	s.hide(here)
}

// hide notes the passwords in a text of URLs.
func (s *settings) hide(text string) {
	for _, found := range userinfo.FindAllString(text, -1) {
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
func (s *settings) file(name, value string) {
	if value == "" {
		return
	}
	info, err := os.Stat(value)
	path, errAbs := filepath.Abs(value)
	if err != nil || errAbs != nil {
		s.add(name, value, value)
		return
	}
	inside := buildPath + "/" + strings.ToLower(name)
	s.add(name, inside, path)
	s.mounts = append(s.mounts, sdk.Mount{Source: path, Target: inside})
	if !decisive[name] {
		return
	}
	s.identity[name] = path
	if data, err := os.ReadFile(path); err == nil && info.Size() < 1<<20 {
		s.hide(string(data))
		s.identity[name] = userinfo.ReplaceAllString(string(data), "://")
	}
}
