package ask

import (
	"fmt"
	"net"
	"os/user"

	"github.com/prometheus/procfs"
)

// listening is the state of a listening socket in /proc/net/tcp. Source: include/net/tcp_states.h.
const listening = 10

// isLocal reports whether a connection leads to this host.
func isLocal(conn net.Conn) bool {
	here, _ := conn.LocalAddr().(*net.TCPAddr)
	there, _ := conn.RemoteAddr().(*net.TCPAddr)
	return here != nil && there != nil && (there.IP.IsLoopback() || there.IP.Equal(here.IP))
}

// ListenerAt returns the user that listens at an address of this host, or an error if the port is free.
func ListenerAt(at *net.TCPAddr) (uid uint32, err error) {
	proc, err := procfs.NewFS("/proc/self") // /proc/net as the daemon's unit shows it to the daemon
	if err != nil {
		return 0, fmt.Errorf("find out who listens at %s: %w", at, err)
	}
	sockets, err := proc.NetTCP() //nolint:staticcheck // netlink, its successor, is closed to confined units (RestrictAddressFamilies)
	if err != nil {
		return 0, fmt.Errorf("find out who listens at %s: %w", at, err)
	}
	if sockets6, err := proc.NetTCP6(); err == nil { //nolint:staticcheck // as above; a host may lack IPv6
		sockets = append(sockets, sockets6...)
	}
	// A socket bound to this address has precedence over one bound to all addresses.
	for _, ip := range []net.IP{at.IP, net.IPv4zero, net.IPv6zero} {
		if ip.Equal(net.IPv4zero) && at.IP.To4() == nil {
			continue
		}
		for _, s := range sockets {
			if s.St == listening && int(s.LocalPort) == at.Port && s.LocalAddr.Equal(ip) {
				return uint32(s.UID), nil
			}
		}
	}
	return 0, fmt.Errorf("find the process that listens at %s: there is none", at)
}

// UserName formats a user for messages: "uid 1001 (ada)".
func UserName(uid uint32) string {
	u, err := user.LookupId(fmt.Sprint(uid))
	if err != nil {
		return fmt.Sprintf("uid %d", uid)
	}
	return fmt.Sprintf("uid %d (%s)", uid, u.Username)
}
