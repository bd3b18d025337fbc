package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/seer-engine/seer/sdk"
)

func (c *Cluster) errorf(code sdk.Code, format string, args ...any) *sdk.Error {
	return sdk.Errorf(code, "reach the Kubernetes context "+strings.ReplaceAll(c.Context.Name, "%", "%%")+": "+format, args...)
}

// explain makes an error of why no answer came.
func (c *Cluster) explain(err error) error {
	var known *sdk.Error
	if errors.As(err, &known) {
		return known
	}
	if e := c.explainCredential(err); e != nil {
		return e
	}
	if e := c.explainTLS(err); e != nil {
		return e
	}
	var (
		name    *net.DNSError
		timeout interface{ Timeout() bool }
		op      *net.OpError
	)
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return c.errorf(sdk.Unavailable, "its proxy cannot be reached: %s; see proxy-url in the kubeconfig and HTTPS_PROXY", oneLine(op.Err))
	case errors.As(err, &name):
		return c.errorf(sdk.Unavailable, "no address is known for %s; see the server of its cluster in the kubeconfig, and the network", name.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return c.errorf(sdk.Unavailable, "%s refuses connections; see whether the cluster runs, and the server in the kubeconfig", c.server())
	case c.expiry() != "": // HTTP/2 hides what the API says of it
		return c.errorf(sdk.Unauthorized, "%s; %s, may be why: renew it", oneLine(err), c.credential())
	case errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout()):
		return c.errorf(sdk.Unavailable, "%s does not answer in time; see whether the cluster runs and can be reached from this network", c.server())
	}
	return c.errorf(sdk.Unavailable, "%s; try again when it can be reached", oneLine(err))
}

// explainCredential is for credentials that cannot be had.
func (c *Cluster) explainCredential(err error) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "cannot support interactive mode"):
		return c.errorf(sdk.Unauthorized, "%s wants a terminal, and has none here; log in by hand once, or set its interactiveMode to IfAvailable", c.credential())
	case strings.Contains(text, "getting credentials") || strings.Contains(text, "exec: executable"):
		why := text
		if _, after, ok := strings.Cut(text, "getting credentials: "); ok {
			why = after
		}
		why = oneLine(errors.New(why))
		if said := c.said(); said != "" {
			why += " (" + said + ")"
		}
		return c.errorf(sdk.Unauthorized, "%s failed: %s; run it by hand, such as with kubectl", c.credential(), strings.TrimPrefix(why, "exec: "))
	case strings.Contains(text, "no Auth Provider found"):
		return c.errorf(sdk.Unauthorized, "the kubeconfig has an auth-provider, which Kubernetes no longer supports; replace it by an exec plugin")
	}
	return nil
}

// explainTLS is for certificates, of either side.
func (c *Cluster) explainTLS(err error) error {
	var (
		unknown x509.UnknownAuthorityError
		invalid x509.CertificateInvalidError
		host    x509.HostnameError
		plain   tls.RecordHeaderError
		op      *net.OpError
	)
	switch {
	case errors.As(err, &unknown):
		return c.errorf(sdk.Unavailable, "the certificate of %s is signed by an authority that the kubeconfig does not name; see certificate-authority there, and whether it is the right cluster", c.server())
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return c.errorf(sdk.Unavailable, "the certificate of %s is not valid now: %s; have it renewed, and see this computer's clock", c.server(), invalid.Detail)
	case errors.As(err, &host):
		return c.errorf(sdk.Unavailable, "the certificate is not for %s; see server and tls-server-name in the kubeconfig", c.server())
	case errors.As(err, &plain) || errors.Is(err, http.ErrSchemeMismatch):
		return c.errorf(sdk.Unavailable, "%s does not speak TLS; see the server in the kubeconfig", c.server())
	case errors.As(err, &op) && op.Op == "remote error": // an alert
		return c.errorf(sdk.Unauthorized, "%s refuses %s: %s; renew it", c.server(), c.credential(), oneLine(op.Err))
	case strings.Contains(err.Error(), "tls: "):
		return c.errorf(sdk.Unavailable, "no connection by TLS to %s: %s", c.server(), afterLast(err.Error(), "tls: "))
	}
	return nil
}

// is401 reports whether an upgrade was refused without a status, as by a proxy before the API.
func is401(err error) bool { return strings.Contains(err.Error(), "(401 ") }

// refused is for an API that does not accept the credential.
func (c *Cluster) refused() error {
	what := "renew it"
	if c.config.ExecProvider != nil {
		what = "log in again by hand, such as with kubectl"
	}
	return c.errorf(sdk.Unauthorized, "the API does not accept %s (401); %s", c.credential(), what)
}

// credential says what kind of credential the kubeconfig has.
func (c *Cluster) credential() string {
	switch o := c.config; {
	case o.ExecProvider != nil:
		return "the exec plugin " + o.ExecProvider.Command
	case o.AuthProvider != nil:
		return "the auth-provider " + o.AuthProvider.Name
	case o.BearerTokenFile != "":
		return "the token in " + o.BearerTokenFile
	case o.BearerToken != "":
		return "the token in the kubeconfig"
	case len(o.CertData) > 0 || o.CertFile != "":
		return "the client certificate" + c.expiry()
	case o.Username != "":
		return "the password of " + o.Username
	}
	return "a request without a credential"
}

// expiry says since when the client certificate has not been valid.
func (c *Cluster) expiry() string {
	data := c.config.CertData
	if len(data) == 0 {
		data, _ = os.ReadFile(c.config.CertFile) // a file that cannot be read was an error before
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return ""
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil || time.Now().Before(cert.NotAfter) {
		return ""
	}
	return fmt.Sprintf(", which expired on %s", cert.NotAfter.UTC().Format(time.DateOnly))
}

func afterLast(text, sep string) string {
	if i := strings.LastIndex(text, sep); i >= 0 {
		text = text[i+len(sep):]
	}
	return oneLine(errors.New(text))
}

// oneLine is an error without line breaks, and not longer than people read.
func oneLine(err error) string { return OneLine(err.Error()) }

// OneLine makes one line of a text, without what moves a terminal's cursor.
func OneLine(text string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " ")
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
	return fmt.Sprintf("%.600s", text)
}
