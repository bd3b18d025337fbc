package guestgrpc_test

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"

	"github.com/seer-engine/seer/sdk/guest/guestgrpc"
)

// A generated client needs nothing else.
func ExampleConn() {
	client := pb.NewTestServiceClient(guestgrpc.Conn{Target: "https://api.example.org"})
	_, _ = client.EmptyCall(context.Background(), &pb.Empty{})
}

// An SDK makes its own connection and keeps its own interceptors; these come last.
func ExampleUnaryInterceptor() {
	conn, err := grpc.NewClient("api.example.org:443",
		grpc.WithTransportCredentials(insecure.NewCredentials()), // never used
		grpc.WithChainUnaryInterceptor(guestgrpc.UnaryInterceptor("https://api.example.org")),
		grpc.WithChainStreamInterceptor(guestgrpc.StreamInterceptor("https://api.example.org")))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_, _ = pb.NewTestServiceClient(conn).EmptyCall(context.Background(), &pb.Empty{})
}
