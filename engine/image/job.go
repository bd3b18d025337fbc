package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/sdk"
)

// job is the way of one image from its registry to its folder.
type job struct {
	store    store
	asked    string // as the user wrote it
	registry Registry
	o        Options
}

func (j job) run(ctx context.Context) (Root, error) {
	want, err := parsePlatform(j.o.Platform)
	if err != nil {
		return Root{}, err
	}
	if at := j.registry.Reference(); strings.HasPrefix(at, "sha256:") { // it may have come by another name
		if root, there := j.store.get(at); there && root.Platform == platformText(want) {
			return root, nil
		}
	}
	name := j.registry.Name()
	old, at, known := j.store.recall(name, platformText(want))
	if known && strings.HasPrefix(j.registry.Reference(), "sha256:") {
		return old, nil
	}
	f, err := j.resolve(ctx, want)
	if err != nil {
		if known && silent(err) {
			j.o.Log(fmt.Sprintf("%v; what it named %s ago is used", err, age(time.Since(at))))
			return old, nil
		}
		return Root{}, err
	}
	root, there := j.store.get(f.at.String())
	if !there {
		if root, err = j.make(ctx, f, want); err != nil {
			return Root{}, err
		}
	}
	return root, j.store.remember(named{Ref: name, Platform: platformText(want), Digest: f.at.String(), At: time.Now().UTC()})
}

// silent reports whether the registry gave no answer that says something of the image.
func silent(err error) bool { return passing(err) }

func (j job) make(ctx context.Context, f found, want v1.Platform) (Root, error) {
	config, err := j.config(ctx, f.text.Config, want)
	if err != nil {
		return Root{}, err
	}
	r := record{Digest: f.at.String(), Env: config.Config.Env, Workdir: config.Config.WorkingDir, User: config.Config.User, Platform: platformText(want)}
	root, err := j.store.build(ctx, r, j.o.Log, func(dir string) (int64, int64, error) { return j.fill(ctx, f, dir) })
	if err == nil {
		j.store.dropBlobs(f.layers)
	}
	return root, err
}

// fill downloads the layers and unpacks each upon those before it.
func (j job) fill(ctx context.Context, f found, dir string) (int64, int64, error) {
	files, err := j.download(ctx, f.layers)
	defer func() {
		for _, file := range files {
			if file != nil {
				_ = file.Close()
			}
		}
	}()
	if err != nil {
		return 0, 0, err
	}
	t, err := openTree(dir, j.o.MaxBytes)
	if err != nil {
		return 0, 0, err
	}
	defer t.close()
	for i, file := range files {
		j.o.Log(fmt.Sprintf("%s: unpacking layer %d of %d, %s", j.asked, i+1, len(files), size(f.layers[i].Size)))
		if err := t.apply(ctx, file); err != nil {
			if ctx.Err() != nil {
				return 0, 0, ctx.Err()
			}
			return 0, 0, fmt.Errorf("the image %s: layer %d of %d: %w", j.asked, i+1, len(files), state.NoSpace(j.store.dir, err))
		}
	}
	j.o.Log(fmt.Sprintf("%s: unpacked %s in %d files", j.asked, size(t.bytes), t.files))
	for _, kind := range sortedKeys(t.skipped) {
		j.o.Log(fmt.Sprintf("%s: left out %d × %s", j.asked, t.skipped[kind], kind))
	}
	return t.bytes, t.files, nil
}

const parallel = 3 // as Docker has it

// download opens every layer, each once it is there and verified. The files stay
// readable when somebody removes them.
func (j job) download(ctx context.Context, layers []v1.Descriptor) ([]*os.File, error) {
	p := j.progress(layers)
	if err := j.store.checkSpace(j.asked, p.missing); err != nil {
		return nil, err
	}
	files := make([]*os.File, len(layers))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, desc := range layers {
		group.Go(func() (err error) {
			b := blob{job: j, desc: desc, came: p.add}
			files[i], err = b.get(groupCtx)
			return err
		})
	}
	err := group.Wait()
	if err == nil {
		p.end()
	} else if ctx.Err() != nil {
		err = ctx.Err()
	}
	return files, err
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// passing reports whether it makes sense to ask for the rest.
func passing(err error) bool {
	code := sdk.CodeOf(err)
	return code == sdk.Unavailable || code == sdk.RateLimited
}

func (j job) fail(code sdk.Code, format string, args ...any) *sdk.Error {
	return sdk.Errorf(code, "the image %s: %s", j.asked, fmt.Sprintf(format, args...))
}

func (j job) swapped(what string, want, have digest.Digest) error {
	return j.fail(sdk.Invalid, "what came as its %s is something else: it has the digest %s instead of %s. Do not use it, and tell who runs the registry", what, have, want)
}

// explain names the image in an error, unless it is there or is not the registry's.
func (j job) explain(ctx context.Context, err error) error {
	var coded *sdk.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &coded) && !strings.HasPrefix(coded.Message, "the image "):
		e := j.fail(coded.Code, "%s", coded.Message)
		e.Seconds = coded.Seconds
		return e
	}
	return err
}
