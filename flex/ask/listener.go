package ask

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
)

// isLocal reports whether a connection leads to this host.
func isLocal(conn net.Conn) bool {
	here, _ := conn.LocalAddr().(*net.TCPAddr)
	there, _ := conn.RemoteAddr().(*net.TCPAddr)
	return here != nil && there != nil && (there.IP.IsLoopback() || there.IP.Equal(here.IP))
}

// listenerAt returns the user that listens at an address of this host, or an error if the port is free.
func listenerAt(at *net.TCPAddr) (uid uint32, err error) {
	sockets, err := listening("/proc/self/net/tcp")
	if err != nil {
		return 0, fmt.Errorf("find out who listens at %s: %w", at, err)
	}
	sockets6, err := listening("/proc/self/net/tcp6")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a host may lack IPv6
		return 0, fmt.Errorf("find out who listens at %s: %w", at, err)
	}
	sockets = append(sockets, sockets6...)
	// A socket bound to this address has precedence over one bound to all addresses.
	for _, ip := range []net.IP{at.IP, net.IPv4zero, net.IPv6zero} {
		if ip.Equal(net.IPv4zero) && at.IP.To4() == nil {
			continue
		}
		for _, s := range sockets {
			if s.at.Port == at.Port && s.at.IP.Equal(ip) {
				return s.uid, nil
			}
		}
	}
	return 0, fmt.Errorf("find the process that listens at %s: there is none", at)
}

// socket is a listening socket.
type socket struct {
	at  net.TCPAddr
	uid uint32
}

// listening reads the listening sockets of /proc/net/tcp or /proc/net/tcp6. The kernel lists them
// first, so the thousands of other sockets of a busy controller are not read: reading them all took
// seconds, in which the daemon gave up the connection. Source: tcp_seq_start in net/ipv4/tcp_ipv4.c.
func listening(path string) (sockets []socket, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	const state = "0A" // TCP_LISTEN in include/net/tcp_states.h
	lines := bufio.NewScanner(file)
	lines.Scan() // the header
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 {
			return nil, fmt.Errorf("%s: line %q is not understood", path, lines.Text())
		}
		if fields[3] != state {
			break
		}
		address, port, _ := strings.Cut(fields[1], ":")
		ip, wrong := hex.DecodeString(address)
		number, wrong2 := strconv.ParseUint(port, 16, 16)
		uid, wrong3 := strconv.ParseUint(fields[7], 10, 32)
		if err := cmp.Or(wrong, wrong2, wrong3); err != nil {
			return nil, fmt.Errorf("%s: line %q: %w", path, lines.Text(), err)
		}
		for word := range slices.Chunk(ip, 4) { // of the kernel's byte order
			binary.BigEndian.PutUint32(word, binary.NativeEndian.Uint32(word))
		}
		sockets = append(sockets, socket{net.TCPAddr{IP: ip, Port: int(number)}, uint32(uid)})
	}
	return sockets, lines.Err()
}

// userName formats a user for messages: "uid 1001 (ada)".
func userName(uid uint32) string {
	u, err := user.LookupId(fmt.Sprint(uid))
	if err != nil {
		return fmt.Sprintf("uid %d", uid)
	}
	return fmt.Sprintf("uid %d (%s)", uid, u.Username)
}
