package egress

import (
	"context"
	"io"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/internal/sshname"
	"github.com/seer-engine/seer/sdk"
)

// SSH runs commands on hosts with the user's OpenSSH. It is safe for concurrent use.
type SSH interface {
	// Run runs argv on a host until it or ctx ends. [sdk.SSHProgram] as argv[0] is Seer's
	// program there. An error says that the command did not run to its end; it is an
	// *[sdk.Error] with one of the codes of [sdk.SSHOpen].
	Run(ctx context.Context, host string, argv []string, stdin io.Reader) (SSHResult, error)
}

// SSHHosts remembers on which hosts plugins have run something. It is safe for concurrent use.
type SSHHosts interface {
	Used(plugin, host string) error
	Of(plugin string) ([]string, error) // sorted, each once
}

// SSHResult is what a command on a host has said, and how it has ended.
type SSHResult struct {
	Stdout []byte
	Stderr []byte
	Code   int
}

const (
	maxArgv   = 64 << 10 // bytes of a command
	maxStderr = 4 << 10  // bytes of standard error that a guest sees, the last ones
)

// OpenSSH is [sdk.HostSSHOpen]: it checks a command and begins it.
func (s *Session) OpenSSH(in sdk.SSHOpen) (sdk.Opened, error) {
	c := &command{s: s, in: in, began: time.Now()}
	if err := c.check(); err != nil {
		return sdk.Opened{}, c.refused(err)
	}
	var err error
	if c.st, err = s.open(in.TimeoutSeconds); err != nil {
		return sdk.Opened{}, c.refused(err)
	}
	s.start(c.st, c.run)
	return sdk.Opened{Stream: c.st.id}, nil
}

// command is one that runs on a host.
type command struct {
	s     *Session
	st    *stream
	in    sdk.SSHOpen
	line  string // the permission that allows it
	made  bool   // ssh was started
	body  *bodyReader
	got   int64
	began time.Time
}

func (c *command) check() error {
	err := checkArgv(c.in.Argv, c.in.Host)
	if err != nil {
		return err
	}
	if c.line, err = c.s.allowSSH(c.in.Host, sdk.SSHExec); err != nil {
		return err
	}
	if c.s.g.o.SSH == nil {
		return sdk.Errorf(sdk.Unsupported, "this program reaches no hosts by SSH")
	}
	return nil
}

// checkArgv checks a command that runs somewhere.
func checkArgv(argv []string, where string) error {
	size := 0
	for _, word := range argv {
		size += len(word) + 1
		if strings.ContainsRune(word, 0) {
			return sdk.Errorf(sdk.Invalid, "an argument of the command holds a NUL byte")
		}
	}
	switch {
	case len(argv) == 0 || argv[0] == "":
		return sdk.Errorf(sdk.Invalid, "there is no command to run on %s", where)
	case size > maxArgv:
		return sdk.Errorf(sdk.Invalid, "the command for %s has %d bytes; the limit is %d", where, size, maxArgv)
	}
	return nil
}

func (c *command) run() {
	var stdin io.Reader
	if c.in.Body {
		c.body = &bodyReader{st: c.st}
		stdin = c.body
	}
	c.made = true
	result, err := c.s.g.o.SSH.Run(c.st.ctx, c.in.Host, c.in.Argv, stdin)
	c.st.stopSending()
	if err != nil {
		c.st.fail(c.refused(err))
		return
	}
	if hosts := c.s.g.o.SSHHosts; hosts != nil {
		if err := hosts.Used(c.s.g.id, c.in.Host); err != nil {
			c.st.fail(c.refused(sdk.Errorf(sdk.Internal, "remember the host %s: %v", c.in.Host, err)))
			return
		}
	}
	c.got = int64(len(result.Stdout))
	c.s.say(c.st, result, c.record)
}

// say hands over what a command has said, and how it has ended.
func (s *Session) say(st *stream, result SSHResult, record func(Audit)) {
	s.g.scrub.fill(result.Stdout)
	if st.write(result.Stdout) != nil {
		return
	}
	record(Audit{Status: result.Code})
	said := result.Stderr[max(0, len(result.Stderr)-maxStderr):]
	s.emit(st, event{Event: sdk.Event{Kind: sdk.EventEnd, Code: uint32(result.Code), Message: s.g.Scrub(strings.ToValidUTF8(string(said), ""))}})
}

func (c *command) refused(err error) *sdk.Error {
	e := c.s.g.failure("the command on "+c.in.Host, err)
	c.record(Audit{Error: e.Message, Refused: !c.made})
	return e
}

func (c *command) record(a Audit) {
	a.Destination, a.Method, a.Path = "ssh://"+c.in.Host, "SSH", "/"+strings.Join(c.in.Argv, " ")
	a.Permission, a.Time, a.Received = c.line, c.began, c.got
	if c.body != nil {
		a.Sent = c.body.sent.Load()
	}
	c.s.g.audit(a)
}

// SSHHosts is [sdk.HostSSHHosts].
func (s *Session) SSHHosts() ([]string, error) {
	if len(s.g.o.Asked.Permissions.SSH) == 0 {
		return nil, sdk.Errorf(sdk.Unauthorized, "the manifest of plugin %s asks for no host", s.g.id)
	}
	if s.g.o.SSHHosts == nil {
		return []string{}, nil
	}
	return s.g.o.SSHHosts.Of(s.g.id)
}

// AllowRoute checks a route that the plugin has answered.
func (g *Gateway) AllowRoute(ctx context.Context, route sdk.Route) error {
	s := g.Session(ctx)
	defer s.Close()
	if route.Kube != nil {
		_, err := s.allowKube(route.Kube.Context, kubeNeed{route.Kube.Namespace, sdk.KubeForward})
		return err
	}
	r := *route.SSH
	_, err := s.allowSSH(r.Host, sdk.SSHForward)
	if err == nil && len(r.Command) > 0 {
		_, err = s.allowSSH(r.Host, sdk.SSHExec)
	}
	return err
}

// allowSSH finds the permission for the use of a host.
func (s *Session) allowSSH(host, use string) (line string, err error) {
	if !sshname.Valid(host) {
		return "", sdk.Errorf(sdk.Invalid, "%.100q is not a name of a host, as name or user@name", host)
	}
	line, err = s.permission(use+" on the host "+host, func(p *policy, m sdk.Manifest) string { return p.searchSSH(m, host, use) })
	if err == nil && !withinHosts(s.g.o.Destinations, host) {
		return "", sdk.Errorf(sdk.Unauthorized, "plugin %s may not use the host %s: the policy for plugins does not allow it (plugins.destinations)", s.g.id, host)
	}
	return line, err
}

func (p *policy) searchSSH(m sdk.Manifest, host, use string) string {
	for _, r := range m.Permissions.SSH {
		if !slices.Contains(r.Use, use) {
			continue
		}
		for _, pattern := range r.Hosts {
			if p.isNamed(pattern, host) {
				return access.SSH(m, pattern, use)
			}
		}
	}
	return ""
}

// isNamed reports whether a pattern of a permission covers a name. A * covers a slash, too: names
// of contexts may have one, and are no paths.
func (p *policy) isNamed(pattern, name string) bool {
	if setting, isSetting := settingName(pattern); isSetting {
		return slices.Contains(nameList(p.values.settings[setting].text), name)
	}
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return err == nil && ok
}

// nameList takes a setting apart that lists names.
func nameList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// withinHosts reports whether a policy for destinations allows a host: *.example.com is every
// host below example.com. What else a policy can name is no host of SSH.
func withinHosts(allowed []string, host string) bool {
	if len(allowed) == 0 {
		return true
	}
	name := strings.ToLower(host[strings.LastIndexByte(host, '@')+1:])
	return slices.ContainsFunc(allowed, func(text string) bool {
		domain, ok := strings.CutPrefix(text, "*.")
		return ok && strings.HasSuffix(name, "."+strings.ToLower(domain))
	})
}
