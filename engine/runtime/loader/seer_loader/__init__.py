"""First program of a machine: takes the runtime, starts it and outlives it. See docs/protocol.md, section 1."""
