package artifact

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/seer-engine/seer/sdk"
	"github.com/seer-engine/seer/sdk/guest/guestapi"
)

// maxManifest is how large a manifest may be, in bytes, as registries have it.
const maxManifest = 4 << 20

// token is an anonymous one, for reading one repository.
type token struct {
	text    string
	expires time.Time
}

// origin is where a registry is asked.
func (f *Fetcher) origin(host string) string {
	if host == "docker.io" {
		return "https://registry-1.docker.io"
	}
	for text := range strings.SplitSeq(f.Origins+","+f.Registry, ",") {
		if text = strings.TrimSuffix(strings.TrimSpace(text), "/"); text == "http://"+host {
			return text
		}
	}
	return "https://" + host
}

// hasLogin reports whether the host adds a login for this registry.
func (f *Fetcher) hasLogin(host string) bool {
	return f.Registry != "" && strings.TrimSuffix(f.Registry, "/") == f.origin(host)
}

// get asks a registry, and with a token if it wants one. It returns the token.
func (f *Fetcher) get(ctx context.Context, r reference, doing, path string, header guestapi.Header, most int64) (guestapi.Answer, token, error) {
	f.mu.Lock()
	t := f.tokens[r.name()]
	f.mu.Unlock()
	if t.text != "" && time.Now().After(t.expires) {
		t = token{}
	}
	for fresh := false; ; fresh = true {
		a, err := f.send(ctx, f.origin(r.host), doing, path, withToken(header, t), most)
		if err != nil || a.Status != 401 || fresh {
			return a, t, err
		}
		challenge := a.Get("WWW-Authenticate")
		if t, err = f.token(ctx, r, challenge); err != nil || t.text == "" {
			return a, t, err
		}
	}
}

func withToken(header guestapi.Header, t token) guestapi.Header {
	out := maps.Clone(header)
	if out == nil {
		out = guestapi.Header{}
	}
	if t.text != "" {
		out["Authorization"] = []string{"Bearer " + t.text}
	}
	return out
}

func (f *Fetcher) send(ctx context.Context, origin, doing, path string, header guestapi.Header, most int64) (guestapi.Answer, error) {
	client := f.client(origin)
	client.MaxAnswer = most
	return client.Send(ctx, guestapi.Request{Doing: doing, Method: "GET", Path: path, Header: header})
}

func (f *Fetcher) client(origin string) *guestapi.Client {
	_, host, _ := strings.Cut(origin, "://")
	return &guestapi.Client{Name: host, URL: origin, Sender: f.Sender}
}

var parameter = regexp.MustCompile(`([a-z]+)="([^"]*)"`)

// token asks for an anonymous token where a registry says. It is empty if the registry wants
// something else.
func (f *Fetcher) token(ctx context.Context, r reference, challenge string) (token, error) {
	scheme, rest, _ := strings.Cut(challenge, " ")
	if !strings.EqualFold(scheme, "bearer") {
		return token{}, nil
	}
	has := map[string]string{}
	for _, m := range parameter.FindAllStringSubmatch(rest, -1) {
		has[m[1]] = m[2]
	}
	realm, err := url.Parse(has["realm"])
	if err != nil || realm.Scheme != "https" && realm.Scheme != "http" || realm.Host == "" {
		return token{}, sdk.Errorf(sdk.Internal, "%s wants a token and does not say where to get one", r.host)
	}
	query := realm.Query()
	query.Set("scope", "repository:"+r.repo+":pull")
	if has["service"] != "" {
		query.Set("service", has["service"])
	}
	doing := "asking for a token of " + r.name()
	origin := realm.Scheme + "://" + realm.Host
	a, err := f.send(ctx, origin, doing, realm.EscapedPath()+"?"+query.Encode(), nil, maxManifest)
	if err != nil {
		return token{}, err
	}
	var got struct {
		Token       string  `json:"token"`
		AccessToken string  `json:"access_token"`
		Seconds     float64 `json:"expires_in"`
	}
	if a.Status == 401 || a.Status == 403 {
		return token{}, nil
	}
	if err := json.Unmarshal(a.Body, &got); err != nil || a.Status != 200 || got.Token+got.AccessToken == "" {
		return token{}, sdk.Errorf(sdk.Unavailable, "%s gives no token (status %d)", realm.Host, a.Status)
	}
	if got.Token == "" {
		got.Token = got.AccessToken
	}
	if got.Seconds < 60 || got.Seconds > 1<<20 {
		got.Seconds = 60 // as the specification says of one without
	}
	t := token{got.Token, time.Now().Add(time.Duration(got.Seconds*0.9) * time.Second)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens[r.name()] = t
	return t, nil
}

// problem says what an answer means that is not a success.
func (f *Fetcher) problem(r reference, doing string, a guestapi.Answer) error {
	switch a.Status {
	case 404:
		return sdk.Errorf(sdk.NotFound, "%s does not exist in the registry", r)
	case 401, 403:
		if f.hasLogin(r.host) {
			return sdk.Errorf(sdk.Unauthorized, "%s refuses the login in SEER_OCI_LOGIN for %s", r.host, r)
		}
		return sdk.Errorf(sdk.Unauthorized, "%s does not exist, or is private: set SEER_OCI_REGISTRY to %s, and SEER_OCI_LOGIN to the base64 of USER:PASSWORD", r, f.origin(r.host))
	}
	return f.client(f.origin(r.host)).Problem(guestapi.Request{Doing: doing}, a)
}
