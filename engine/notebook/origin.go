package notebook

import (
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/url"
	"strings"
)

// OwnOrigin is the URL of a page for a browser of this computer. All sandboxes of this
// computer listen at 127.0.0.1, and a browser keeps cookies for a host, whatever the
// port. So each page below a secret path has a name of its own under localhost, which
// browsers lead to this computer, and which the server of the page knows by its path.
// URLs of other computers, and pages without such a path, stay as they are.
func OwnOrigin(page string) string {
	u, err := url.Parse(page)
	if err != nil || u.Scheme != "http" || !loopback(u.Hostname()) {
		return page
	}
	base, _, found := strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	if base == "" || !found {
		return page
	}
	host := ownHost("/" + base + "/")
	if port := u.Port(); port != "" {
		host = net.JoinHostPort(host, port)
	}
	u.Host = host
	return u.String()
}

// ownHost is the name that belongs to a path. base_path.py of seer_notebook and
// engine/codeserver/basepath.cjs make the same.
func ownHost(base string) string {
	sum := sha256.Sum256([]byte("seer page " + base))
	return "seer-" + hex.EncodeToString(sum[:16]) + ".localhost"
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// underLocalhost reports a name that always leads to this computer, which not every
// resolver knows.
func underLocalhost(host string) bool {
	return strings.HasSuffix(strings.ToLower(strings.TrimSuffix(host, ".")), ".localhost")
}
