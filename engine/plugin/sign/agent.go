package sign

import (
	"bytes"
	"context"
	"net"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/seer-engine/seer/sdk"
)

// fromAgent finds a key in the agent, which may ask its user or wait for a touch: until
// the context ends.
func fromAgent(ctx context.Context, pub ssh.PublicKey, o Options) (ssh.Signer, func(), error) {
	name := ssh.FingerprintSHA256(pub)
	if o.Agent == "" {
		return nil, nil, sdk.Errorf(sdk.NotFound, "the key %s is wanted of the SSH agent, and none is running; start one (`eval $(ssh-agent)`) and add the key (`ssh-add`), or name the private key file", name)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", o.Agent)
	if err != nil {
		return nil, nil, sdk.Errorf(sdk.Unavailable, "the SSH agent does not answer: %v", err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	done := func() { stop(); conn.Close() }
	keys, err := agent.NewClient(conn).Signers()
	if err != nil {
		done()
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, sdk.Errorf(sdk.Unavailable, "the SSH agent does not list its keys: %v", err)
	}
	for _, key := range keys {
		if bytes.Equal(key.PublicKey().Marshal(), pub.Marshal()) {
			return key, done, nil
		}
	}
	done()
	return nil, nil, sdk.Errorf(sdk.NotFound, "the SSH agent does not have the key %s; add it with `ssh-add`", name)
}
