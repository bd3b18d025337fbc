package fakemodal

import (
	"context"
	"os/exec"
	"path"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/enginetest/container"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// process is a command in a sandbox. Code and signal are set before done is closed.
type process struct {
	out, errs *output
	in        *input
	done      chan struct{}
	code      int32
	signal    int32
}

// task finds the sandbox of a task, for one who may use it.
func (s *routerServer) task(ctx context.Context, id string) (*sandbox, error) {
	if err := s.authorizeTask(ctx, id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sb, ok := s.tasks[id]
	if !ok || sb.started == 0 {
		return nil, notFound("Task '%s' not found", id)
	}
	return sb, nil
}

// running is task for what needs the machine.
func (s *routerServer) running(ctx context.Context, id string) (*sandbox, error) {
	sb, err := s.task(ctx, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if sb.result != nil {
		return nil, notFound("Task '%s' has finished", id)
	}
	return sb, nil
}

func (s *routerServer) process(ctx context.Context, task, id string) (*process, error) {
	sb, err := s.task(ctx, task)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := sb.execs[id]; ok {
		return p, nil
	}
	return nil, notFound("Exec '%s' not found", id)
}

// TaskExecStart starts a command. A second one with the same ID is the same.
func (s *routerServer) TaskExecStart(ctx context.Context, r *pb.TaskExecStartRequest) (*pb.TaskExecStartResponse, error) {
	sb, err := s.running(ctx, r.GetTaskId())
	if err != nil {
		return nil, err
	}
	if len(r.GetCommandArgs()) == 0 {
		return nil, invalid("the command is empty")
	}
	if w := r.GetWorkdir(); w != "" && !path.IsAbs(w) {
		return nil, invalid("workdir must be an absolute path, got %q", w)
	}
	if r.GetContainerId() != "" {
		return nil, status.Error(codes.Unimplemented, "the fake Modal has no sidecars")
	}
	in, err := newInput()
	if err != nil {
		return nil, err
	}
	in.changed = func() { sb.active(0) }
	p := &process{out: newOutput(), errs: newOutput(), in: in, done: make(chan struct{})}
	s.mu.Lock()
	vars, err := s.variables(r.GetSecretIds(), r.GetSecretSources())
	_, again := sb.execs[r.GetExecId()]
	if err == nil && !again {
		sb.execs[r.GetExecId()] = p
	}
	s.mu.Unlock()
	if err != nil || again {
		in.end()
		return &pb.TaskExecStartResponse{}, err
	}
	for k, v := range r.GetEnv() {
		vars[k] = v
	}
	sb.active(1)
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		defer sb.active(-1)
		sb.execute(p, r, vars)
	}()
	return &pb.TaskExecStartResponse{}, nil
}

const fsTools = "/__modal/.bin/modal-sandbox-fs-tools"

// execute runs a command to its end.
func (sb *sandbox) execute(p *process, r *pb.TaskExecStartRequest, vars map[string]string) {
	defer close(p.done)
	defer p.in.end()
	defer func() { _, _ = p.out.Close(), p.errs.Close() }()
	if args := r.GetCommandArgs(); args[0] == fsTools {
		p.code = fileTool{folder: sb.container.Folder, in: p.in.read, out: p.out, errs: p.errs}.run(args[1:])
		return
	}
	spec := container.Process{Argv: sb.local(r.GetCommandArgs(), sb.container.Folder), Env: vars, Dir: r.GetWorkdir(),
		Stdin: p.in.read, Stdout: p.out, Stderr: p.errs}
	if r.GetStdoutConfig() == pb.TaskExecStdoutConfig_TASK_EXEC_STDOUT_CONFIG_DEVNULL {
		spec.Stdout = nil
	}
	switch {
	case r.GetPtyInfo().GetEnabled() || r.GetStderrConfig() == pb.TaskExecStderrConfig_TASK_EXEC_STDERR_CONFIG_STDOUT:
		spec.Stderr = spec.Stdout
	case r.GetStderrConfig() == pb.TaskExecStderrConfig_TASK_EXEC_STDERR_CONFIG_DEVNULL:
		spec.Stderr = nil
	}
	cmd, err := sb.container.Exec(spec)
	if err != nil {
		_, _ = p.errs.Write([]byte(path.Base(r.GetCommandArgs()[0]) + ": " + err.Error() + "\n"))
		p.code = 127
		return
	}
	if t := r.GetTimeoutSecs(); t > 0 {
		timer := time.AfterFunc(time.Duration(t)*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		defer timer.Stop()
	}
	_ = cmd.Wait() // the outcome is in the state
	p.outcome(cmd)
}

// status is how a command that has ended did so: by a signal or with a code.
func (p *process) status() (code, signal *int32) {
	if p.signal != 0 {
		return nil, &p.signal
	}
	return &p.code, nil
}

func (p *process) outcome(cmd *exec.Cmd) {
	st, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if st.Signaled() {
		p.signal = int32(st.Signal())
		return
	}
	p.code = int32(st.ExitStatus())
}

// TaskExecWait waits for the end of a command.
func (s *routerServer) TaskExecWait(ctx context.Context, r *pb.TaskExecWaitRequest) (*pb.TaskExecWaitResponse, error) {
	p, err := s.process(ctx, r.GetTaskId(), r.GetExecId())
	if err != nil {
		return nil, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	code, signal := p.status()
	return pb.TaskExecWaitResponse_builder{Code: code, Signal: signal}.Build(), nil
}

// TaskExecPoll tells the exit status of a command that has ended.
func (s *routerServer) TaskExecPoll(ctx context.Context, r *pb.TaskExecPollRequest) (*pb.TaskExecPollResponse, error) {
	p, err := s.process(ctx, r.GetTaskId(), r.GetExecId())
	if err != nil {
		return nil, err
	}
	select {
	case <-p.done:
	default:
		return &pb.TaskExecPollResponse{}, nil
	}
	code, signal := p.status()
	return pb.TaskExecPollResponse_builder{Code: code, Signal: signal}.Build(), nil
}

// TaskExecStdioRead streams an output from an offset to its end.
func (s *routerServer) TaskExecStdioRead(r *pb.TaskExecStdioReadRequest, stream grpc.ServerStreamingServer[pb.TaskExecStdioReadResponse]) error {
	p, err := s.process(stream.Context(), r.GetTaskId(), r.GetExecId())
	if err != nil {
		return err
	}
	out := p.out
	if r.GetFileDescriptor() == pb.TaskExecStdioFileDescriptor_TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDERR {
		out = p.errs
	}
	return follow(stream.Context(), out, r.GetOffset(), func(chunk []byte, _ uint64) error {
		return stream.Send(pb.TaskExecStdioReadResponse_builder{Data: chunk}.Build())
	})
}

// TaskExecStdinWrite writes to a command.
func (s *routerServer) TaskExecStdinWrite(ctx context.Context, r *pb.TaskExecStdinWriteRequest) (*pb.TaskExecStdinWriteResponse, error) {
	p, err := s.process(ctx, r.GetTaskId(), r.GetExecId())
	if err != nil {
		return nil, err
	}
	return &pb.TaskExecStdinWriteResponse{}, p.in.put(ctx, r.GetOffset(), r.GetData(), r.GetEof())
}

// TaskExecStdinStatus tells how much has been written.
func (s *routerServer) TaskExecStdinStatus(ctx context.Context, r *pb.TaskExecStdinStatusRequest) (*pb.TaskExecStdinStatusResponse, error) {
	p, err := s.process(ctx, r.GetTaskId(), r.GetExecId())
	if err != nil {
		return nil, err
	}
	n, closed := p.in.state()
	return pb.TaskExecStdinStatusResponse_builder{NumBytesWritten: n, Closed: closed}.Build(), nil
}

// TaskExecStdinWriteStream writes to a command; only the end message closes it.
func (s *routerServer) TaskExecStdinWriteStream(stream grpc.ClientStreamingServer[pb.TaskExecStdinWriteStreamRequest, pb.TaskExecStdinWriteStreamResponse]) error {
	ctx := stream.Context()
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	start := first.GetStart()
	p, err := s.process(ctx, start.GetTaskId(), start.GetExecId())
	if err != nil {
		return err
	}
	offset := start.GetOffset()
	for {
		m, err := stream.Recv()
		if err != nil {
			return err
		}
		if m.HasEnd() {
			if err := p.in.put(ctx, offset, nil, true); err != nil {
				return err
			}
			return stream.SendAndClose(&pb.TaskExecStdinWriteStreamResponse{})
		}
		if err := p.in.put(ctx, offset, m.GetData(), false); err != nil {
			return err
		}
		offset += uint64(len(m.GetData()))
	}
}
