package isolation

import "runtime"

// Thread calls f on a thread of its own, which ends with f. A command of [Command] that
// f starts has a session keyring of its own, so that it does not reach the keys of the
// user, and gVisor's processes are under a filter of system calls. A command with
// DieWithParent ends when f returns, so f waits for it.
func Thread(kind string, f func() error) error {
	return thread(kind, defences{}, f)
}

func thread(kind string, off defences, f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: what is changed below cannot be undone
		if err := enter(kind, off); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}
