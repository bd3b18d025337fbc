package sshhost

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/seer-engine/seer/engine/image/registry"
	"github.com/seer-engine/seer/engine/machine/local"
	"github.com/seer-engine/seer/engine/state"
	"github.com/seer-engine/seer/internal/retry"
	"github.com/seer-engine/seer/sdk"
)

// Images has machines of a host or a node start from images: those of registries, and files and
// folders that are there. Registries are asked without any login: that of the user stays on the
// user's computer, and one that is saved here is not for the code of an experiment.
func Images(o *local.Options) {
	o.Registry, o.ImageFiles = registry.Open, true
	o.Login = func(string) bool { return false }
}

const (
	imagesName  = "images" // in the cache
	imageMethod = "image"  // makes an image; it is started by create and outlives it
	workName    = "work"   // in the folder of the images: what such programs say
)

// imageInput is that of imageMethod.
type imageInput struct {
	Base string `json:"base"`
}

// imageCursor is where a creation is that waits for an image.
type imageCursor struct {
	Read int64 `json:"read"` // bytes of the log that were given already
}

// create takes a step of the provider. An image that takes longer than a call is made by a program
// of its own.
func (h *host) create(ctx context.Context, spec sdk.MachineSpec, cursor json.RawMessage) (sdk.CreateStep, error) {
	if spec.Image == nil || spec.Image.Base == "" {
		return h.Create(ctx, spec, cursor)
	}
	w, err := h.imageWork(spec.Image.Base)
	if err != nil {
		return sdk.CreateStep{}, err
	}
	var at imageCursor
	if len(cursor) > 0 {
		if err := json.Unmarshal(cursor, &at); err != nil {
			return sdk.CreateStep{}, sdk.Errorf(sdk.Invalid, "the cursor is not one of this provider")
		}
		if err := w.failed(); err != nil {
			return sdk.CreateStep{}, err
		}
	}
	step, err := h.Create(ctx, spec, nil)
	if err != nil || step.Handle != "" {
		if len(cursor) > 0 {
			step.Log = w.last(at.Read, step.Log)
		}
		w.forget()
		return step, err
	}
	if len(cursor) == 0 {
		w.forget() // what an earlier start has left
	}
	if err := w.begin(); err != nil {
		return sdk.CreateStep{}, err
	}
	step.Log, at.Read = w.lines(at.Read)
	step.AfterSeconds = 1
	step.Cursor, err = json.Marshal(at)
	return step, err
}

// imageWork is the program that makes an image, and its files: NAME.lock, which it holds, NAME.log
// with what it does, NAME.error once it has failed, and NAME.wanted, which every caller touches.
type imageWork struct {
	base string
	path string // without the suffix
}

const (
	lockSuffix   = ".lock"
	logSuffix    = ".log"
	errorSuffix  = ".error"
	wantedSuffix = ".wanted"
)

func (h *host) imageWork(base string) (imageWork, error) {
	dir := filepath.Join(h.options.ImagesDir, workName)
	sum := sha256.Sum256([]byte(base))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return imageWork{}, state.NoSpace(dir, err)
	}
	return imageWork{base, filepath.Join(dir, hex.EncodeToString(sum[:8]))}, nil
}

// failed is the error of the program, which is told once.
func (w imageWork) failed() error {
	data, err := os.ReadFile(w.path + errorSuffix)
	if err != nil {
		return nil //nolint:nilerr // it goes on, has ended well or was killed
	}
	w.forget()
	var e sdk.Error
	if err := json.Unmarshal(data, &e); err != nil {
		return sdk.Errorf(sdk.Internal, "the image %s could not be made: %s cannot be read: %v", w.base, w.path+errorSuffix, err)
	}
	return &e
}

// forget removes what a program has left that has ended.
func (w imageWork) forget() {
	lock, held, err := state.TryAcquire(w.path + lockSuffix)
	if err != nil || held {
		return
	}
	defer lock.Remove()
	for _, suffix := range []string{logSuffix, errorSuffix, wantedSuffix} {
		_ = os.Remove(w.path + suffix)
	}
}

// begin starts the program, unless it runs. It has a session of its own, so that it outlives that of
// the user.
func (w imageWork) begin() error {
	if err := os.WriteFile(w.path+wantedSuffix, nil, 0o600); err != nil {
		return state.NoSpace(w.path, err)
	}
	now := time.Now()
	if err := os.Chtimes(w.path+wantedSuffix, now, now); err != nil {
		return err
	}
	lock, held, err := state.TryAcquire(w.path + lockSuffix)
	if err != nil || held {
		return err
	}
	lock.Release()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	input, err := json.Marshal(imageInput{w.base})
	if err != nil {
		return err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	defer in.Close()
	cmd := exec.Command(self, "provider", imageMethod)
	cmd.Stdin, cmd.Dir, cmd.SysProcAttr = out, "/", &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if _, err := in.Write(input); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// lines are what the program has said since; read is up to where that is.
func (w imageWork) lines(since int64) (lines []string, read int64) {
	data, err := os.ReadFile(w.path + logSuffix)
	if err != nil || int64(len(data)) < since {
		return nil, 0
	}
	said := string(data[since:])
	said = said[:strings.LastIndexByte(said, '\n')+1] // the last one may not be complete
	for line := range strings.Lines(said) {
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return lines, since + int64(len(said))
}

// last are the lines of the program that were not told yet, and those of the call that has waited for
// it, without what is of the waiting.
func (w imageWork) last(since int64, log []string) []string {
	lines, _ := w.lines(since)
	for _, line := range log {
		if !strings.HasPrefix(line, w.base+": ") && !strings.HasPrefix(line, "another program is at work") {
			lines = append(lines, line)
		}
	}
	return lines
}

const (
	wantedTime = 2 * time.Minute // after which the program ends, if nobody asks for the image
	wantedLook = 5 * time.Second
)

// fetch is the program.
func (h *host) fetch(ctx context.Context, base string) error {
	w, err := h.imageWork(base)
	if err != nil {
		return err
	}
	lock, held, err := state.TryAcquire(w.path + lockSuffix)
	if err != nil || held {
		return err
	}
	defer lock.Release() // the file stays for others that wait, and goes with forget
	log, err := os.OpenFile(w.path+logSuffix, os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go w.whileWanted(ctx, cancel)
	err = local.FetchImage(ctx, h.options, base, func(line string) { _, _ = log.WriteString(line + "\n") })
	if err != nil && ctx.Err() == nil {
		return w.fail(err)
	}
	return err
}

// fail writes down why there is no image. On a full disk that fails, and the next call finds the
// same again.
func (w imageWork) fail(err error) error {
	data, jsonErr := json.Marshal(sdk.Error{Code: sdk.CodeOf(err), Message: err.Error()})
	return errors.Join(err, jsonErr, state.WriteFile(w.path+errorSuffix, data, 0o600))
}

// whileWanted ends the work for an image that nobody asks for any more.
func (w imageWork) whileWanted(ctx context.Context, cancel func()) {
	for retry.Sleep(ctx, wantedLook) == nil {
		info, err := os.Stat(w.path + wantedSuffix)
		if errors.Is(err, fs.ErrNotExist) || err == nil && time.Since(info.ModTime()) > wantedTime {
			cancel()
		}
	}
}
