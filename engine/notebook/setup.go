package notebook

import (
	"context"
	"net/http"
)

// SetUp gives later kernels other set-up cells, and returns when one is prepared with them.
// Kernels that wait for their notebooks end; those in use stay as they are. When a cell fails,
// the cells before count again.
func (c *Client) SetUp(ctx context.Context, cells []SetupCell) (Session, error) {
	if cells == nil {
		cells = []SetupCell{}
	}
	body := map[string]any{"setup": cells, "key": NewKey()}
	return c.session(ctx, request{method: http.MethodPut, path: "/setup", body: body, safe: true})
}
