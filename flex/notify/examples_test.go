package notify

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"slurmflex/slurm"
)

// example runs an example script for an event, from a folder of its own with another file.
func example(t *testing.T, name string, e Event, beside, text string) (folder, output string, err error) {
	t.Helper()
	folder = t.TempDir()
	script, err := os.ReadFile("../../scripts/" + name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), script, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, beside), []byte(text), 0o600))
	cmd := exec.Command(filepath.Join(folder, name), e.Kind, e.id())
	cmd.Dir, cmd.Env = folder, append(e.environment("alpha"), "PATH=/usr/bin:/bin")
	out, err := cmd.CombinedOutput()
	return folder, string(out), err
}

var lostEvent = Event{
	Kind: "machine-lost", At: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Job: slurm.Job{ID: 812, ArrayID: 812, User: "ada"},
	NodeSet: "a3", Nodes: []string{"alpha-a3-0"}, Text: `job 812: the machine of "alpha-a3-0" is gone: C:\ <!channel> $(id) 2 × a3`,
}

// mailServer is an SMTP server for one mail. It returns its address and the dialogue; code answers
// the mail.
func mailServer(t *testing.T, code string) (address string, heard func() string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done, text := make(chan struct{}), strings.Builder{}
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		answer, inData := "220 ready", false
		lines := bufio.NewScanner(conn)
		for fmt.Fprintf(conn, "%s\r\n", answer); lines.Scan(); {
			line := lines.Text()
			text.WriteString(line + "\n")
			switch {
			case inData && line != ".":
				continue
			case inData:
				answer, inData = code, false
			case line == "DATA":
				answer, inData = "354 go on", true
			default:
				answer = "250 ok"
			}
			fmt.Fprintf(conn, "%s\r\n", answer)
		}
	}()
	return listener.Addr().String(), func() string { listener.Close(); <-done; return text.String() }
}

// needCurl skips a test where curl is missing.
func needCurl(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
}

func TestMailExampleMailsTheOwnerAndRoot(t *testing.T) {
	needCurl(t)
	blocked := Event{Kind: "nodeset-blocked", NodeSet: "a3", Text: "nodeset a3 is blocked"}
	running := lostEvent
	running.Kind = "job-running"
	of := func(user string) Event {
		e := running
		e.Job.User = user
		return e
	}
	for _, c := range []struct {
		event Event
		to    []string
	}{
		{lostEvent, []string{"ada@example.com", "root@example.com"}},
		{running, []string{"ada@example.com"}},
		{blocked, []string{"root@example.com"}},
		{of("ada@ad.example.com"), []string{"ada@example.com"}},
		{of(`EXAMPLE\ada`), []string{"ada@example.com"}},
		{of("ada>, eve@example.com\nBcc: eve"), nil},
		{of(""), nil},
	} {
		address, heard := mailServer(t, "250 queued")
		_, output, err := example(t, "notify-mail", c.event, "mail.curl", "url = \"smtp://"+address+"\"\nmail-from = \"slurm@example.com\"\n")
		require.NoError(t, err, output)
		var to []string
		text := heard()
		for _, found := range regexp.MustCompile(`(?m)^RCPT TO:<(.*)>$`).FindAllStringSubmatch(text, -1) {
			to = append(to, found[1])
		}
		assert.Equal(t, c.to, to)
		if c.to != nil {
			assert.Contains(t, text, "MAIL FROM:<slurm@example.com>")
			assert.Contains(t, text, "\nSubject: [slurmflex alpha] "+c.event.Kind+" "+c.event.id()+"\n")
			assert.Contains(t, text, "\n\n"+c.event.Text+"\n\nTime: ")
		}
	}
}

func TestMailExampleFailsIfTheServerRefuses(t *testing.T) {
	needCurl(t)
	address, heard := mailServer(t, "550 refused")
	_, output, err := example(t, "notify-mail", lostEvent, "mail.curl", "url = \"smtp://"+address+"\"\nmail-from = \"slurm\"\n")
	require.Error(t, err)
	assert.NotEmpty(t, output)
	assert.Contains(t, heard(), "RCPT TO:<ada>")
}

func TestWebhookExamplePostsTheText(t *testing.T) {
	needCurl(t)
	status, got, kind := http.StatusOK, "", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, kind = r.Method+" "+r.URL.Path+" "+string(body), r.Header.Get("Content-Type")
		w.WriteHeader(status)
	}))
	defer server.Close()
	config := "url = \"" + server.URL + "/services/secret\"\n"
	_, output, err := example(t, "notify-webhook", lostEvent, "webhook.curl", config)
	require.NoError(t, err, output)
	assert.Equal(t, `POST /services/secret {"text": "[alpha] job 812: the machine of \"alpha-a3-0\" is gone: C:\\ (!channel) $(id) 2 × a3"}`, got)
	assert.Equal(t, "application/json; charset=UTF-8", kind)

	status = http.StatusNotFound
	_, output, err = example(t, "notify-webhook", lostEvent, "webhook.curl", config)
	assert.EqualError(t, err, "exit status 22")
	assert.NotContains(t, output, "secret")
}
