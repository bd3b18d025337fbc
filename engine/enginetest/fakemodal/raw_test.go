package fakemodal_test

import (
	"context"
	"strings"
	"testing"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/seer-engine/seer/engine/enginetest/fakemodal"
)

// raw is a client without help: no retry, and exactly the credentials that it is
// given.
func raw(t *testing.T, cloud *fakemodal.Cloud, pairs ...string) pb.ModalClientClient {
	t.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(cloud.URL(), "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, o ...grpc.CallOption) error {
			return invoke(metadata.AppendToOutgoingContext(ctx, pairs...), method, req, reply, cc, o...)
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, d *grpc.StreamDesc, cc *grpc.ClientConn, method string, stream grpc.Streamer, o ...grpc.CallOption) (grpc.ClientStream, error) {
			return stream(metadata.AppendToOutgoingContext(ctx, pairs...), d, cc, method, o...)
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return pb.NewModalClientClient(conn)
}

func credentials(cloud *fakemodal.Cloud) []string {
	env := cloud.Env()
	return []string{"x-modal-client-type", "9", "x-modal-token-id", env["MODAL_TOKEN_ID"], "x-modal-token-secret", env["MODAL_TOKEN_SECRET"]}
}

// api is raw with what a client in Go sends.
func api(t *testing.T, cloud *fakemodal.Cloud) pb.ModalClientClient {
	t.Helper()
	pairs := credentials(cloud)
	answer, err := raw(t, cloud, pairs...).AuthTokenGet(t.Context(), &pb.AuthTokenGetRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return raw(t, cloud, append(pairs, "x-modal-auth-token", answer.GetToken())...)
}
