// Package remote runs slurmflex-fakegce, the fake Compute API, as a separate process and uses
// its control surface.
package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
)

// Fake is a fake Compute API in another process.
type Fake struct {
	Endpoint string    // such as http://127.0.0.1:8080
	process  *exec.Cmd // nil if another party started it
}

// Start starts the program in its own session and returns once it listens. The program's log
// is written to log; a file avoids a copying goroutine. The caller must call Stop.
func Start(program string, log io.Writer, args ...string) (*Fake, error) {
	f := &Fake{process: exec.Command(program, append([]string{"--listen", "127.0.0.1:0"}, args...)...)}
	f.process.Stderr = log
	f.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := f.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := f.process.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w; run make build", program, err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	at := strings.Index(line, "http://")
	if err != nil || at < 0 {
		f.Stop()
		return nil, fmt.Errorf("%s printed %q instead of its address; its log has the reason", program, line)
	}
	f.Endpoint = strings.Fields(line[at:])[0]
	return f, nil
}

// Stop kills the process that Start started.
func (f *Fake) Stop() {
	if f.process != nil {
		_ = f.process.Process.Kill()
		_ = f.process.Wait()
	}
}

// Ask reads part of the fake's world, such as "state", into answer.
func (f *Fake) Ask(ctx context.Context, what string, answer any) error {
	text, err := f.control(ctx, http.MethodGet, what, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, answer)
}

// Tell changes part of the fake's world, such as "capacity".
func (f *Fake) Tell(ctx context.Context, what string, order any) error {
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	_, err = f.control(ctx, http.MethodPost, what, body)
	return err
}

func (f *Fake) control(ctx context.Context, method, what string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, f.Endpoint+"/fake/"+what, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, fmt.Errorf("%s /fake/%s: %s: %s", method, what, resp.Status, strings.TrimSpace(string(text)))
	}
	return text, nil
}
