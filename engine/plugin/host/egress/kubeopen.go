package egress

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seer-engine/seer/engine/plugin/host/access"
	"github.com/seer-engine/seer/internal/lazyregexp"
	"github.com/seer-engine/seer/sdk"
)

// Limits of what a plugin does in clusters.
const (
	maxKubeBody   = 3 << 20          // bytes of a body: as much as the API server takes
	maxKubeQuery  = 16 << 10         // bytes of a query
	maxKubeOutput = 16 << 20         // bytes of the standard output of a command
	longestWatch  = 60 * time.Second // of a request that has no end of its own
	kubeLookup    = 15 * time.Second // for the current context
)

var (
	dnsLabel = lazyregexp.New(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	dnsName  = lazyregexp.New(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

	kubeBodies = []string{"application/json", "application/yaml", "application/json-patch+json", "application/merge-patch+json",
		"application/strategic-merge-patch+json", "application/apply-patch+yaml"}
)

// OpenKube is [sdk.HostKubeOpen]: it checks a request or a command and begins it.
func (s *Session) OpenKube(in sdk.KubeOpen) (sdk.Opened, error) {
	c := &clusterCall{s: s, in: in, began: time.Now()}
	if err := c.check(); err != nil {
		return sdk.Opened{}, c.refused(err)
	}
	seconds := in.TimeoutSeconds
	if c.endless() && (seconds <= 0 || seconds > longestWatch.Seconds()) {
		seconds = longestWatch.Seconds()
	}
	var err error
	if c.st, err = s.open(seconds); err != nil {
		return sdk.Opened{}, c.refused(err)
	}
	c.st.finished = !in.Body
	s.start(c.st, c.run)
	return sdk.Opened{Stream: c.st.id}, nil
}

// clusterCall is a request to a cluster, or a command in a pod.
type clusterCall struct {
	s     *Session
	st    *stream
	in    sdk.KubeOpen
	need  kubeNeed
	line  string // the permission that allows it
	made  bool   // it was handed on
	fresh bool   // its namespace was not remembered before
	body  *bodyReader
	got   atomic.Int64
	began time.Time
}

// check checks all that can be checked while the plugin waits. The current context has to be
// looked up: whether it is allowed turns out when the stream is open.
func (c *clusterCall) check() error {
	var err error
	switch r, e := c.in.Request, c.in.Exec; {
	case (r == nil) == (e == nil):
		return sdk.Errorf(sdk.Invalid, "%s wants either a request or a command", sdk.HostKubeOpen)
	case r != nil:
		err = c.checkRequest(*r)
	default:
		err = c.checkExec(*e)
	}
	switch {
	case err != nil:
		return err
	case c.s.g.o.Kube == nil:
		return sdk.Errorf(sdk.Unsupported, "this program reaches no clusters")
	case c.in.Context == "":
		return nil
	}
	c.line, err = c.s.allowKube(c.in.Context, c.need)
	return err
}

func (c *clusterCall) checkRequest(r sdk.KubeRequest) error {
	var err error
	if c.need, err = kubePathNeed(r.Method, r.Path); err != nil {
		return err
	}
	switch {
	case r.ContentType != "" && !slices.Contains(kubeBodies, r.ContentType):
		return sdk.Errorf(sdk.Invalid, "%.100q is none of the types of a body: %s", r.ContentType, strings.Join(kubeBodies, ", "))
	case c.in.Body && r.Method == http.MethodGet:
		return sdk.Errorf(sdk.Invalid, "a GET request to a cluster has no body")
	case len(url.Values(r.Query).Encode()) > maxKubeQuery:
		return sdk.Errorf(sdk.Invalid, "the query for %s is longer than %d bytes, which is the limit", r.Path, maxKubeQuery)
	}
	return nil
}

func (c *clusterCall) checkExec(e sdk.KubeExec) error {
	c.need = kubeNeed{e.Namespace, sdk.KubeExecute}
	if err := plainPod(e.Namespace, e.Pod, e.Container); err != nil {
		return err
	}
	return checkArgv(e.Argv, "the pod "+e.Pod)
}

// endless reports whether a request is answered until somebody ends it.
func (c *clusterCall) endless() bool {
	if c.in.Request == nil {
		return false
	}
	for _, name := range []string{"watch", "follow"} {
		values, there := c.in.Request.Query[name]
		if there && !slices.Equal(values, []string{"false"}) {
			return true
		}
	}
	return false
}

func (c *clusterCall) run() {
	if err := c.settle(); err != nil {
		c.st.stopSending()
		c.st.fail(c.refused(err))
		return
	}
	if c.in.Body {
		c.body = &bodyReader{st: c.st}
	}
	c.made = true
	err := c.answer()
	c.st.stopSending()
	if err != nil {
		c.st.fail(c.refused(err))
	}
}

// settle finds the current context, where the plugin names none.
func (c *clusterCall) settle() error {
	if c.in.Context != "" {
		return nil
	}
	current, err := c.s.g.o.Kube.Context(c.st.ctx, "")
	if err != nil {
		return err
	}
	c.in.Context = current.Name
	c.line, err = c.s.allowKube(current.Name, c.need)
	return err
}

func (c *clusterCall) answer() error {
	if c.in.Exec != nil {
		return c.exec()
	}
	r := *c.in.Request
	body, err := c.whole(&r)
	if err != nil {
		return err
	}
	if err := c.note(); err != nil {
		return err
	}
	resp, err := c.s.g.o.Kube.Do(c.st.ctx, c.in.Context, r, body)
	if err != nil { // it may be lost on the way back, unless the request was not let in
		code := sdk.CodeOf(err)
		_ = c.remember(code == sdk.Unauthorized || code == sdk.Invalid) // the first error is the one to tell
		return err
	}
	defer resp.Body.Close()
	if err := c.remember(refuses(resp.StatusCode)); err != nil {
		return err
	}
	c.s.emit(c.st, event{Event: sdk.Event{Kind: sdk.EventHead, Status: resp.StatusCode, Headers: c.s.g.answerHeader(resp.Header)}})
	if err := c.s.g.deliver(c.st, resp, c, &c.got); err != nil {
		return err
	}
	c.record(Audit{Status: resp.StatusCode})
	c.s.emit(c.st, event{Event: sdk.Event{Kind: sdk.EventEnd}})
	return nil
}

// whole is the body of a request, all of it: one that is cut off would be begun for nothing.
func (c *clusterCall) whole(r *sdk.KubeRequest) (io.Reader, error) {
	if c.body == nil {
		return nil, nil
	}
	if r.ContentType == "" {
		r.ContentType = kubeBodies[0]
	}
	whole, err := io.ReadAll(io.LimitReader(c.body, maxKubeBody+1))
	if err != nil {
		return nil, err
	}
	if len(whole) > maxKubeBody {
		return nil, sdk.Errorf(sdk.Invalid, "the body of %s has more than %d bytes, which is the limit", c, maxKubeBody)
	}
	return bytes.NewReader(whole), nil
}

func (c *clusterCall) exec() error {
	var stdin io.Reader
	if c.body != nil {
		stdin = c.body
	}
	result, err := c.s.g.o.Kube.Exec(c.st.ctx, c.in.Context, *c.in.Exec, stdin)
	c.st.stopSending()
	if err != nil {
		return err
	}
	c.got.Store(int64(len(result.Stdout)))
	if len(result.Stdout) > maxKubeOutput {
		return sdk.Errorf(sdk.Invalid, "%s has said more than %d bytes, which is the limit", c, maxKubeOutput)
	}
	c.s.say(c.st, result, c.record)
	return nil
}

// makes reports whether the request may make something that is to be remembered.
func (c *clusterCall) makes() bool {
	r := c.in.Request
	return c.s.g.o.KubeContexts != nil && c.need.use == sdk.KubeWrite && r.Method != http.MethodDelete && len(r.Query["dryRun"]) == 0
}

func (c *clusterCall) place() sdk.KubeContext {
	return sdk.KubeContext{Name: c.in.Context, Namespace: c.need.namespace}
}

// note remembers where the plugin is about to make something: this program may end, or the answer
// be lost, when it is made.
func (c *clusterCall) note() error {
	if !c.makes() {
		return nil
	}
	contexts := c.s.g.o.KubeContexts
	known, err := contexts.Of(c.s.g.id)
	if err == nil {
		c.fresh = !slices.Contains(known, c.place())
		err = contexts.Used(c.s.g.id, c.place())
	}
	return c.unnoted(err)
}

// refuses reports whether a status says that nothing was made. A conflict says that it is there.
func refuses(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}

// remember takes the note back where the request was refused: a list of a namespace that refuses
// everything fails.
func (c *clusterCall) remember(refused bool) error {
	contexts := c.s.g.o.KubeContexts
	switch {
	case !c.makes(), refused && !c.fresh:
		return nil
	case refused:
		return c.unnoted(contexts.Unused(c.s.g.id, c.place()))
	}
	return c.unnoted(contexts.Used(c.s.g.id, c.place())) // a request beside this one may have taken it back
}

func (c *clusterCall) unnoted(err error) error {
	if err == nil {
		return nil
	}
	return sdk.Errorf(sdk.Internal, "remember the namespace %s of the context %s: %v", c.need.namespace, c.in.Context, err)
}

func (c *clusterCall) refused(err error) *sdk.Error {
	e := c.s.g.failure(c.String(), err)
	c.record(Audit{Error: e.Message, Refused: !c.made})
	return e
}

func (c *clusterCall) record(a Audit) {
	a.Destination, a.Permission, a.Time, a.Received = "kube://"+url.PathEscape(c.in.Context), c.line, c.began, c.got.Load()
	switch r, e := c.in.Request, c.in.Exec; {
	case r != nil:
		a.Method, a.Path = r.Method, r.Path
	case e != nil:
		a.Method, a.Path = "EXEC", "/"+strings.Join([]string{e.Namespace, e.Pod, e.Container}, "/")+" "+strings.Join(e.Argv, " ")
	}
	if c.body != nil {
		a.Sent = c.body.sent.Load()
	}
	c.s.g.audit(a)
}

func (c *clusterCall) String() string {
	where := " in the current context"
	if c.in.Context != "" {
		where = " in the context " + c.in.Context
	}
	switch {
	case c.in.Request != nil:
		return c.in.Request.Method + " " + c.in.Request.Path + where
	case c.in.Exec != nil:
		return "the command in the pod " + c.in.Exec.Pod + where
	default:
		return "what is asked of a cluster"
	}
}

// KubeContexts is [sdk.HostKubeContexts].
func (s *Session) KubeContexts(in sdk.KubeContextsInput) (sdk.KubeContexts, error) {
	out := sdk.KubeContexts{Used: []sdk.KubeContext{}}
	o := s.g.o
	switch {
	case len(o.Asked.Permissions.Kube) == 0:
		return out, sdk.Errorf(sdk.Unauthorized, "the manifest of plugin %s asks for no cluster", s.g.id)
	case len(o.Manifest.Permissions.Kube) == 0:
		return out, s.g.notGranted("anything with clusters", access.Lines(sdk.Manifest{Settings: o.Asked.Settings, Permissions: sdk.Permissions{Kube: o.Asked.Permissions.Kube}})[0].Text)
	case o.Kube == nil:
		return out, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, kubeLookup)
	defer cancel()
	current, err := o.Kube.Context(ctx, "")
	if err != nil && sdk.CodeOf(err) != sdk.NotFound && sdk.CodeOf(err) != sdk.Invalid { // those: there is none
		return out, s.g.failure("the look into the kubeconfig", err)
	}
	if err == nil {
		out.Current = current
	}
	if in.Name != "" {
		if err := s.allowContext(in.Name); err != nil {
			return out, err
		}
		if out.Named, err = o.Kube.Context(ctx, in.Name); err != nil {
			return out, s.g.failure("the look into the kubeconfig", err)
		}
	}
	if o.KubeContexts != nil {
		used, err := o.KubeContexts.Of(s.g.id)
		if err != nil {
			return out, sdk.Errorf(sdk.Internal, "%v", err)
		}
		out.Used = append(out.Used, used...)
	}
	return out, nil
}

// allowContext reports whether the plugin may use anything of a context, and so ask for it.
func (s *Session) allowContext(name string) error {
	if !plainContext(name) {
		return sdk.Errorf(sdk.Invalid, "%.100q is not a name of a context", name)
	}
	s.checks.Lock()
	defer s.checks.Unlock()
	p := s.rules()
	if p.values.err != nil {
		return p.values.err
	}
	for _, r := range s.g.o.Manifest.Permissions.Kube {
		if slices.ContainsFunc(r.Contexts, func(pattern string) bool { return p.isNamed(pattern, name) }) {
			return nil
		}
	}
	return sdk.Errorf(sdk.Unauthorized, "plugin %s may use nothing of the context %s", s.g.id, name)
}

// allowKube finds the permission for something in a cluster.
func (s *Session) allowKube(contextName string, need kubeNeed) (line string, err error) {
	if !plainContext(contextName) {
		return "", sdk.Errorf(sdk.Invalid, "%.100q is not a name of a context", contextName)
	}
	line, err = s.permission(need.String()+" of the context "+contextName, func(p *policy, m sdk.Manifest) string { return p.searchKube(m, contextName, need) })
	if err == nil && len(s.g.o.Destinations) > 0 {
		return "", sdk.Errorf(sdk.Unauthorized, "plugin %s may not use the cluster of the context %s: the policy for plugins names destinations, and a kubeconfig may lead anywhere (plugins.destinations)", s.g.id, contextName)
	}
	return line, err
}

func (p *policy) searchKube(m sdk.Manifest, contextName string, need kubeNeed) string {
	for _, r := range m.Permissions.Kube {
		if !slices.Contains(r.Use, need.use) {
			continue
		}
		namespace := ""
		if need.use != sdk.KubeCluster {
			i := slices.IndexFunc(r.Namespaces, func(pattern string) bool {
				if need.namespace == everyNamespace {
					return pattern == everyNamespace
				}
				return p.isNamed(pattern, need.namespace)
			})
			if i < 0 {
				continue
			}
			namespace = r.Namespaces[i]
		}
		if i := slices.IndexFunc(r.Contexts, func(pattern string) bool { return p.isNamed(pattern, contextName) }); i >= 0 {
			return access.Kube(m, r.Contexts[i], namespace, need.use)
		}
	}
	return ""
}

// plainContext reports whether a name of a context may be given to another program.
func plainContext(name string) bool {
	return name != "" && len(name) <= 512 && name[0] != '-' && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// PlainPod finds that the names of a route are names.
func PlainPod(r sdk.KubeRoute) error {
	if !plainContext(r.Context) {
		return sdk.Errorf(sdk.Invalid, "%.100q is not a name of a context", r.Context)
	}
	return plainPod(r.Namespace, r.Pod, r.Container)
}

func plainPod(namespace, pod, container string) error {
	switch {
	case !dnsLabel().MatchString(namespace):
		return sdk.Errorf(sdk.Invalid, "%.100q is not a name of a namespace", namespace)
	case !dnsName().MatchString(pod) || strings.Contains(pod, ".."):
		return sdk.Errorf(sdk.Invalid, "%.100q is not a name of a pod", pod)
	case !dnsLabel().MatchString(container):
		return sdk.Errorf(sdk.Invalid, "%.100q is not a name of a container", container)
	default:
		return nil
	}
}
