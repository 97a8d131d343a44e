package ask

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"slurmflex/config"
	"slurmflex/test/must"
)

// nobody is a user unrelated to Slurm.
const nobody = 65534

func TestOwnerIsTheListeningUser(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", ":0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil && address == "[::1]:0" {
			continue // this host lacks IPv6
		}
		require.NoError(t, err)
		at := *l.Addr().(*net.TCPAddr)
		if at.IP.IsUnspecified() {
			at.IP = net.IPv4(127, 0, 0, 1)
		}
		uid, err := listenerAt(&at)
		require.NoError(t, err, address)
		assert.EqualValues(t, os.Geteuid(), uid, address)
		require.NoError(t, l.Close())
		_, err = listenerAt(&at)
		assert.ErrorContains(t, err, "there is none", address)
	}
}

// If two sockets share a port, the kernel prefers the socket bound to the address.
func TestOwnerIsOfTheMostSpecificSocket(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to listen as another user")
	}
	// The thread ends with the goroutine, so no other goroutine runs as this user.
	runtime.LockOSThread()
	_, err := unix.SetfsuidRetUid(nobody)
	require.NoError(t, err)
	theirs := must.Get(net.Listen("tcp", "127.0.0.1:0"))
	_, err = unix.SetfsuidRetUid(0)
	require.NoError(t, err)
	runtime.UnlockOSThread()
	defer theirs.Close()
	at := theirs.Addr().(*net.TCPAddr)
	ours, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: at.Port})
	require.NoError(t, err)
	defer ours.Close()

	uid, err := listenerAt(at)
	require.NoError(t, err)
	assert.EqualValues(t, nobody, uid)
	_, err = Daemon{}.ViewOr(t.Context(), &config.Config{Options: config.Options{HTTPAddress: at.String()}}, nil, nil)
	assert.ErrorContains(t, err, "listens at "+at.String()+" instead of the slurmflex daemon", "an admin must know")
	uid, err = listenerAt(ours.Addr().(*net.TCPAddr))
	require.NoError(t, err)
	assert.EqualValues(t, 0, uid)
	assert.Contains(t, userName(nobody), "uid 65534")
	assert.Equal(t, "uid 4294967294", userName(4294967294))

	conn, err := net.Dial("tcp", at.String())
	require.NoError(t, err)
	defer conn.Close()
	assert.True(t, isLocal(conn))
	assert.False(t, isLocal(away{conn}))
}

func TestSocketsBehindTheListeningOnesAreNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tcp")
	row := func(address, state string) string {
		return "   0: " + address + " 00000000:0000 " + state + " 00000000:00000000 00:00000000 00000000  1001        0 12345\n"
	}
	for text, want := range map[string]int{
		row("0100007F:22D6", "0A") + row("0100007F:22D6", "01") + "unread": 1,
		row("00000000000000000000000001000000:22D6", "0A"):                 1,
		row("0100007F:22D6", "01"):                                         0,
		"0: 0100007F:22D6":                                                 -1,
		row("0100007G:22D6", "0A"):                                         -1,
	} {
		require.NoError(t, os.WriteFile(path, []byte("  sl  local_address rem_address   st\n"+text), 0o600))
		sockets, err := listening(path)
		assert.Equal(t, want < 0, err != nil, text)
		assert.Len(t, sockets, max(want, 0), text)
		for _, s := range sockets {
			assert.Equal(t, socket{s.at, 1001}, s)
			assert.True(t, s.at.IP.IsLoopback(), s.at)
			assert.Equal(t, 8918, s.at.Port)
		}
	}
}

// away is a connection to another host.
type away struct{ net.Conn }

func (away) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8918} }
