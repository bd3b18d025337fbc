package notebook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// Address is where a Jupyter server with the notebook service is.
type Address struct {
	URL    string // of Jupyter, with a slash at its end: "https://host/base/"; "unix:/path" for a socket
	Token  string
	Base   string // of a socket: the path of everything behind it, with a slash at both ends; empty = "/"
	socket string

	// Dial makes the connections, where the server is reached in another way than its
	// URL says, such as through the runtime. nil = as the URL says.
	Dial func(ctx context.Context) (net.Conn, error)
}

const addressForms = "http://HOST:PORT/?token=TOKEN, https://HOST/BASE/?token=TOKEN or unix:/PATH?token=TOKEN&base=/BASE/"

// Parse reads a jupyter_url: http(s)://HOST[:PORT][/BASE]/?token=T, also one that leads
// to a page of Jupyter as a browser shows it, or unix:/PATH?token=T[&base=/BASE/]. An error never has
// the token in it.
func Parse(text string) (Address, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return Address{}, fmt.Errorf("the Jupyter URL cannot be read; it looks like %s", addressForms)
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, fmt.Errorf("what follows the ? of the Jupyter URL cannot be read; it looks like %s", addressForms)
	}
	a := Address{Token: q.Get("token")}
	switch u.Scheme {
	case "unix":
		err = a.unix(u, q.Get("base"))
	case "http", "https":
		err = a.web(u)
	default:
		err = fmt.Errorf("%q is not a Jupyter URL; it looks like %s", hidden(u), addressForms)
	}
	if err != nil {
		return Address{}, err
	}
	if a.Token == "" {
		return Address{}, fmt.Errorf("the Jupyter URL %s has no token; use the whole jupyter_url, which ends in ?token=…", hidden(u))
	}
	if strings.ContainsFunc(a.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Address{}, errors.New("the token of the Jupyter URL has characters that no token has; copy the whole URL again")
	}
	return a, nil
}

func (a *Address) unix(u *url.URL, below string) error {
	if a.socket = u.Path; u.Host != "" || !path.IsAbs(a.socket) {
		return fmt.Errorf("%q is not a Jupyter URL: the path of the socket begins with one slash: unix:/PATH?token=TOKEN", hidden(u))
	}
	a.URL = (&url.URL{Scheme: "unix", Path: a.socket, OmitHost: true}).String()
	if below = strings.Trim(below, "/"); below != "" {
		a.Base = "/" + below + "/"
	}
	return nil
}

func (a *Address) web(u *url.URL) error {
	if u.Hostname() == "" {
		return fmt.Errorf("the Jupyter URL %s names no host; it looks like %s", hidden(u), addressForms)
	}
	if u.User != nil {
		return fmt.Errorf("the Jupyter URL %s has a user in it; Jupyter takes a token: %s", hidden(u), addressForms)
	}
	a.URL = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: base(u.Path)}).String()
	return nil
}

// base is the path of the server itself in that of one of its pages.
func base(p string) string {
	p = "/" + strings.TrimLeft(p, "/")
	for _, page := range []string{"/lab/tree/", "/lab/workspaces/", "/doc/tree/", "/tree/", "/notebooks/", "/seer/v1"} {
		if i := strings.Index(p, page); i >= 0 {
			return p[:i] + "/"
		}
	}
	p = strings.TrimRight(p, "/")
	for _, page := range []string{"/lab", "/tree", "/login"} {
		if before, ok := strings.CutSuffix(p, page); ok {
			return before + "/"
		}
	}
	return p + "/"
}

// hidden is the URL without what must not be told.
func hidden(u *url.URL) string {
	v := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, Opaque: u.Opaque}
	return v.String()
}

// String is the URL without the token, for messages.
func (a Address) String() string { return a.URL }

// Full is the URL with the token, as [Parse] reads it.
func (a Address) Full() string {
	full := a.URL + "?token=" + url.QueryEscape(a.Token)
	if a.Base != "" {
		full += "&base=" + url.QueryEscape(a.Base)
	}
	return full
}

// base is what the client puts before its paths.
func (a Address) base() string {
	if a.socket != "" || strings.HasPrefix(a.URL, "unix:") {
		return (&url.URL{Scheme: "http", Host: "jupyter", Path: cmp.Or(a.Base, "/")}).String()
	}
	return strings.TrimSuffix(a.URL, "/") + "/"
}

func (a Address) transport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	dial := a.Dial
	if socket := a.socket; dial == nil && socket != "" {
		dial = func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		}
	}
	if u, err := url.Parse(a.URL); dial == nil && err == nil && underLocalhost(u.Hostname()) {
		dial = func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", cmp.Or(u.Port(), "80")))
		}
	}
	if dial != nil {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	}
	return t
}
