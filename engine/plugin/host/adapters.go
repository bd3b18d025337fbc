package host

import (
	"context"
	"encoding/json"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/seer-engine/seer/engine/plugin/host/egress"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// provider makes a plugin look like a native [sdk.Provider].
type provider struct{ c caller }

func (p *provider) Describe(ctx context.Context) (sdk.ProviderInfo, error) {
	return invoke[sdk.ProviderInfo](ctx, p.c, sdk.ExportProviderDescribe, struct{}{})
}

func (p *provider) Offers(ctx context.Context, q sdk.OfferQuery) ([]sdk.Offer, error) {
	return invoke[[]sdk.Offer](ctx, p.c, sdk.ExportProviderOffers, q)
}

func (p *provider) Create(ctx context.Context, spec sdk.MachineSpec, cursor json.RawMessage) (sdk.CreateStep, error) {
	step, err := invoke[sdk.CreateStep](ctx, p.c, sdk.ExportProviderCreate, sdk.CreateInput{Spec: spec, Cursor: cursor})
	if err == nil {
		err = p.c.checkStep(sdk.ExportProviderCreate, "a handle", step.Handle, &step.Cursor)
	}
	if err != nil {
		return sdk.CreateStep{}, err
	}
	oneLineEach(step.Log)
	return step, nil
}

// checkStep checks a step that either has come to its result, which is what, or goes on from a
// cursor: with neither it would go on for ever.
func (c caller) checkStep(export, what, result string, cursor *json.RawMessage) error {
	if string(*cursor) == "null" {
		*cursor = nil
	}
	if (result == "") == (*cursor == nil) {
		return fault(FaultOutput, c.plugin, "%s answered without exactly one of %s and a cursor", export, what)
	}
	if !plainHandle(result) || len(*cursor) > maxCursor {
		return fault(FaultOutput, c.plugin, "%s answered %s of more than %d bytes or with control characters, or a cursor of more than %d", export, what, maxHandle, maxCursor)
	}
	return nil
}

func (p *provider) Observe(ctx context.Context, handles []string) ([]sdk.Observation, error) {
	seen, err := invoke[[]sdk.Observation](ctx, p.c, sdk.ExportProviderObserve, sdk.ObserveInput{Handles: handles})
	for i := range seen {
		seen[i].Message = oneLine(seen[i].Message)
	}
	return seen, err
}

func (p *provider) List(ctx context.Context, owner string) ([]sdk.Listed, error) {
	return invoke[[]sdk.Listed](ctx, p.c, sdk.ExportProviderList, sdk.ListInput{Owner: owner})
}

func (p *provider) Terminate(ctx context.Context, handle string) error {
	_, err := invoke[json.RawMessage](ctx, p.c, sdk.ExportProviderTerminate, sdk.TerminateInput{Handle: handle})
	return err
}

// Account implements [sdk.Accounter].
func (p *provider) Account(ctx context.Context) (sdk.Account, error) {
	if !p.c.plugin.Accounts {
		return sdk.Account{}, sdk.Errorf(sdk.Unsupported, "the plugin %s does not tell accounts", p.c.plugin.Manifest.ID)
	}
	a, err := invoke[sdk.Account](ctx, p.c, sdk.ExportProviderAccount, struct{}{})
	if err == nil && a.ID == "" {
		return a, fault(FaultOutput, p.c.plugin, "%s answered without an id", sdk.ExportProviderAccount)
	}
	return a, err
}

// Route implements [sdk.Router]. A route that the plugin's permissions do not allow is an error.
func (p *provider) Route(ctx context.Context, handle string, port int) (sdk.Route, error) {
	if !p.c.plugin.Routes {
		return sdk.Route{}, sdk.Errorf(sdk.Unsupported, "the plugin %s has no routes", p.c.plugin.Manifest.ID)
	}
	r, err := invoke[sdk.Route](ctx, p.c, sdk.ExportProviderRoute, sdk.RouteInput{Handle: handle, Port: port})
	if err != nil {
		return sdk.Route{}, err
	}
	if !plainRoute(r) {
		return sdk.Route{}, fault(FaultOutput, p.c.plugin, "%s answered a route that this program does not know; use a newer version of it", sdk.ExportProviderRoute)
	}
	granted, err := p.c.host.granted(ctx, p.c.plugin)
	if err != nil {
		return sdk.Route{}, err
	}
	gateway := p.c.host.gateway(p.c.plugin, granted)
	defer gateway.Close()
	return r, gateway.AllowRoute(ctx, r)
}

// plainRoute reports whether a route is one that this program can follow.
func plainRoute(r sdk.Route) bool {
	if (r.SSH == nil) == (r.Kube == nil) {
		return false
	}
	if r.Kube != nil {
		return portTarget(r.Kube.Target) && egress.PlainPod(*r.Kube) == nil
	}
	return portTarget(r.SSH.Target) || socketTarget().MatchString(r.SSH.Target)
}

// socketTarget is the form of [sdk.SSHRoute].Target for a socket.
var socketTarget = lazyregexp.New(`^unix:/[^\x00-\x1f\x7f]{1,200}$`)

// portTarget reports whether a target is a port.
func portTarget(target string) bool {
	text, ok := strings.CutPrefix(target, "tcp:")
	port, err := strconv.ParseUint(text, 10, 16)
	return ok && err == nil && port > 0 && strconv.FormatUint(port, 10) == text
}

// Check implements [sdk.Checker].
func (p *provider) Check(ctx context.Context, q sdk.CheckQuery) ([]sdk.Finding, error) {
	if !p.c.plugin.Checks {
		return nil, sdk.Errorf(sdk.Unsupported, "the plugin %s has no checks", p.c.plugin.Manifest.ID)
	}
	found, err := invoke[[]sdk.Finding](ctx, p.c, sdk.ExportProviderCheck, q)
	if err != nil {
		return nil, err
	}
	if len(found) > maxFindings {
		return nil, fault(FaultOutput, p.c.plugin, "%s answered %d findings; at most %d are allowed", sdk.ExportProviderCheck, len(found), maxFindings)
	}
	for i, f := range found {
		if f.Name == "" || len(f.Name) > maxText || len(f.Detail) > maxText || len(f.Fix) > maxText {
			return nil, fault(FaultOutput, p.c.plugin, "%s answered a finding without a name or with a text of more than %d bytes", sdk.ExportProviderCheck, maxText)
		}
		if !f.Known() {
			return nil, fault(FaultOutput, p.c.plugin, "%s answered the state %.40q; this program knows ok, warning, failed and unknown", sdk.ExportProviderCheck, f.State)
		}
		found[i] = sdk.Finding{Name: oneLine(f.Name), State: f.State, Detail: oneLine(f.Detail), Fix: oneLine(f.Fix)}
	}
	return found, nil
}

// Clean implements [sdk.Cleaner].
func (p *provider) Clean(ctx context.Context, in sdk.CleanInput) ([]sdk.Cleaned, error) {
	if !p.c.plugin.Cleans {
		return nil, sdk.Errorf(sdk.Unsupported, "the plugin %s keeps nothing that could be cleaned", p.c.plugin.Manifest.ID)
	}
	gone, err := invoke[[]sdk.Cleaned](ctx, p.c, sdk.ExportProviderClean, in)
	if err != nil {
		return nil, err
	}
	if len(gone) > maxCleaned {
		return nil, fault(FaultOutput, p.c.plugin, "%s answered %d entries; at most %d are allowed", sdk.ExportProviderClean, len(gone), maxCleaned)
	}
	for i, c := range gone {
		if c.Name == "" || len(c.Name) > maxText || c.Bytes < 0 {
			return nil, fault(FaultOutput, p.c.plugin, "%s answered an entry without a name, with one of more than %d bytes, or with a negative size", sdk.ExportProviderClean, maxText)
		}
		gone[i].Name = oneLine(c.Name)
	}
	return gone, nil
}

// snapshotter is a provider that also saves file systems.
type snapshotter struct{ provider }

// Snapshot implements [sdk.Snapshotter].
func (s *snapshotter) Snapshot(ctx context.Context, handle, key string, cursor json.RawMessage) (sdk.SnapshotStep, error) {
	step, err := invoke[sdk.SnapshotStep](ctx, s.c, sdk.ExportProviderSnapshot, sdk.SnapshotInput{Handle: handle, Key: key, Cursor: cursor})
	if err == nil {
		err = s.c.checkStep(sdk.ExportProviderSnapshot, "an image", step.Image, &step.Cursor)
	}
	if err != nil {
		return sdk.SnapshotStep{}, err
	}
	oneLineEach(step.Log)
	return step, nil
}

// fetcher makes a plugin look like a native [sdk.Fetcher].
type fetcher struct{ c caller }

func (f *fetcher) Resolve(ctx context.Context, ref sdk.ModelRef) (sdk.ResolvedModel, error) {
	m, err := invoke[sdk.ResolvedModel](ctx, f.about(ref.Name), sdk.ExportFetcherResolve, ref)
	if err != nil {
		return m, err
	}
	if m.Revision == "" {
		return m, fault(FaultOutput, f.c.plugin, "%s answered without a revision", sdk.ExportFetcherResolve)
	}
	if !f.sameHost(ref.Name, m.Name) {
		return m, fault(FaultOutput, f.c.plugin, "%s answered the name %.100q, which is at another host than %.100q", sdk.ExportFetcherResolve, m.Name, ref.Name)
	}
	for _, file := range m.Files {
		if !fs.ValidPath(file.Path) || file.Path == "." {
			return m, fault(FaultOutput, f.c.plugin, "%s answered the path %q, which is not a plain relative path", sdk.ExportFetcherResolve, file.Path)
		}
	}
	return m, nil
}

func (f *fetcher) Locate(ctx context.Context, file sdk.FileRef) (sdk.Location, error) {
	return invoke[sdk.Location](ctx, f.about(file.Name), sdk.ExportFetcherLocate, file)
}

// about is the caller of a call about one model.
func (f *fetcher) about(model string) caller {
	c := f.c
	c.model = model
	return c
}

// sameHost reports whether a plugin may call a model by that name. The name says where the
// plugin may send when it is asked for files: one that it makes up must lead nowhere else.
func (f *fetcher) sameHost(asked, answered string) bool {
	named := slices.ContainsFunc(f.c.plugin.Manifest.Permissions.HTTP, func(p sdk.HTTPPermission) bool { return p.Destination == sdk.DestinationModel })
	if !named || answered == "" {
		return true
	}
	from, err := egress.ModelOrigin(asked)
	to, other := egress.ModelOrigin(answered)
	return err == nil && other == nil && from == to
}

// maxGet bounds an answer that the engine itself asks for, in bytes.
const maxGet = 1 << 20

// Get asks a URL that the plugin has named, with its permissions and credentials. The plugin
// does not see the answer, which may be a secret, and is not loaded.
func (f *fetcher) Get(ctx context.Context, url string) (status int, body []byte, err error) {
	granted, err := f.c.host.granted(ctx, f.c.plugin)
	if err != nil {
		return 0, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.c.host.limits.asked(f.c.plugin.Manifest.Limits).CallTime)
	defer cancel()
	if l := f.c.host.inUse(f.c.plugin, granted); l != nil { // it may have a connection
		defer f.c.host.release(ctx, l)
		return l.module.gateway.Get(ctx, url, maxGet)
	}
	gateway := f.c.host.gateway(f.c.plugin, granted)
	defer gateway.Close()
	return gateway.Get(ctx, url, maxGet)
}

// exposer makes a plugin look like a native [sdk.Exposer].
type exposer struct{ c caller }

// Expose starts the plugin only for a request that it has not answered before.
func (e *exposer) Expose(ctx context.Context, req sdk.ExposeRequest) (sdk.Surface, error) {
	g, err := e.c.host.granted(ctx, e.c.plugin)
	if err != nil {
		return sdk.Surface{}, err
	}
	var known sdk.Surface
	subject, key := e.c.plugin.Manifest.ID+" "+req.Name, surfaceKey(e.c.plugin, g, req)
	if e.c.host.surfaces.get(subject, key, &known) && e.check(g, req.Name, known) == nil {
		return known, nil
	}
	made, err := invoke[sdk.Surface](ctx, e.c, sdk.ExportExpose, req)
	if err == nil {
		err = e.check(g, req.Name, made)
	}
	if err != nil {
		return sdk.Surface{}, err
	}
	e.c.host.surfaces.put(subject, key, made)
	return made, nil
}

func (e *exposer) check(g Grant, name string, s sdk.Surface) error {
	c := newSurfaceCheck(e.c.plugin, g, name)
	c.unbounded = e.c.host.anyFile
	return c.check(s)
}
