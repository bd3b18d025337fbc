package modal

import (
	"context"
	"encoding/json"

	sdkmodal "github.com/modal-labs/modal-client/go"

	"github.com/seer-engine/seer/sdk"
)

// The steps to a machine, in order. Each is one call of Create and may be repeated:
// what it asks Modal for is there only once.
const (
	stepBegin   = ""        // app, volumes
	stepImage   = "image"   // ask for a layer of the image
	stepBuild   = "build"   // listen while it is built
	stepSandbox = "sandbox" // ask for the machine
	stepFailed  = "failed"  // tell why, now that the log has been told
)

// cursor is what Create remembers between two calls.
type cursor struct {
	Step    string   `json:"step"`
	App     string   `json:"app,omitempty"`
	Volumes []string `json:"volumes,omitempty"` // IDs, in the order of the spec

	Builder string `json:"builder,omitempty"` // version of the image builder
	Layer   int    `json:"layer,omitempty"`   // the one at hand
	Image   string `json:"image,omitempty"`   // what that is built on; in the end, the machine's
	Build   string `json:"build,omitempty"`   // the image that it becomes
	Entry   string `json:"entry,omitempty"`   // the last piece of its log that was read
	Rest    string `json:"rest,omitempty"`    // the begun line of that log
	Tries   int    `json:"tries,omitempty"`   // how often Modal gave the build up

	Error *sdk.Error `json:"error,omitempty"`
}

// creation is one call of Create.
type creation struct {
	*session
	order
	at cursor
}

// Create implements [sdk.Provider].
func (p *Provider) Create(ctx context.Context, spec sdk.MachineSpec, raw json.RawMessage) (sdk.CreateStep, error) {
	list, err := builtIn()
	if err != nil {
		return sdk.CreateStep{}, err
	}
	c := creation{}
	if c.order, err = newOrder(spec, list); err != nil {
		return sdk.CreateStep{}, err
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c.at); err != nil || !c.fits() {
			return sdk.CreateStep{}, sdk.Errorf(sdk.Invalid, "the cursor is not one of this plugin for this machine")
		}
	}
	if c.session, err = p.open(); err != nil {
		return sdk.CreateStep{}, err
	}
	limit := callTime
	if c.at.Step == stepSandbox {
		limit += createTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return c.step(ctx)
}

// fits reports whether the cursor can be one for the order.
func (c *creation) fits() bool {
	switch c.at.Step {
	case stepImage, stepBuild:
		return c.at.Layer >= 0 && c.at.Layer < len(c.layers)
	case stepSandbox:
		return len(c.at.Volumes) == len(c.Volumes)
	case stepFailed:
		return c.at.Error != nil
	default:
		return c.at.Step == stepBegin
	}
}

func (c *creation) step(ctx context.Context) (sdk.CreateStep, error) {
	switch c.at.Step {
	case stepImage:
		return c.askImage(ctx)
	case stepBuild:
		return c.listen(ctx)
	case stepSandbox:
		return c.askSandbox(ctx)
	case stepFailed:
		return sdk.CreateStep{}, c.at.Error
	default:
		return c.begin(ctx)
	}
}

// next goes on with a step after some seconds.
func (c *creation) next(step string, after float64, log ...string) (sdk.CreateStep, error) {
	c.at.Step = step
	raw, err := json.Marshal(c.at)
	return sdk.CreateStep{Cursor: raw, Log: log, AfterSeconds: after}, err
}

// fail tells the log first, and the error at the next call: an error has no log.
func (c *creation) fail(err *sdk.Error, log []string) (sdk.CreateStep, error) {
	if len(log) == 0 {
		return sdk.CreateStep{}, err
	}
	c.at = cursor{Error: err}
	return c.next(stepFailed, 0, log...)
}

func (c *creation) begin(ctx context.Context) (sdk.CreateStep, error) {
	app, err := c.sdk.Apps.FromName(ctx, c.App, &sdkmodal.AppFromNameParams{CreateIfMissing: true})
	if err != nil {
		return sdk.CreateStep{}, fault(ctx, "opening the app "+c.App+" of Modal's", err)
	}
	c.at.App = app.AppID
	c.at.Volumes = nil
	for _, v := range c.Volumes {
		volume, err := c.sdk.Volumes.FromName(ctx, v.Name, &sdkmodal.VolumeFromNameParams{CreateIfMissing: true})
		if err != nil {
			return sdk.CreateStep{}, fault(ctx, "opening the volume "+v.Name, err)
		}
		c.at.Volumes = append(c.at.Volumes, volume.VolumeID)
	}
	if image := c.Image; image != nil && image.Snapshot != "" {
		if err := c.openSnapshot(ctx, image.Snapshot); err != nil {
			return sdk.CreateStep{}, err
		}
	}
	if len(c.layers) == 0 {
		return c.next(stepSandbox, 0)
	}
	return c.next(stepImage, 0)
}

func (c *creation) openSnapshot(ctx context.Context, id string) error {
	image, err := c.sdk.Images.FromID(ctx, id, nil)
	if err != nil {
		err = fault(ctx, "opening the snapshot "+id, err)
		if sdk.CodeOf(err) == sdk.NotFound {
			return sdk.Errorf(sdk.NotFound, "the snapshot %s does not exist, or its time is over", id)
		}
		return err
	}
	c.at.Image = image.ImageID
	return nil
}
