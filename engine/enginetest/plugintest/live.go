package plugintest

import (
	"context"
	"errors"
	"net/http"
)

func replay(dir string) (http.RoundTripper, error) { return nil, errors.New("not yet") }

func (r *run) live(ctx context.Context) error { return errors.New("not yet") }
