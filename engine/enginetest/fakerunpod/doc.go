// Package fakerunpod is a fake RunPod on this computer, for tests of
// programs that rent there: REST v2 over plain HTTP, the proxy before the pods, and
// pods that are real processes, see [container]. Nothing of it costs money and
// nothing leaves the computer.
//
//	cloud, err := fakerunpod.New(fakerunpod.Options{})
//	defer cloud.Close()
//	for name, value := range cloud.Env() {
//		t.Setenv(name, value)
//	}
//
// It is as strict as RunPod: unknown fields, wrong types, missing keys and too many
// requests are refused in its words. [Cloud.Inject] and [Behaviour] simulate the faults of
// RunPod.
//
// # What is known, and what is assumed
//
// Paths, bodies, statuses and limits follow RunPod's published description of REST v2.
// These facts are as users have reported them:
//
//   - args is an object with cmd and entrypoint, or else words, which RunPod splits as here;
//   - a create without gpu.count finds no machine;
//   - the edge refuses requests without a User-Agent, or with Python's own;
//   - the error for no capacity has the text that this package uses.
//
// These facts are assumed, because nothing published says them:
//
//   - the variables RUNPOD_… of a pod win over those of the request;
//   - the pod's own key may do anything to its pod and nothing else (403);
//   - dataCenterIds is a condition, not a preference;
//   - the proxy answers 404 for a port that is not listed as http, and cuts answers
//     that have begun, in both directions and websockets too, as it cuts others;
//   - a pod in the state ERROR goes on costing money;
//   - a terminated pod is unknown at once (404), see [Delays];
//   - the boundaries between LOW, MEDIUM and HIGH stock: 4 and 9;
//   - more than 50 variables, or a name longer than 191 characters: 400;
//   - a network volume that a pod has mounted cannot be deleted: 400.
//
// Serverless, clusters, GraphQL and the bills of anything but pods are not there: their
// paths answer 404. Of the ports of a pod, only that of the runtime is moved to a free
// one of this computer; another is the same here as in the request.
package fakerunpod
