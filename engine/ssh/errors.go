package ssh

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/seer-engine/seer/sdk"
)

// Kind is why a host could not be used.
type Kind string

// The kinds of [Error].
const (
	HostUnknown Kind = "host_unknown" // no address is known for the name
	HostKey     Kind = "host_key"     // its key is not the known one, or none is known
	Denied      Kind = "denied"       // it accepts none of the user's keys
	NeedsLogin  Kind = "needs_login"  // a person has to type a password or a code
	TimedOut    Kind = "timed_out"    // it does not answer in time
	Lost        Kind = "lost"         // there is no connection, or it was cut
	Unusable    Kind = "unusable"     // it lacks something, such as a folder to write to
	NoSSH       Kind = "no_ssh"       // this computer has no OpenSSH, or it cannot be started
	BadHost     Kind = "bad_host"     // the name is none that is handed to ssh
)

// Error says why a host could not be used. It wraps an [sdk.Error] with the code that fits.
type Error struct {
	Host    string
	Kind    Kind
	Message string // what failed: why; what to do

	dropped bool // before a login, as sshd does with some where many come at once
}

func (e *Error) Error() string { return e.Message }

// Unwrap is the error for plugins.
func (e *Error) Unwrap() error { return sdk.Errorf(e.code(), "%s", e.Message) }

func (e *Error) code() sdk.Code {
	switch e.Kind {
	case HostUnknown:
		return sdk.NotFound
	case BadHost:
		return sdk.Invalid
	case HostKey, Denied, NeedsLogin:
		return sdk.Unauthorized
	case Unusable, NoSSH:
		return sdk.Unsupported
	}
	return sdk.Unavailable
}

func errorf(host string, kind Kind, format string, args ...any) *Error {
	return &Error{Host: host, Kind: kind, Message: fmt.Sprintf("reach the host %s by SSH: ", host) + fmt.Sprintf(format, args...)}
}

// signs are what OpenSSH says, in its own words, which it does not translate.
var signs = []struct {
	kind Kind
	text []string
}{
	{HostKey, []string{"REMOTE HOST IDENTIFICATION HAS CHANGED", "Host key verification failed", "host key is known for", "Server host key is not"}},
	{HostUnknown, []string{"Could not resolve hostname", "Name or service not known", "hostname contains invalid characters"}},
	{Denied, []string{"Permission denied", "Too many authentication failures", "No supported authentication methods"}},
	{TimedOut, []string{"timed out", "Timeout, server"}},
}

// classify makes an error of what ssh has said before the command ran.
func (c *Client) classify(host, said string) *Error {
	kind := Lost
	for _, sign := range signs {
		for _, text := range sign.text {
			if kind == Lost && strings.Contains(said, text) {
				kind = sign.kind
			}
		}
	}
	why := lastLine(said)
	switch kind {
	case HostKey:
		if strings.Contains(said, "HAS CHANGED") {
			return errorf(host, kind, "its key has changed: another computer may answer in its place, or it was installed anew; ask its administrator, then remove the old key from known_hosts")
		}
		return errorf(host, kind, "its key is not known: %s; connect once by hand and compare the key", why)
	case HostUnknown:
		return errorf(host, kind, "%s; %s", why, c.suggest(host))
	case Denied:
		if strings.Contains(said, "keyboard-interactive") || strings.Contains(said, "password") {
			return errorf(host, NeedsLogin, "%s; a person has to log in once, or a key has to be loaded into the agent", why)
		}
		return errorf(host, kind, "%s; see which user and key ssh_config names for it, and whether the key is in the agent", why)
	case TimedOut:
		return errorf(host, kind, "%s; see whether it is up and can be reached from this network", why)
	}
	if why == "" {
		why = "the connection was cut"
	}
	err := errorf(host, kind, "%s; try again when it can be reached", why)
	err.dropped = strings.HasPrefix(why, "Connection reset by ") || strings.HasPrefix(why, "kex_exchange_identification: ")
	return err
}

// lastLine is the last line that says something, without what ssh says about its master.
func lastLine(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if line != "" && !strings.HasPrefix(line, "mux_client") && !strings.HasPrefix(line, "ControlSocket ") {
			return fmt.Sprintf("%.400s", strings.Map(printable, line))
		}
	}
	return ""
}

// printable keeps what hosts say from moving the cursor.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}
