package oci

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/seer-engine/seer/engine/ociclient"
	"github.com/seer-engine/seer/engine/remedy"
	"github.com/seer-engine/seer/internal/httpretry"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// explain says what failed where, and what to do about it.
func (s session) explain(ctx context.Context, err error) error {
	var answer *errcode.ErrorResponse
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return context.Canceled
	case errors.Is(err, ociclient.ErrLogin):
		return s.fail(sdk.Unauthorized, "the saved login for %s cannot be read: %s", s.repo.Reference.Registry, plain(err))
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return s.fail(sdk.Unauthorized, "it wants a login, and there is none. %s", s.login())
	case errors.Is(err, errdef.ErrNotFound):
		return s.missing(ctx)
	case errors.Is(err, http.ErrSchemeMismatch) && httpretry.Loopback(ociclient.Hostname(s.repo.Reference)):
		return remedy.For(s.fail(sdk.Invalid, "this registry speaks plain HTTP; allow plain HTTP for it"), allowPlain)
	case errors.As(err, &answer):
		return s.answered(ctx, answer)
	}
	var dial *net.OpError
	todo, remedies := "", []remedy.Remedy(nil)
	if errors.As(err, &dial) && dial.Op == "dial" {
		todo, remedies = s.unreachable()
	}
	err = httpretry.Failure(ctx, err)
	var coded *sdk.Error
	if !errors.As(err, &coded) {
		return err
	}
	e := s.fail(coded.Code, "%s%s", plain(err), todo)
	e.Seconds = coded.Seconds
	return remedy.For(e, remedies...)
}

var allowPlain = remedy.Remedy{Action: remedy.AllowPlainHTTP}

// unreachable says what to look at when nobody answers.
func (s session) unreachable() (string, []remedy.Remedy) {
	text := fmt.Sprintf(". Is the registry running, and is %s its address?", s.repo.Reference.Registry)
	if !s.repo.PlainHTTP && httpretry.Loopback(ociclient.Hostname(s.repo.Reference)) {
		return text + " One on this computer may speak plain HTTP, which must be allowed for it", []remedy.Remedy{allowPlain}
	}
	return text, nil
}

func (s session) answered(ctx context.Context, answer *errcode.ErrorResponse) error {
	said := httpretry.Printable(answer.Errors.Error())
	if len(answer.Errors) == 0 {
		said = http.StatusText(answer.StatusCode)
	}
	switch code := httpretry.Code(answer.StatusCode); code {
	case sdk.NotFound:
		return s.missing(ctx)
	case sdk.Unauthorized:
		if answer.URL != nil && answer.URL.Host != s.repo.Reference.Host() {
			break // not of the registry, so no login helps
		}
		return s.fail(code, "access is refused (%d: %s). %s", answer.StatusCode, said, s.login())
	}
	return s.fail(httpretry.Code(answer.StatusCode), "%s answered %d: %s", answer.URL.Host, answer.StatusCode, said)
}

func (s session) login() string {
	return fmt.Sprintf("Log in with `docker login %s` (or oras login, podman login --compat-auth-file ~/.docker/config.json); without any of them, write ~/.docker/config.json", s.repo.Reference.Registry)
}

const tagsShown = 10

// missing names what there is instead.
func (s session) missing(ctx context.Context) error {
	tags, err := s.tags(ctx)
	switch name := s.repo.Reference.Reference; {
	case err != nil:
		return s.fail(sdk.NotFound, "there is no such plugin, or it is not shown without a login. %s", s.login())
	case len(tags) == 0:
		return s.fail(sdk.NotFound, "nothing is there")
	case strings.Contains(name, ":"):
		return s.fail(sdk.NotFound, "%s is not there, or not all of it", name)
	default:
		more := ""
		if n := len(tags) - tagsShown; n > 0 {
			tags, more = tags[n:], fmt.Sprintf(" and %d more", n)
		}
		return s.fail(sdk.NotFound, "there is no tag %s, or not all of what it names; there are %s%s", name, httpretry.Printable(strings.Join(tags, ", ")), more)
	}
}

func (s session) fail(code sdk.Code, format string, args ...any) *sdk.Error {
	return sdk.Errorf(code, "%s: %s", s.repo.Reference.String(), fmt.Sprintf(format, args...))
}

var query = lazyregexp.New(`\?[^\s"]*`)

// plain is an error's text without the queries of addresses, which may be credentials.
func plain(err error) string {
	return httpretry.Printable(query().ReplaceAllString(err.Error(), ""))
}
