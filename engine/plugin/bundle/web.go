package bundle

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/seer-engine/seer/internal/httpretry"
	"github.com/seer-engine/seer/sdk"
)

// Fetch gets https://…/STEM.wasm, and what of STEM.wasm.sig and STEM.conformance.json is
// beside it; STEM.yaml only where the module has no manifest inside. http:// is for
// this computer alone.
func Fetch(ctx context.Context, address string, o httpretry.Options) (Bundle, Origin, error) {
	o = o.Defaults()
	origin := Origin{Reference: address}
	u, err := parseURL(address)
	if err != nil {
		return Bundle{}, origin, err
	}
	shown := *u
	shown.RawQuery = "" // may be a credential
	origin.Resolved = shown.String()
	ctx, cancel := context.WithTimeout(ctx, o.Total)
	defer cancel()
	b, err := web{o, o.Client(), u}.fetch(ctx)
	if err != nil {
		return Bundle{}, origin, within(origin.Resolved, err)
	}
	return b, origin, nil
}

func parseURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return nil, sdk.Errorf(sdk.Invalid, "not an address; it has the form https://host/path/ID.wasm")
	case u.User != nil:
		return nil, sdk.Errorf(sdk.Invalid, "%s: an address with a password in it would end up in seer.lock and logs; leave it out", u.Host)
	case u.Scheme != "https" && !httpretry.Plain(u):
		return nil, sdk.Errorf(sdk.Invalid, "%s://%s: plugins are fetched by https:// (http:// only from this computer)", u.Scheme, u.Host)
	case !strings.HasSuffix(u.Path, wasmSuffix):
		return nil, sdk.Errorf(sdk.Invalid, "https://%s%s: the address of a plugin ends in .wasm; for a registry write oci://%s%s", u.Host, u.Path, u.Host, u.Path)
	}
	u.Fragment = ""
	return u, nil
}

type web struct {
	o      httpretry.Options
	client *http.Client
	at     *url.URL
}

func (w web) fetch(ctx context.Context) (Bundle, error) {
	wasm, err := w.get(ctx, wasmSuffix, MaxWasm)
	if err != nil {
		return Bundle{}, err
	}
	w.o.Progress = nil // the rest is small
	b, err := New(wasm, nil)
	if err != nil {
		manifest, missing := w.beside(ctx, manifestSuffix, MaxManifest)
		if missing != nil || manifest == nil {
			return Bundle{}, err
		}
		if b, err = New(wasm, manifest); err != nil {
			return Bundle{}, err
		}
	}
	if b.Signature, err = w.beside(ctx, signatureSuffix, MaxSignature); err != nil {
		return Bundle{}, err
	}
	b.Report, err = w.beside(ctx, reportSuffix, MaxReport)
	return b, err
}

// beside gets a part that need not be there. Stores of files say 403 where they do not
// tell who is missing; whoever could lie there could as well leave the part out.
func (w web) beside(ctx context.Context, suffix string, limit int64) ([]byte, error) {
	data, err := w.get(ctx, suffix, limit)
	switch sdk.CodeOf(err) {
	case "":
		return data, nil
	case sdk.NotFound, sdk.Unauthorized:
		return nil, nil
	}
	return nil, within("…"+suffix, err)
}

func (w web) get(ctx context.Context, suffix string, limit int64) ([]byte, error) {
	u := *w.at
	u.Path = strings.TrimSuffix(u.Path, wasmSuffix) + suffix
	u.RawPath = ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept-Encoding", "identity") // no other bytes than those that were signed, and no bombs
	resp, err := w.client.Do(req)
	if err != nil {
		return nil, httpretry.Failure(ctx, err)
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, httpretry.Status(resp)
	}
	return w.o.Read(ctx, resp.Body, resp.ContentLength, limit)
}
