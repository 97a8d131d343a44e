package lab

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// startFake starts the fake Compute API, whose VMs are slurmds.
func (l *Lab) startFake(ctx context.Context) error {
	log, err := os.Create(l.Log("fakegce.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{
		"--listen", "127.0.0.1:0", "--project", "demo", "--operation-time", cmp.Or(l.OperationTime, 500*time.Millisecond).String(),
		"--boot-time", "2s", "--delete-time", "3s", "--attempt-interval", "1s",
		"--boot-command", l.path("bin/boot"), "--delete-command", l.path("bin/delete"),
	}
	for _, set := range append([]NodeSet{{Name: "a3", Machine: "a3-megagpu-8g"}, {Name: "g2", Machine: "g2-standard-48"}}, l.NodeSets...) {
		if set.Machine != "" {
			args = append(args, "--template", set.Name+"="+set.Machine+"@us-central1")
		}
	}
	fake := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(l.Build, "slurmflex-fakegce"), args...)
	fake.Stderr = log
	fake.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := fake.StdoutPipe()
	if err != nil {
		return err
	}
	if err := fake.Start(); err != nil {
		return fmt.Errorf("start the fake Compute API: %w", err)
	}
	l.fake = fake
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the fake Compute API did not say where it listens; see %s", log.Name())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	at := strings.Index(line, "http://")
	if at < 0 {
		return fmt.Errorf("the fake Compute API says %q, which names no address", line)
	}
	l.Endpoint = strings.Fields(line[at:])[0]
	return nil
}

// Ask reads JSON from the fake's control surface, such as "state".
func (l *Lab) Ask(ctx context.Context, what string, answer any) error {
	return l.control(ctx, http.MethodGet, what, nil, answer)
}

// Tell changes something in the fake's world, such as "capacity".
func (l *Lab) Tell(ctx context.Context, what string, order any) error {
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	return l.control(ctx, http.MethodPost, what, body, nil)
}

func (l *Lab) control(ctx context.Context, method, what string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, method, l.Endpoint+"/fake/"+what, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s /fake/%s: %s: %s", method, what, resp.Status, strings.TrimSpace(string(text)))
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
