package flex

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// GateVerb is the verb of the WakeUp by which a job's gate, its PrologSlurmctld, asks
// whether to wait. Nodes are the job's, and Jobs is the job alone.
const GateVerb = "gate"

const (
	// gateHeld is the daemon's word that a gate is to wait. It comes again every
	// GatePulse; the end of the connection opens the gate.
	gateHeld = "wait\n"

	// GatePulse is how often the daemon sends each gate that word.
	GatePulse = 5 * time.Second

	gateSilence = 6 * GatePulse   // without that word, after which a gate opens itself
	gateTime    = 3 * time.Second // for the daemon, to answer a gate that asks
)

// WaitAtGate waits until the daemon opens a job's gate: when the job's nodes are up, and
// at once if it holds none for this job. It also returns, with an error for the log, if no
// daemon answers within 3 s, if the daemon dies, and after 30 s without a word from it.
// Whatever it returns, the job may start.
func WaitAtGate(ctx context.Context, path string, call WakeUp) error {
	if err := trustworthy(path); err != nil {
		return err
	}
	conn, err := (&net.Dialer{Timeout: gateTime}).DialContext(ctx, "unix", path)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(gateTime)); err != nil {
		return err
	}
	if err := json.NewEncoder(conn).Encode(call); err != nil {
		return fmt.Errorf("ask the daemon at %s: %w", path, err)
	}
	words := bufio.NewReaderSize(conn, 64)
	for {
		word, err := words.ReadSlice('\n')
		if errors.Is(err, io.EOF) || err == nil && string(word) != gateHeld {
			return nil
		}
		if err != nil {
			return fmt.Errorf("no word from the daemon at %s: %w", path, err)
		}
		if err := conn.SetDeadline(time.Now().Add(gateSilence)); err != nil {
			return err
		}
	}
}

// HoldGate sends a gate the word to wait on. It fails if the gate has gone.
func HoldGate(conn net.Conn) error {
	if err := conn.SetWriteDeadline(time.Now().Add(readTime)); err != nil {
		return err
	}
	_, err := io.WriteString(conn, gateHeld)
	return err
}
