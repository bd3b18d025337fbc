package plugintest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// ConfigFile is the file beside plugin.yaml that says how a plugin is tried.
const ConfigFile = "conformance.yaml"

// Config is conformance.yaml. Everything in it may be missing.
type Config struct {
	Simulator Simulator         `yaml:"simulator"`
	Settings  map[string]string `yaml:"settings"` // values of the plugin's settings; {url} in one is the simulator's address
	Options   map[string]any    `yaml:"options"`  // provider_options, or options of an expose mode, that work
	Models    []string          `yaml:"models"`   // names that a fetcher resolves; of one that reads folders, folders beside this file
	GPU       string            `yaml:"gpu"`      // what a provider is asked for; "" = a machine without one
	Supports  []string          `yaml:"supports"` // parts of a machine's description that the backend can do: disk, ports, image, …
	PerHandle string            `yaml:"per_handle"`
	Live      Live              `yaml:"live"`
	Skip      map[string]string `yaml:"skip"` // check or group → why it does not apply

	// Scenarios are for a provider of machines on hosts or clusters of the user's. Without a
	// simulator, only they are played to it.
	Scenarios []Scenario `yaml:"scenarios"`
}

// Simulator is a backend that can be tried without an account: a program that the kit
// starts, or one that already runs.
//
// The command is started in the folder of conformance.yaml with SEER_SIMULATOR_ADDR, a
// free address of loopback at which it should listen, and the plugin's secrets in their
// variables, so that it can insist on them. It writes the URL of its API in the first line
// of its output when it is ready. It is ended with all processes of its group; it may
// also notice the end by the end of its input.
type Simulator struct {
	Command []string `yaml:"command"`
	URL     string   `yaml:"url"`
}

// Live limits what a test on the real backend may cost.
type Live struct {
	MaxCost float64 `yaml:"max_cost"` // USD; 0 = nothing may be rented
	Offer   string  `yaml:"offer"`    // ID of what is rented; "" = the cheapest
}

const maxConfig = 256 << 10

// ParseConfig reads conformance.yaml strictly. Every problem is reported, as
// "file:line: what".
func ParseConfig(file string, text []byte) (Config, error) {
	var c Config
	if len(text) > maxConfig {
		return c, fmt.Errorf("%s:1: longer than %d KiB", file, maxConfig>>10)
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	err := dec.Decode(&c)
	if errors.Is(err, io.EOF) { // empty, or only comments
		return Config{}, nil
	}
	if err != nil {
		return Config{}, yamlErrors(file, err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Config{}, fmt.Errorf("%s:1: more than one YAML document", file)
	}
	if err := c.check(); err != nil {
		return Config{}, fmt.Errorf("%s:%w", file, placed(text, err))
	}
	return c, nil
}

// mistake is at a key of the file.
type mistake struct{ key, text string }

func (m mistake) Error() string { return m.key + ": " + m.text }

func (c Config) check() error {
	switch {
	case len(c.Simulator.Command) > 0 && c.Simulator.URL != "":
		return mistake{"simulator", "has a command and a url; name one of them"}
	case len(c.Simulator.Command) > 0 && c.Simulator.Command[0] == "":
		return mistake{"command", "its first word is the program, and is empty"}
	case c.Simulator.URL != "" && !strings.HasPrefix(c.Simulator.URL, "http://") && !strings.HasPrefix(c.Simulator.URL, "https://"):
		return mistake{"url", fmt.Sprintf("%q is not a URL like http://127.0.0.1:8080", c.Simulator.URL)}
	case !(c.Live.MaxCost >= 0 && c.Live.MaxCost <= 1000):
		return mistake{"max_cost", "is a number of dollars, from 0 to 1000"}
	}
	if _, err := json.Marshal(c.Options); err != nil {
		return mistake{"options", "cannot be JSON: " + err.Error()}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Skip)) {
		if strings.TrimSpace(c.Skip[key]) == "" {
			return mistake{"skip", fmt.Sprintf("%s needs a reason: why it does not apply", key)}
		}
	}
	names := map[string]bool{}
	for _, s := range c.Scenarios {
		if err := s.check("scenarios"); err != nil {
			return err
		}
		if names[s.Name] {
			return mistake{"scenarios", fmt.Sprintf("two have the name %q", s.Name)}
		}
		names[s.Name] = true
	}
	return nil
}

// placed puts the line of a mistake's key before it.
func placed(text []byte, err error) error {
	var m mistake
	if errors.As(err, &m) {
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimLeft(line, " {-"), m.key+":") {
				return fmt.Errorf("%d: %w", i+1, err)
			}
		}
	}
	return fmt.Errorf("1: %w", err)
}

var yamlLine = lazyregexp.New(`^(?:yaml: )?line (\d+): `)

func yamlErrors(file string, err error) error {
	lines := []string{err.Error()}
	var typed *yaml.TypeError
	if errors.As(err, &typed) {
		lines = typed.Errors
	}
	var errs []error
	for _, l := range lines {
		at := "1"
		if m := yamlLine().FindStringSubmatch(l); m != nil {
			at, l = m[1], l[len(m[0]):]
		}
		l = strings.TrimPrefix(l, "yaml: ")
		for _, kind := range []string{"Config", "Simulator", "Live", "Scenario", "Context", "SSHAnswers", "KubeAnswers", "PodCommand", "Answer", "Failure", "Step"} {
			l = strings.ReplaceAll(l, " not found in type plugintest."+kind, " is not a key of "+ConfigFile)
		}
		errs = append(errs, fmt.Errorf("%s:%s: %s", file, at, l))
	}
	return errors.Join(errs...)
}

// config is the one of the options, or the file's.
func (o Options) config() (Config, error) {
	if o.Config != nil {
		return *o.Config, o.Config.check()
	}
	file := filepath.Join(o.folder(), ConfigFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, err
	}
	return ParseConfig(file, text)
}

func (o Options) folder() string {
	if o.Folder != "" {
		return o.Folder
	}
	return filepath.Dir(o.Wasm)
}

// options are the raw ones, nil where there are none.
func (c Config) options() json.RawMessage {
	if len(c.Options) == 0 {
		return nil
	}
	raw, _ := json.Marshal(c.Options) // was checked
	return raw
}

// skipped says why a check is left out.
func (c Config) skipped(check string) (string, bool) {
	for name, why := range c.Skip {
		if check == name || strings.HasPrefix(check, strings.TrimSuffix(name, "/")+"/") {
			return why, true
		}
	}
	return "", false
}

// values are what the environment holds for the plugin: settings of the configuration,
// and for each secret one that can be found again.
func (c Config) values(m sdk.Manifest, url string, secrets map[string]string) (map[string]string, error) {
	env := map[string]string{}
	for name := range c.Settings {
		if !slices.ContainsFunc(m.Settings, func(s sdk.Setting) bool { return s.Name == name }) {
			return nil, fmt.Errorf("%s: settings: the manifest has no setting %q", ConfigFile, name)
		}
	}
	for _, s := range m.Settings {
		value, ok := c.Settings[s.Name]
		if !ok && url != "" && isDestination(m, s.Name) {
			value, ok = "{url}", true
		}
		switch {
		case !ok, url == "" && strings.Contains(value, "{url}"): // recorded traffic is of the default
		case len(s.Env) == 0:
			return nil, fmt.Errorf("%s: settings: %s has no variable in the manifest that could be set", ConfigFile, s.Name)
		default:
			env[s.Env[0]] = strings.ReplaceAll(value, "{url}", strings.TrimSuffix(url, "/"))
		}
	}
	for _, s := range m.Secrets {
		if len(s.Env) > 0 {
			env[s.Env[0]] = secrets[s.Name]
		}
	}
	return env, nil
}

// isDestination reports whether a plugin sends to where a setting says.
func isDestination(m sdk.Manifest, setting string) bool {
	name := "{" + setting + "}"
	return slices.ContainsFunc(m.Permissions.HTTP, func(p sdk.HTTPPermission) bool { return p.Destination == name }) ||
		slices.ContainsFunc(m.Permissions.GRPC, func(p sdk.GRPCPermission) bool { return p.Destination == name })
}
