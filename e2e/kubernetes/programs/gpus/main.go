// Command gpus offers the kubelet pretend GPUs, as NVIDIA's device plugin offers real ones: a
// container gets device nodes, an environment and a program in place of nvidia-smi. It ends when the
// kubelet ends, so that a supervisor starts it again and it registers with the next kubelet.
//
// usage: gpus NUMBER NVIDIA-SMI
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	kubelet "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const socket = "seer-gpus.sock"

type plugin struct {
	kubelet.UnimplementedDevicePluginServer
	number int
	smi    string // the program's path on the node
	gone   chan struct{}
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: gpus NUMBER NVIDIA-SMI")
	}
	number, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	path := kubelet.DevicePluginPath + socket
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	p := plugin{number: number, smi: args[1], gone: make(chan struct{}, 1)}
	kubelet.RegisterDevicePluginServer(server, p)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if err := register(); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-p.gone:
		return fmt.Errorf("the kubelet is gone")
	}
}

func register() error {
	conn, err := grpc.NewClient("unix://"+kubelet.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	request := &kubelet.RegisterRequest{Version: kubelet.Version, Endpoint: socket, ResourceName: "nvidia.com/gpu"}
	_, err = kubelet.NewRegistrationClient(conn).Register(context.Background(), request)
	return err
}

// GetDevicePluginOptions says that nothing is to be done before a container starts.
func (p plugin) GetDevicePluginOptions(context.Context, *kubelet.Empty) (*kubelet.DevicePluginOptions, error) {
	return &kubelet.DevicePluginOptions{}, nil
}

// ListAndWatch lists the GPUs, which do not change.
func (p plugin) ListAndWatch(_ *kubelet.Empty, stream kubelet.DevicePlugin_ListAndWatchServer) error {
	list := &kubelet.ListAndWatchResponse{}
	for i := range p.number {
		list.Devices = append(list.Devices, &kubelet.Device{ID: strconv.Itoa(i), Health: kubelet.Healthy})
	}
	if err := stream.Send(list); err != nil {
		return err
	}
	<-stream.Context().Done()
	select {
	case p.gone <- struct{}{}:
	default:
	}
	return nil
}

// Allocate gives each container its GPUs and no others.
func (p plugin) Allocate(_ context.Context, request *kubelet.AllocateRequest) (*kubelet.AllocateResponse, error) {
	answer := &kubelet.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		given := &kubelet.ContainerAllocateResponse{
			Envs:   map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(container.DevicesIds, ",")},
			Mounts: []*kubelet.Mount{{HostPath: p.smi, ContainerPath: "/usr/bin/nvidia-smi", ReadOnly: true}},
		}
		for _, id := range container.DevicesIds {
			node := "/dev/nvidia" + id
			given.Devices = append(given.Devices, &kubelet.DeviceSpec{HostPath: node, ContainerPath: node, Permissions: "rw"})
		}
		answer.ContainerResponses = append(answer.ContainerResponses, given)
	}
	return answer, nil
}
