package flex

import (
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Whatever comes in whatever pieces is acknowledged or hung up on, and the next
// caller is served.
func FuzzPieces(f *testing.F) {
	f.Add([]byte(`{"verb":"resume","nodes":"alpha-a3-[0-3]","jobs":[812]}`+"\n"), uint8(1))
	f.Add([]byte(`{"verb":"resume","nodes":"alpha-a3-0"}{"verb":"suspend","nodes":"alpha-a3-1"}`), uint8(30))
	f.Add([]byte(`{"verb":"\ud800","jobs":[4294967296]}`), uint8(5))
	f.Add([]byte(`{"jobs":`+strings.Repeat("[", 100)), uint8(50))
	path, wakeUps := listening(f)
	f.Fuzz(func(t *testing.T, bytes []byte, size uint8) {
		conn, err := net.Dial("unix", path)
		require.NoError(t, err)
		defer conn.Close()
		for piece := range slices.Chunk(bytes, int(size)+1) {
			if _, err := conn.Write(piece); err != nil {
				break // the daemon has read what it wants to
			}
		}
		_ = conn.(*net.UnixConn).CloseWrite()
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*readTime)))
		answer, err := io.ReadAll(conn)
		if err != nil { // there was more than the daemon has read
			require.ErrorIs(t, err, unix.ECONNRESET)
		}
		select {
		case <-wakeUps:
		default:
			require.Empty(t, answer)
		}
		require.Contains(t, []string{"", "ok\n"}, string(answer))
		require.NoError(t, send(t, path, someWakeUp))
		require.Equal(t, someWakeUp, <-wakeUps)
	})
}

func TestManyWhoSayNothingAreHungUpOnAndLeaveNothing(t *testing.T) {
	path, wakeUps := listening(t)
	before := runtime.NumGoroutine()
	var mute []net.Conn
	for range 200 {
		conn, err := net.Dial("unix", path)
		require.NoError(t, err)
		mute = append(mute, conn)
	}
	require.NoError(t, send(t, path, someWakeUp), "while they say nothing")
	assert.Equal(t, someWakeUp, <-wakeUps)
	var side sync.WaitGroup
	for _, conn := range mute {
		side.Go(func() {
			defer conn.Close()
			_, err := conn.Read(make([]byte, 1))
			assert.ErrorIs(t, err, io.EOF, "hung up on")
		})
	}
	side.Wait()
	few := before + len(mute)/10
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() < few }, 20*readTime, time.Millisecond)
}
