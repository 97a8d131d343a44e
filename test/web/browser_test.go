//go:build web

package web

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// browser is a headless Chromium with one page, controlled over a pipe by the DevTools protocol.
type browser struct {
	t       *testing.T
	out     *os.File
	session string

	mu      sync.Mutex
	next    int
	answers map[int]chan message
	console []string // errors on the page's console
}

// message is a DevTools protocol message.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// openBrowser starts Chromium and kills it when the test ends.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	toIt, ours, err := os.Pipe()
	require.NoError(t, err)
	fromIt, its, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command("/usr/bin/chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toIt, its} // 3 and 4, as the option prescribes
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	cmd.Stderr = &said
	require.NoError(t, cmd.Start())
	toIt.Close()
	its.Close()
	b := &browser{t: t, out: ours, answers: map[int]chan message{}}
	done := make(chan struct{})
	go func() { b.read(fromIt); close(done) }()
	t.Cleanup(func() {
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		_ = cmd.Wait()
		ours.Close()
		fromIt.Close()
		<-done
		if t.Failed() {
			t.Logf("Chromium's output:\n%s", regexp.MustCompile(`.*:ERROR:dbus/.*\n`).ReplaceAllString(said.String(), ""))
		}
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Runtime", "Log", "Page", "Network", "Accessibility"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// read handles the browser's messages until the browser exits.
func (b *browser) read(from io.Reader) {
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID != 0:
			b.answers[m.ID] <- m
		case m.Method == "Runtime.exceptionThrown", m.Method == "Log.entryAdded" && bytes.Contains(m.Params, []byte(`"level":"error"`)),
			m.Method == "Runtime.consoleAPICalled" && bytes.Contains(m.Params, []byte(`"type":"error"`)):
			b.console = append(b.console, string(m.Params))
		}
		b.mu.Unlock()
	}
}

// call calls a method of the protocol and waits for the answer.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	text, err := json.Marshal(params)
	require.NoError(b.t, err)
	answer := make(chan message, 1)
	b.mu.Lock()
	b.next++
	m := message{ID: b.next, Session: b.session, Method: method}
	if params != nil {
		m.Params = text
	}
	b.answers[m.ID] = answer
	b.mu.Unlock()
	text, err = json.Marshal(m)
	require.NoError(b.t, err)
	_, err = b.out.Write(append(text, 0))
	require.NoError(b.t, err)
	select {
	case got := <-answer:
		require.Nil(b.t, got.Error, "%s: %v", method, got.Error)
		if result != nil {
			require.NoError(b.t, json.Unmarshal(got.Result, result))
		}
	case <-time.After(time.Minute):
		require.Fail(b.t, "Chromium does not answer "+method)
	}
}

// visit opens a page.
func (b *browser) visit(url string) {
	b.t.Helper()
	var went struct{ ErrorText string }
	b.call("Page.navigate", map[string]any{"url": url}, &went)
	require.Empty(b.t, went.ErrorText, url)
	require.Eventually(b.t, func() bool { return b.eval("document.readyState") == "complete" }, time.Minute, 100*time.Millisecond)
}

// eval evaluates an expression on the page and returns it as text.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails any
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &got)
	require.Nil(b.t, got.ExceptionDetails, expression)
	return fmt.Sprint(got.Result.Value)
}

// screen sets the page's size in pixels and its color scheme.
func (b *browser) screen(width, height int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
	}, nil)
	b.call("Emulation.setScrollbarsHidden", map[string]any{"hidden": true}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
}

// shoot writes a screenshot of the page to a file.
func (b *browser) shoot(path string) {
	b.t.Helper()
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	image, err := base64.StdEncoding.DecodeString(shot.Data)
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(path, image, 0o644))
}

// zone sets the browser's time zone.
func (b *browser) zone(name string) {
	b.t.Helper()
	b.call("Emulation.setTimezoneOverride", map[string]any{"timezoneId": name}, nil)
}

// scripts enables or disables the page's scripts.
func (b *browser) scripts(allowed bool) {
	b.t.Helper()
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": !allowed}, nil)
}

// errors returns the errors on the console so far.
func (b *browser) errors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.console...)
}
