package store

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Between these a policy can choose: what needs no permission, and what no host gives more of.
const leastMemoryMB, mostMemoryMB = 256, 1024

// sections are what a configuration file may have.
var sections = [...]string{"plugins", "providers"}

// ReadPolicy reads `plugins:` of a configuration file. A file that is missing, or ""
// for none, means the default; a mistake is an error and never the default.
func ReadPolicy(file string) (Policy, error) {
	if file == "" {
		return DefaultPolicy(), nil
	}
	data, err := os.ReadFile(file)
	if missing(err) {
		return DefaultPolicy(), nil
	}
	if err != nil {
		return Policy{}, fmt.Errorf("the policy for plugins cannot be read: %w", err)
	}
	return parsePolicy(file, data)
}

func parsePolicy(file string, data []byte) (Policy, error) {
	d := &document{file: file}
	p := DefaultPolicy()
	if _, root := d.root(data); root != nil {
		// A misspelled `plugins` would lift every limit.
		if n := d.fields(root, "configuration", sections[:])["plugins"]; n != nil {
			p.File = file
			d.policy(n, &p)
		}
	}
	if err := d.err(); err != nil {
		return Policy{}, err
	}
	return p, nil
}

// ReadDefaultGPU reads `providers.default_gpu` of a configuration file: the provider of
// machines with a GPU that this computer lacks. It is empty where the file or the key is
// missing.
func ReadDefaultGPU(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	data, err := os.ReadFile(file)
	if missing(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("the configuration cannot be read: %w", err)
	}
	d := &document{file: file}
	name := ""
	if _, root := d.root(data); root != nil {
		if n := d.fields(root, "configuration", sections[:])["providers"]; n != nil {
			if v := d.fields(n, "providers", []string{"default_gpu"})["default_gpu"]; v != nil {
				name = d.text(v, "providers.default_gpu")
			}
		}
	}
	return name, d.err()
}

func (d *document) policy(n *yaml.Node, p *Policy) {
	f := d.fields(n, "plugins", []string{"signatures", "signers", "destinations", "max_memory_mb", "registries"})
	if v := f["signatures"]; v != nil {
		p.Signatures = Signatures(d.text(v, "plugins.signatures"))
		switch p.Signatures {
		case SignaturesOff, SignaturesWarn, SignaturesRequire:
		default:
			d.at(v.Line, "plugins.signatures: %q is not one of off, warn, require", p.Signatures)
		}
	}
	if v := f["max_memory_mb"]; v != nil {
		mb, err := strconv.Atoi(d.text(v, "plugins.max_memory_mb"))
		if err != nil || mb < leastMemoryMB || mb > mostMemoryMB {
			d.at(v.Line, "plugins.max_memory_mb: %q is not a whole number from %d, which every plugin may use, to %d", v.Value, leastMemoryMB, mostMemoryMB)
		}
		p.MaxMemoryMB = mb
	}
	p.Signers = d.checked(f["signers"], "plugins.signers", checkFingerprint)
	p.Destinations = d.checked(f["destinations"], "plugins.destinations", checkDestination)
	p.Registries = d.checked(f["registries"], "plugins.registries", checkHost)
}

// checked is a list whose every value has passed a check.
func (d *document) checked(n *yaml.Node, what string, check func(string) error) []string {
	list := d.list(n, what)
	for i, text := range list {
		if err := check(text); err != nil && text != "" {
			d.at(n.Content[i].Line, "%s: %v", what, err)
		}
	}
	return list
}

func checkFingerprint(text string) error {
	if !fingerprintPattern.MatchString(text) {
		return fmt.Errorf("%q is not the fingerprint of a key, SHA256:…, as `ssh-keygen -l` shows it", text)
	}
	return nil
}

var (
	hostPattern   = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)
	domainPattern = regexp.MustCompile(`^\*(\.[a-z0-9-]+)+$`)
)

func checkDestination(text string) error {
	if domainPattern.MatchString(text) {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
		strings.TrimPrefix(text, u.Scheme+"://") != u.Host || strings.Contains(u.Host, "*") || strings.ToLower(u.Host) != u.Host {
		return fmt.Errorf("%q is neither an origin like https://api.example.com nor *.example.com, in small letters", text)
	}
	return nil
}

func checkHost(text string) error {
	if !hostPattern.MatchString(text) {
		return fmt.Errorf("%q is not a host like registry.example or localhost:5000, in small letters", text)
	}
	return nil
}
