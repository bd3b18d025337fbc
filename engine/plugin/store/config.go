package store

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/seer-engine/seer/engine/policy"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/internal/yamldoc"
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

// readAdminPolicy reads `plugins:` of the policy of this computer's administrator.
func readAdminPolicy(file string) (Policy, error) {
	if _, err := policy.From(file); err != nil { // which also checks the other sections
		return Policy{}, err
	}
	data, err := policy.ReadFile(file)
	if err != nil || data == nil {
		return DefaultPolicy(), err
	}
	return parseAdminPolicy(file, data)
}

func parseAdminPolicy(file string, data []byte) (Policy, error) {
	d := &yamldoc.Document{File: file}
	p := DefaultPolicy()
	p.Signatures = SignaturesOff
	if _, root := d.Root(data); root != nil {
		if n := d.Fields(root, "policy", nil)[policy.PluginsKey]; n != nil {
			p.File = file
			readPolicy(d, n, &p)
		}
	}
	return p, d.Err()
}

func parsePolicy(file string, data []byte) (Policy, error) {
	d := &yamldoc.Document{File: file}
	p := DefaultPolicy()
	if _, root := d.Root(data); root != nil {
		// A misspelled `plugins` would lift every limit.
		if n := d.Fields(root, "configuration", sections[:])["plugins"]; n != nil {
			p.File = file
			readPolicy(d, n, &p)
		}
	}
	if err := d.Err(); err != nil {
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
	d := &yamldoc.Document{File: file}
	name := ""
	if _, root := d.Root(data); root != nil {
		if n := d.Fields(root, "configuration", sections[:])["providers"]; n != nil {
			if v := d.Fields(n, "providers", []string{"default_gpu"})["default_gpu"]; v != nil {
				name = d.Text(v, "providers.default_gpu")
			}
		}
	}
	return name, d.Err()
}

func readPolicy(d *yamldoc.Document, n *yaml.Node, p *Policy) {
	f := d.Fields(n, "plugins", []string{"signatures", "signers", "destinations", "max_memory_mb", "registries"})
	if v := f["signatures"]; v != nil {
		p.Signatures = Signatures(d.Text(v, "plugins.signatures"))
		switch p.Signatures {
		case SignaturesOff, SignaturesWarn, SignaturesRequire:
		default:
			d.At(v.Line, "plugins.signatures: %q is not one of off, warn, require", p.Signatures)
		}
	}
	if v := f["max_memory_mb"]; v != nil {
		mb, err := strconv.Atoi(d.Text(v, "plugins.max_memory_mb"))
		if err != nil || mb < leastMemoryMB || mb > mostMemoryMB {
			d.At(v.Line, "plugins.max_memory_mb: %q is not a whole number from %d, which every plugin may use, to %d", v.Value, leastMemoryMB, mostMemoryMB)
		}
		p.MaxMemoryMB = mb
	}
	p.Signers = checked(d, f["signers"], "plugins.signers", checkFingerprint)
	p.Destinations = checked(d, f["destinations"], "plugins.destinations", checkDestination)
	p.Registries = checked(d, f["registries"], "plugins.registries", checkHost)
}

// checked is a list whose every value has passed a check.
func checked(d *yamldoc.Document, n *yaml.Node, what string, check func(string) error) []string {
	list := d.List(n, what)
	for i, text := range list {
		if err := check(text); err != nil && text != "" {
			d.At(n.Content[i].Line, "%s: %v", what, err)
		}
	}
	return list
}

func checkFingerprint(text string) error {
	if !fingerprintPattern().MatchString(text) {
		return fmt.Errorf("%q is not the fingerprint of a key, SHA256:…, as `ssh-keygen -l` shows it", text)
	}
	return nil
}

var (
	hostPattern   = lazyregexp.New(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?$`)
	domainPattern = lazyregexp.New(`^\*(\.[a-z0-9-]+)+$`)
)

func checkDestination(text string) error {
	if domainPattern().MatchString(text) {
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
	if !hostPattern().MatchString(text) {
		return fmt.Errorf("%q is not a host like registry.example or localhost:5000, in small letters", text)
	}
	return nil
}
