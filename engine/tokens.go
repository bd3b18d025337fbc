package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seer-engine/seer/engine/protocol"
	"github.com/seer-engine/seer/sdk"
)

// Tokens lists the tokens of the service and what they have been used for.
func (v *Service) Tokens(ctx context.Context) ([]protocol.Token, error) {
	list, err := v.sandbox.runtime.Tokens().List(ctx, v.Name())
	return list, as(KindProvider, err)
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
	if err := v.sandbox.runtime.Tokens().Put(ctx, v.Name(), limits); err != nil {
		return nil, limits, as(KindProvider, err)
	}
	c := v.connection
	c.Token = secret
	held, err := newService(v.sandbox, c, allowed(v.face, limits.Functions))
	return held, limits, as(KindInternal, err)
}

// RevokeToken ends a token: connections made with it are closed.
func (v *Service) RevokeToken(ctx context.Context, id string) error {
	if id == protocol.MainToken {
		return &Error{Kind: KindConfig, Err: fmt.Errorf("the token %s is that of whoever serves %s; it ends with the service", id, v.Name())}
	}
	return as(KindProvider, v.sandbox.runtime.Tokens().Delete(ctx, v.Name(), id))
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
			return &Error{Kind: KindConfig, Err: fmt.Errorf("the service %s has no function %q to allow; it has %s", v.Name(), name, listOr("none", names))}
		}
	}
	for name, bounds := range t.Arguments {
		f, ok := known[name]
		if !ok {
			return &Error{Kind: KindConfig, Err: fmt.Errorf("the service %s has no function %q whose arguments could be limited; it has %s", v.Name(), name, listOr("none", names))}
		}
		for param := range bounds {
			if !slices.ContainsFunc(f.Params, func(p sdk.Param) bool { return p.Name == param }) {
				return &Error{Kind: KindConfig, Err: fmt.Errorf("the function %s.%s has no parameter %q to limit; it has %s", v.Name(), name, param, listOr("none", paramNames(f)))}
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
