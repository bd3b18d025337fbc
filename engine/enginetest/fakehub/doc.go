// Package fakehub is a fake of the Hugging Face Hub on this computer, for tests of programs
// that fetch models: the API, the content network that large files come from, and the Xet
// storage, each on a port of its own. Nothing leaves the computer.
//
//	hub, err := fakehub.New(fakehub.Options{Repos: []fakehub.Repo{{
//		ID: "org/name",
//		Commits: []fakehub.Commit{{Files: map[string]fakehub.File{
//			"config.json":       {Content: fakehub.Text("{}")},
//			"model.safetensors": {Content: fakehub.Random(10<<20, 1), Kind: fakehub.Xet},
//		}}},
//	}}})
//	defer hub.Close()
//	for name, value := range hub.Env() {
//		t.Setenv(name, value)
//	}
//
// The official clients in Python and JavaScript download from it, with Xet and without.
// [Hub.Inject] injects the faults of the real Hub. [Hub.Requests] is the log of requests. Among
// other things, it shows where a client sent its token.
//
// # What is known, and what is assumed
//
// Paths, headers, statuses and messages are those that the official clients rely on. The Xet
// part follows version 1.1.0 of its public specification. Assumed, as nothing published says it:
//
//   - a disabled repository answers 403 to every request;
//   - the status of a request for more than 50 GB without a Range is 400;
//   - the owner of a namespace may read its private and gated repositories;
//   - a signed URL of the Xet storage is refused with 403 unless each range of the request lies
//     in one of the signed ranges; the official Python client asks for them one by one;
//   - a Xet token gives access to the files of its repository at any revision.
//
// The hub is read-only: it has no uploads, no discussions, no search, and spaces only as
// repositories of files.
package fakehub
