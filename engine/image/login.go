package image

import "context"

// Anonymous are the [Options].Credentials of nobody.
func Anonymous(context.Context, string) (user, password string, err error) { return "", "", nil }

// NeedsLogin is the host of the registry whose credentials an image needs: there are some,
// and the registry has not shown the image without them. It is empty for every other
// image. Where there are no credentials, no registry is asked.
func NeedsLogin(ctx context.Context, ref string, o Options) (host string, err error) {
	if o.Open == nil {
		return "", nil
	}
	o = o.defaults()
	r, err := o.Open(ref, o)
	if err != nil {
		return "", nil // Unpack has the same error
	}
	if host = r.Login(ctx); host == "" {
		return "", nil
	}
	o.Credentials = Anonymous
	if r, err = o.Open(ref, o); err == nil {
		_, _, err = r.Manifest(ctx, r.Reference())
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return host, nil
	}
	return "", nil
}
