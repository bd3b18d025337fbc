package fakerunpod

// locked is a handler that is called with the cloud locked.
func locked(h handler) handler {
	return func(c *Cloud, r *request) (reply, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return h(c, r)
	}
}

// about is a handler of requests about the thing whose id is in the path. It is called with
// the cloud locked.
func about[Thing any](find func(c *Cloud, id string) (Thing, error), answer func(c *Cloud, thing Thing) (reply, error)) handler {
	return locked(func(c *Cloud, r *request) (reply, error) {
		thing, err := find(c, r.params["id"])
		if err != nil {
			return reply{}, err
		}
		return answer(c, thing)
	})
}

// given is a handler of requests with a body, which must be what the operation takes. It is
// called with the cloud locked.
func given[Body any](operation string, answer func(c *Cloud, r *request, body *Body) (reply, error)) handler {
	return func(c *Cloud, r *request) (reply, error) {
		var body Body
		if err := c.bodies.decode(r.Request, operation, &body); err != nil {
			return reply{}, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return answer(c, r, &body)
	}
}

// change is a handler of requests whose body changes the thing whose id is in the path. It is
// called with the cloud locked.
func change[Body, Thing any](operation string, find func(c *Cloud, id string) (Thing, error), answer func(c *Cloud, body *Body, thing Thing) (reply, error)) handler {
	return given(operation, func(c *Cloud, r *request, body *Body) (reply, error) {
		thing, err := find(c, r.params["id"])
		if err != nil {
			return reply{}, err
		}
		return answer(c, body, thing)
	})
}
