package plugincmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seer-engine/seer/cmd/seer/internal/cli"
	"github.com/seer-engine/seer/cmd/seer/internal/term"
	"github.com/seer-engine/seer/engine"
	"github.com/seer-engine/seer/engine/plugin/bundle"
	"github.com/seer-engine/seer/engine/plugin/host"
	"github.com/seer-engine/seer/engine/plugin/oci"
	"github.com/seer-engine/seer/engine/plugin/sign"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk/sdktest"
)

// pushing is one `seer plugin push`.
type pushing struct {
	plainHTTP, force bool
	key              string
}

func newPluginPush(a app) *cobra.Command {
	var p pushing
	c := &cobra.Command{
		Use:   "push FILE.wasm REF",
		Short: "Push a built plugin to an OCI registry",
		Long: `Push a plugin to an OCI registry, with its manifest, and with the signature and the
conformance report if they are beside it. Seer uses the credentials of docker login. The
same bundle always has the same digest.`,
		Example: `  seer plugin push dist/provider-tiny.wasm registry.example/me/provider-tiny:0.1.0
  seer plugin push dist/provider-tiny.wasm registry.example/me/provider-tiny:0.1.0 --key ~/.ssh/id_ed25519`,
		Args: cli.Args(2, 2, "a module and a reference"),
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.push(cmd.Context(), given[0], given[1], p)
		},
	}
	c.Flags().BoolVar(&p.plainHTTP, "plain-http", false, "use plain HTTP for a registry on this computer")
	c.Flags().BoolVar(&p.force, "force", false, "replace an existing tag")
	c.Flags().StringVar(&p.key, "key", "", "sign the plugin with this SSH key `file` first")
	return c
}

func (a app) push(ctx context.Context, file, ref string, p pushing) error {
	place, err := oci.Resolve(ref)
	if err != nil {
		return cli.Usagef("%v", err)
	}
	if place.Kind != oci.Registry {
		return cli.Usagef("%s is not a reference to a registry; write oci://host/name:tag", ref)
	}
	if _, _, err := readBundle(file); err != nil {
		return err
	}
	client := a.registry("pushing", p.plainHTTP)
	if err := p.checkTag(ctx, client, ref, place); err != nil {
		return err
	}
	if p.key != "" {
		if _, err := a.sign(ctx, file, p.key); err != nil {
			return err
		}
	}
	b, plugin, err := readBundle(file)
	if err != nil {
		return err
	}
	left, err := checkSidecars(&b, plugin)
	if err != nil {
		return err
	}
	origin, err := client.Push(ctx, ref, b)
	if err != nil {
		return pluginError(err)
	}
	out := map[string]string{"reference": ref, "resolved": origin.Resolved, "oci": origin.OCI, "digest": b.Digest()}
	return a.Print(out, func(w io.Writer) error {
		if len(b.Signature) == 0 {
			a.UI.Note("warning", "it is not signed; see seer plugin sign")
		}
		switch {
		case left != "":
			a.UI.Note("warning", left)
		case len(b.Report) == 0:
			a.UI.Note("warning", "no conformance report goes with it; see seer plugin test")
		}
		_, err := fmt.Fprintln(w, origin.Resolved)
		return err
	})
}

// checkSidecars refuses a signature that lies beside the module and is not of it, and takes
// such a report away: what was left says so.
func checkSidecars(b *bundle.Bundle, p host.Plugin) (left string, err error) {
	if len(b.Signature) > 0 {
		if _, err := sign.Verify(b.Statement(), b.Signature); err != nil {
			return "", &engine.Error{Kind: engine.KindUnauthorized, Err: fmt.Errorf("%s.sig does not sign this build: the module has changed since. Sign it again, with seer plugin sign or --key, or remove that file (%w)", p.File, err)}
		}
	}
	if len(b.Report) == 0 {
		return "", nil
	}
	var r sdktest.Report
	switch err := json.Unmarshal(b.Report, &r); {
	case err != nil:
		left = fmt.Sprintf("the conformance report beside the module cannot be read, and was left out (%v)", err)
	case r.Digest != p.Digest:
		left = "the conformance report beside the module is about another build, and was left out; seer plugin test makes a new one"
	}
	if left != "" {
		b.Report = nil
	}
	return left, nil
}

// checkTag refuses to replace a tag without being told so.
func (p pushing) checkTag(ctx context.Context, client oci.Client, ref string, place oci.Place) error {
	_, tag, tagged := strings.Cut(place.Name[strings.LastIndex(place.Name, "/")+1:], ":")
	if p.force || !tagged {
		return nil
	}
	tags, err := client.Tags(ctx, ref)
	if engine.KindOf(pluginError(err)) == engine.KindNotFound {
		return nil // the first push makes the repository
	}
	if err == nil && slices.Contains(tags, tag) {
		return &engine.Error{Kind: engine.KindConflict, Err: fmt.Errorf("%s is there already; raise the version, or replace it with --force", ref)}
	}
	return nil // what is wrong with the registry is what the push says
}

// readBundle reads a built plugin, whose manifest must be one.
func readBundle(file string) (bundle.Bundle, host.Plugin, error) {
	p, err := host.Inspect(file)
	if err != nil {
		return bundle.Bundle{}, p, pluginError(err)
	}
	b, _, err := bundle.ReadFile(file)
	return b, p, pluginError(err)
}

func newPluginSign(a app) *cobra.Command {
	var key string
	c := &cobra.Command{
		Use:   "sign FILE.wasm --key FILE",
		Short: "Sign a built plugin with an SSH key",
		Long: `Sign manifest and module together, and write the signature to FILE.wasm.sig. The key
is an SSH key: a private key file, or a public key whose private half is in your SSH
agent or hardware key.`,
		Example: "  seer plugin sign dist/provider-tiny.wasm --key ~/.ssh/id_ed25519",
		Args:    cli.Args(1, 1, "a module"),
		RunE: func(cmd *cobra.Command, given []string) error {
			if key == "" {
				return cli.Usagef("--key is missing: an SSH key file, such as ~/.ssh/id_ed25519; ssh-keygen -t ed25519 makes one")
			}
			made, err := a.sign(cmd.Context(), given[0], key)
			if err != nil {
				return err
			}
			return a.Print(made, func(io.Writer) error { return nil })
		},
	}
	c.Flags().StringVar(&key, "key", "", "SSH key `file`")
	return c
}

// signed is the result of plugin sign.
type signed struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Digest  string `json:"digest"`
	Signer  string `json:"signer"`
	Type    string `json:"type"`
	File    string `json:"file"` // the signature
}

func (a app) sign(ctx context.Context, file, key string) (signed, error) {
	b, _, err := readBundle(file)
	if err != nil {
		return signed{}, err
	}
	signature, signer, err := sign.Sign(ctx, b.Statement(), key, sign.Options{Agent: os.Getenv("SSH_AUTH_SOCK"), Passphrase: a.passphrase})
	if err != nil {
		return signed{}, pluginError(err)
	}
	if err := state.WriteFile(file+".sig", signature, 0o644); err != nil {
		return signed{}, err
	}
	a.UI.Tell("Signed %s %s as %s", b.ID, b.Version, signer.Fingerprint)
	return signed{b.ID, b.Version, b.Digest(), signer.Fingerprint, signer.Type, file + ".sig"}, nil
}

// passphrase asks for that of a key.
func (a app) passphrase(key string) ([]byte, error) {
	secret, err := a.UI.Password("Passphrase of " + key + ": ")
	if errors.Is(err, term.ErrNotATerminal) {
		return nil, fmt.Errorf("the key %s has a passphrase, and %w; use ssh-agent and name the public key", key, err)
	}
	return secret, err
}

func newPluginVerify(a app) *cobra.Command {
	var statement bool
	c := &cobra.Command{
		Use:   "verify FILE.wasm",
		Short: "Check the signature of a plugin and show its signer",
		Long: `Check the signature beside a module, and show the fingerprint of its signer. Compare it
with the fingerprint that the author has published. With --statement, print the signed
statement instead, for ssh-keygen -Y.`,
		Example: "  seer plugin verify dist/provider-tiny.wasm",
		Args:    cli.Args(1, 1, "a module"),
		RunE: func(_ *cobra.Command, given []string) error {
			b, _, err := readBundle(given[0])
			if err != nil {
				return err
			}
			if statement {
				return a.Print(map[string]string{"statement": string(b.Statement())}, func(w io.Writer) error {
					_, err := w.Write(b.Statement())
					return err
				})
			}
			return a.verify(b)
		},
	}
	c.Flags().BoolVar(&statement, "statement", false, "print the signed statement")
	return c
}

func (a app) verify(b bundle.Bundle) error {
	if len(b.Signature) == 0 {
		return &engine.Error{Kind: engine.KindUnauthorized, Err: errors.New(b.ID + " is not signed")}
	}
	signer, err := sign.Verify(b.Statement(), b.Signature)
	if err != nil {
		return &engine.Error{Kind: engine.KindUnauthorized, Err: err}
	}
	out := map[string]string{"id": b.ID, "version": b.Version, "digest": b.Digest(), "signer": signer.Fingerprint, "type": signer.Type}
	return a.Print(out, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s %s\n%s\nsigned by %s (%s)\n", b.ID, b.Version, b.Digest(), signer.Fingerprint, signer.Type)
		return err
	})
}
