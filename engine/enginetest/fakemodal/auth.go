package fakemodal

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// claims are what a token of this cloud says. Task is empty in one of the control
// plane.
type claims struct {
	Task  string `json:"task_id,omitempty"`
	Token string `json:"token_id,omitempty"`
	Exp   int64  `json:"exp"`
	Nonce string `json:"jti"`
}

// sign makes a JSON web token.
func (c *Cloud) sign(cl claims) string {
	cl.Nonce = randomName(8)
	body, _ := json.Marshal(cl) // strings and a number
	enc := base64.RawURLEncoding
	text := enc.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc.EncodeToString(body)
	return text + "." + enc.EncodeToString(c.mac(text))
}

func (c *Cloud) mac(text string) []byte {
	h := hmac.New(sha256.New, c.key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// verify returns what a token says, when it is one of this cloud's and has not
// expired.
func (c *Cloud) verify(token string) (claims, bool) {
	var cl claims
	text, mac, ok := cutLast(token, ".")
	if !ok {
		return cl, false
	}
	if !hmac.Equal([]byte(mac), []byte(base64.RawURLEncoding.EncodeToString(c.mac(text)))) {
		return cl, false
	}
	_, body, _ := strings.Cut(text, ".")
	data, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || json.Unmarshal(data, &cl) != nil {
		return cl, false
	}
	return cl, time.Now().Unix() < cl.Exp
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// authorize checks the credentials of a call to the control plane.
func (c *Cloud) authorize(ctx context.Context, method string, unary bool) error {
	md, _ := metadata.FromIncomingContext(ctx)
	if c.faults.get().TokenRevoked || !c.knows(md) {
		return status.Error(codes.Unauthenticated, "Token validation failed")
	}
	tokens := md.Get("x-modal-auth-token")
	if !unary || method == "AuthTokenGet" || len(tokens) == 0 && !needsToken(md, method) {
		return nil
	}
	for _, token := range tokens {
		if cl, ok := c.verify(token); ok && same(md, "x-modal-token-id", cl.Token) {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, "Auth token is missing, wrong or expired")
}

// knows reports whether the credentials are among those of the workspace.
func (c *Cloud) knows(md metadata.MD) bool {
	return slices.ContainsFunc(append([]Token{c.opts.Token}, c.opts.Rotated...), func(t Token) bool {
		return same(md, "x-modal-token-id", t.ID) && same(md, "x-modal-token-secret", t.Secret)
	})
}

// tokenOf is the ID of the token of a call.
func tokenOf(ctx context.Context) string {
	md, _ := metadata.FromIncomingContext(ctx)
	if ids := md.Get("x-modal-token-id"); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// needsToken reports whether a call has to carry what AuthTokenGet gives: every one
// of the clients in Go and JavaScript does, and the second back end insists.
func needsToken(md metadata.MD, method string) bool {
	python := strconv.Itoa(int(pb.ClientType_CLIENT_TYPE_CLIENT))
	return !same(md, "x-modal-client-type", python) || strings.HasSuffix(method, "V2")
}

// same reports whether a key has the value. It may be there several times.
func same(md metadata.MD, key, value string) bool {
	values := md.Get(key)
	for _, v := range values {
		if !hmac.Equal([]byte(v), []byte(value)) {
			return false
		}
	}
	return len(values) > 0
}

// AuthTokenGet gives the token that every further unary call carries.
func (s *controlServer) AuthTokenGet(ctx context.Context, _ *pb.AuthTokenGetRequest) (*pb.AuthTokenGetResponse, error) {
	exp := time.Now().Add(s.opts.TokenLife).Unix()
	return pb.AuthTokenGetResponse_builder{Token: s.sign(claims{Token: tokenOf(ctx), Exp: exp})}.Build(), nil
}

// routerAccess is what lets a client run commands in a task.
func (c *Cloud) routerAccess(task string) *pb.CommandRouterAccess {
	exp := time.Now().Add(c.opts.RouterLife).Unix()
	return pb.CommandRouterAccess_builder{Jwt: c.sign(claims{Task: task, Exp: exp}), Url: c.routerURL()}.Build()
}

// authorizeTask checks the token of a call to the command router.
func (c *Cloud) authorizeTask(ctx context.Context, task string) error {
	md, _ := metadata.FromIncomingContext(ctx)
	for _, value := range md.Get("authorization") {
		if cl, ok := c.verify(strings.TrimPrefix(value, "Bearer ")); ok && cl.Task == task {
			return nil
		}
	}
	return status.Error(codes.Unauthenticated, "The token for the command router is missing, wrong or expired")
}
