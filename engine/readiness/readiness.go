// Package readiness asks providers that can tell what stands in the way of a machine, before one
// is asked for, and keeps their findings for some minutes.
package readiness

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seer-engine/seer/engine/experiment"
	"github.com/seer-engine/seer/engine/models"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// Keep is how long findings are reused. Those with a failure are not kept: a user who has
// mended it starts again at once.
const Keep = 10 * time.Minute

// Checker asks providers. All fields must be set.
type Checker struct {
	Provider func(ctx context.Context, name string) (sdk.Provider, error)
	// Identity is the same text for the same plugin with the same settings.
	Identity func(ctx context.Context, provider string) (string, error)
	Store    *state.Store
	Now      func() time.Time
}

// lookWait is how long a program waits for another one that looks for the same: many may start at
// once.
const lookWait = 30 * time.Second

// Known returns findings that are not older than [Keep], or else looks. Of programs that ask the same
// at the same time, one looks, unless that takes long.
func (c Checker) Known(ctx context.Context, provider string, q sdk.CheckQuery) ([]sdk.Finding, error) {
	file, key, err := c.place(ctx, provider, q)
	if err != nil {
		return nil, err
	}
	if e, ok := c.read(file)[key]; ok && c.fresh(e) {
		return e.Findings, nil
	}
	wait, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	if lock, err := state.Acquire(wait, file+"."+key[:16]+".lock"); err == nil {
		defer lock.Remove()
		if e, ok := c.read(file)[key]; ok && c.fresh(e) {
			return e.Findings, nil
		}
	}
	return c.Look(ctx, provider, q)
}

// Look asks the provider anew. One without [sdk.FeatureCheck] is [sdk.Unsupported].
func (c Checker) Look(ctx context.Context, provider string, q sdk.CheckQuery) ([]sdk.Finding, error) {
	p, err := c.Provider(ctx, provider)
	if err != nil {
		return nil, err
	}
	info, err := p.Describe(ctx)
	if err != nil {
		return nil, err
	}
	checker, ok := p.(sdk.Checker)
	if !ok || !info.Has(sdk.FeatureCheck) {
		return nil, sdk.Errorf(sdk.Unsupported, "the provider %s has no checks of its own", provider)
	}
	found, err := checker.Check(ctx, q)
	if err != nil {
		return nil, err
	}
	return found, c.keep(ctx, provider, q, found)
}

// entry is what was found for one question.
type entry struct {
	At       time.Time     `json:"at"`
	Findings []sdk.Finding `json:"findings"`
}

func (c Checker) fresh(e entry) bool {
	age := c.Now().Sub(e.At)
	return age >= 0 && age < Keep
}

// place is the file of a provider's findings, and the key of those for a question there. What a
// node has said is kept for questions that do not ask for one.
func (c Checker) place(ctx context.Context, provider string, q sdk.CheckQuery) (file, key string, err error) {
	dir, err := c.Store.Cache("readiness")
	if err != nil {
		return "", "", err
	}
	identity, err := c.Identity(ctx, provider)
	if err != nil {
		return "", "", err
	}
	q.OnNode = false
	question, err := json.Marshal(q)
	if err != nil {
		return "", "", err
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %s", identity, question))
	return filepath.Join(dir, hexName(provider)+".json"), hex.EncodeToString(sum[:]), nil
}

// hexName is a name that is no path.
func hexName(provider string) string {
	sum := sha256.Sum256([]byte(provider))
	return hex.EncodeToString(sum[:8])
}

// read reads a file of findings. One that is not there or not whole has none.
func (c Checker) read(file string) map[string]entry {
	known := map[string]entry{}
	data, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(data, &known) != nil {
		return map[string]entry{}
	}
	return known
}

// keep writes findings, and drops those of the file that are too old.
func (c Checker) keep(ctx context.Context, provider string, q sdk.CheckQuery, found []sdk.Finding) error {
	file, key, err := c.place(ctx, provider, q)
	if err != nil {
		return err
	}
	known := c.read(file)
	maps.DeleteFunc(known, func(_ string, e entry) bool { return !c.fresh(e) })
	delete(known, key)
	if !slices.ContainsFunc(found, func(f sdk.Finding) bool { return f.State == sdk.FindingFailed }) {
		known[key] = entry{c.Now(), found}
	}
	data, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return state.WriteFile(file, data, 0o600)
}

// index is where pip downloads from, unless the user has named another index.
const index = "https://pypi.org"

// Query is what an experiment asks of a provider's machine. lookup is the environment.
func Query(exp *experiment.Experiment, provider string, lookup func(string) string) sdk.CheckQuery {
	s := exp.Sandbox
	q := sdk.CheckQuery{
		DiskGB: s.DiskGB, Isolation: s.Isolation, Network: s.Network, PythonVersion: s.PythonVersion, Options: s.Options(provider),
		TimeoutSeconds: int64(s.Timeout / time.Second),
	}
	if s.Image != nil {
		q.Image = s.Image.Base
	}
	switch len(s.GPU) {
	case 0:
	case 1:
		q.GPU, q.GPUCount = s.GPU[0], s.GPUCount
	default:
		q.GPU, q.GPUCount = "*", s.GPUCount // any of them will do, which offers tell apart
	}
	if s.Network == "none" {
		return q
	}
	var hosts []string
	if len(s.PythonPackages) > 0 {
		hosts = append(hosts, hostPort(cmp.Or(lookup("PIP_INDEX_URL"), index)))
	}
	for _, m := range s.Fetched() {
		if m.Source != experiment.SourceFolder {
			hosts = append(hosts, hostPort(models.Host(sdk.ModelRef{Source: m.Source, Name: m.Name}, lookup)))
		}
	}
	slices.Sort(hosts)
	q.Hosts = slices.DeleteFunc(slices.Compact(hosts), func(host string) bool { return host == "" })
	return q
}

// Usual is what most machines need, where no experiment says it: the package index and the Hub.
func Usual(lookup func(string) string) sdk.CheckQuery {
	hub := models.Host(sdk.ModelRef{Source: experiment.SourceHub, Name: "x"}, lookup)
	return sdk.CheckQuery{Network: "open", Hosts: []string{hostPort(cmp.Or(lookup("PIP_INDEX_URL"), index)), hostPort(hub)}}
}

// hostPort is the host and the port of an address; empty = it has none.
func hostPort(address string) string {
	rest := address
	if scheme, after, ok := strings.Cut(address, "://"); ok {
		if scheme != "https" {
			return ""
		}
		rest = after
	}
	rest, _, _ = strings.Cut(rest, "/")
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	if host, port, err := net.SplitHostPort(rest); err == nil && host != "" && port != "" {
		return rest
	}
	if !strings.Contains(rest, ".") {
		return ""
	}
	return net.JoinHostPort(strings.Trim(rest, "[]"), "443")
}
