package egress

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// origin is scheme, host and port of a URL, in one spelling.
type origin struct{ scheme, host, port string }

func (o origin) String() string {
	host := o.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if o.port == defaultPort(o.scheme) {
		return o.scheme + "://" + host
	}
	return o.scheme + "://" + host + ":" + o.port
}

func (o origin) addr() string { return net.JoinHostPort(o.host, o.port) }

func defaultPort(scheme string) string {
	if scheme == "http" {
		return "80"
	}
	return "443"
}

// parseOrigin reads https://host[:port] or http://host[:port].
func parseOrigin(text string) (origin, error) {
	u, err := url.Parse(text)
	if err != nil {
		return origin{}, fmt.Errorf("%q is not an origin like https://api.example.com", text)
	}
	o, err := originOf(u)
	switch {
	case err != nil:
		return origin{}, err
	case (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return origin{}, fmt.Errorf("%q has more than scheme, host and port; name only https://host[:port]", text)
	}
	return o, nil
}

// originOf takes the origin of a URL, and refuses what different parsers read
// differently.
func originOf(u *url.URL) (origin, error) {
	o := origin{scheme: strings.ToLower(u.Scheme), host: strings.ToLower(u.Hostname()), port: u.Port()}
	if o.port == "" {
		o.port = defaultPort(o.scheme)
	}
	n, err := strconv.Atoi(o.port)
	switch {
	case o.scheme != "https" && o.scheme != "http":
		return o, fmt.Errorf("%q does not begin with https://", u.Redacted())
	case u.User != nil:
		return o, fmt.Errorf("the URL of %s holds a user name; credentials are bound by the manifest", o.host)
	case u.Opaque != "" || !plainHost(o.host):
		return o, fmt.Errorf("%q has no plain host name", u.Redacted())
	case err != nil || n < 1 || n > 65535:
		return o, fmt.Errorf("%q has no valid port", u.Redacted())
	}
	o.port = strconv.Itoa(n)
	return o, nil
}

// plainHost allows names and addresses without a zone.
func plainHost(host string) bool {
	if host == "" || strings.HasPrefix(host, ".") || strings.HasSuffix(host, ".") || strings.Contains(host, "..") {
		return false
	}
	for _, c := range []byte(host) {
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("-_.:", rune(c)) {
			return false
		}
	}
	return true
}
