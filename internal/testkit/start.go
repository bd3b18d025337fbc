package testkit

import "testing"

// Start starts a fake, which ends with the test.
func Start(t testing.TB, fake interface {
	Start() error
	Close() error
}) {
	t.Helper()
	if err := fake.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fake.Close(); err != nil {
			t.Error(err)
		}
	})
}
