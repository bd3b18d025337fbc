package engine

import (
	"context"
	"slices"
	"sync"

	"github.com/seer-engine/seer/engine/image"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/plan"
	"github.com/seer-engine/seer/engine/trust"
)

// imageLogins are the images that may be fetched with the user's login at their registry.
// Code of an experiment reads its image, so the user confirms that. All others are fetched
// without a login.
type imageLogins struct {
	confirmed sync.Map // references
}

func (l *imageLogins) confirm(ref string) { l.confirmed.Store(ref, true) }

func (l *imageLogins) allowed(ref string) bool {
	_, ok := l.confirmed.Load(ref)
	return ok
}

// imagesHere are the images that machines of this computer start from.
func imagesHere(p plan.Plan) []string {
	var refs []string
	for _, c := range p.Choices {
		if from, _ := p.ImageOf(c); c.HostMounts && !c.BuildsImage && from != nil && from.Base != "" && !slices.Contains(refs, from.Base) {
			refs = append(refs, from.Base)
		}
	}
	return refs
}

// imagesByLogin are those that registries do not show to everybody.
func (e *Engine) imagesByLogin(ctx context.Context, p plan.Plan) ([]trust.Image, error) {
	var found []trust.Image
	for _, ref := range imagesHere(p) {
		host, err := image.NeedsLogin(ctx, ref, image.Options{Open: e.opts.Registry, Insecure: local.PlainHTTP(ref)})
		if err != nil {
			return nil, as(KindInternal, err)
		}
		if host != "" {
			found = append(found, trust.Image{Ref: ref, Host: host})
		}
	}
	return found, nil
}
