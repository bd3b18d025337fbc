package host

// Loaded counts the modules that are kept, and the instances that live.
func (h *Host) Loaded() (modules, instances int) {
	all := h.modules()
	for _, m := range all {
		instances += len(m.instances())
	}
	return len(all), instances
}
