package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/errdefs"
	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// Tokens lists the tokens of the service and what they have been used for.
func (v *Service) Tokens(ctx context.Context) ([]protocol.Token, error) {
	list, err := v.host.Runtime.Tokens().List(ctx, v.Name())
	return list, errdefs.Wrap(errdefs.KindProvider, err)
}

// NewToken makes a token with limits and returns the service as its holder sees it: the
// functions that are allowed, and a connection that can do no more. ID and SHA256 of
// limits are made. The token itself is in the connection and nowhere else.
func (v *Service) NewToken(ctx context.Context, limits protocol.Token) (*Service, protocol.Token, error) {
	if err := v.checkToken(limits); err != nil {
		return nil, limits, err
	}
	secret := protocol.NewToken()
	limits.ID, limits.SHA256 = protocol.NewTokenID(), protocol.HashToken(secret)
	if err := v.host.Runtime.Tokens().Put(ctx, v.Name(), limits); err != nil {
		return nil, limits, errdefs.Wrap(errdefs.KindProvider, err)
	}
	c := v.connection
	c.Token = secret
	held, err := v.host.open(c, allowed(v.face, limits.Functions))
	return held, limits, errdefs.Wrap(errdefs.KindInternal, err)
}

// RevokeToken ends a token: connections made with it are closed.
func (v *Service) RevokeToken(ctx context.Context, id string) error {
	if id == protocol.MainToken {
		return configErrorf("the token %s belongs to the program that serves %s; it ends with the service", id, v.Name())
	}
	return errdefs.Wrap(errdefs.KindProvider, v.host.Runtime.Tokens().Delete(ctx, v.Name(), id))
}

// checkToken finds limits that could never be meant.
func (v *Service) checkToken(t protocol.Token) error {
	known := map[string]sdk.Function{}
	var names []string
	for _, f := range v.face.Functions {
		known[f.Name] = f
		names = append(names, f.Name)
	}
	for _, name := range t.Functions {
		if _, ok := known[name]; !ok {
			return configErrorf("the service %s has no function %q to allow; it has %s", v.Name(), name, listOr("none", names))
		}
	}
	for name, bounds := range t.Arguments {
		f, ok := known[name]
		if !ok {
			return configErrorf("the service %s has no function %q whose arguments could be limited; it has %s", v.Name(), name, listOr("none", names))
		}
		for param := range bounds {
			if !slices.ContainsFunc(f.Params, func(p sdk.Param) bool { return p.Name == param }) {
				return configErrorf("the function %s.%s has no parameter %q to limit; it has %s", v.Name(), name, param, listOr("none", paramNames(f)))
			}
		}
	}
	return nil
}

func paramNames(f sdk.Function) []string {
	names := make([]string, len(f.Params))
	for i, p := range f.Params {
		names[i] = strings.TrimLeft(p.Name, "*")
	}
	return names
}

// allowed is an interface without the functions that a token may not call.
func allowed(face sdk.Interface, functions []string) sdk.Interface {
	if len(functions) == 0 {
		return face
	}
	face.Functions = slices.DeleteFunc(slices.Clone(face.Functions), func(f sdk.Function) bool {
		return !slices.Contains(functions, f.Name)
	})
	return face
}

// Limited makes a token as an experiment limits its agent, nil = not at all, and returns the
// service as the agent sees it. Nobody else has the token.
func (v *Service) Limited(ctx context.Context, a *experiment.Access) (*Service, protocol.Token, error) {
	if a == nil {
		a = &experiment.Access{}
	}
	limits, err := TokenOf(*a, v.host.Now())
	if err != nil {
		return nil, limits, configErrorf("the access to %s: %w", v.Name(), err)
	}
	limits.Name = "agent"
	return v.NewToken(ctx, limits)
}

// TokenOf is a token with the limits of an access that begins now.
func TokenOf(a experiment.Access, now time.Time) (protocol.Token, error) {
	t := protocol.Token{Functions: a.Functions, Calls: a.Calls, SpendUSD: a.Spend}
	if a.Rate != "" {
		r, err := experiment.ParseRate(a.Rate)
		if err != nil {
			return t, err
		}
		t.Rate = []float64{float64(r.Calls), r.Per.Seconds()}
	}
	if a.Expires > 0 {
		t.Expires = now.Add(a.Expires).Unix()
	}
	for fn, params := range a.Arguments {
		for param, schema := range params {
			text, err := json.Marshal(schema)
			if err != nil {
				return t, fmt.Errorf("the bounds of %s.%s cannot be written as JSON: %w", fn, param, err)
			}
			if t.Arguments == nil {
				t.Arguments = map[string]map[string]json.RawMessage{}
			}
			if t.Arguments[fn] == nil {
				t.Arguments[fn] = map[string]json.RawMessage{}
			}
			t.Arguments[fn][param] = text
		}
	}
	return t, nil
}
