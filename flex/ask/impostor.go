package ask

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"

	"slurmflex/config"
)

// impostor is the error if another user listens at the daemon's address. Any user may take the port
// while the daemon restarts.
type impostor struct {
	at  *net.TCPAddr
	who string
}

func (i impostor) Error() string {
	return fmt.Sprintf("%s listens at %s instead of the slurmflex daemon, so its answers are not used; as root, find the process with "+
		"ss -ltnp sport = :%d and end it: the daemon tries to listen again every few seconds", i.who, i.at, i.at.Port)
}

// dial connects to the daemon. On this host, it rejects a daemon that runs as an untrusted user.
// The owner of a socket on another host is unknown, and dial accepts it.
func (d Daemon) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if err := d.checkListener(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

func (d Daemon) checkListener(conn net.Conn) error {
	if !isLocal(conn) {
		return nil
	}
	at := conn.RemoteAddr().(*net.TCPAddr)
	uid, err := listenerAt(at)
	if err != nil {
		return err
	}
	if !slices.Contains(d.trusted(), uid) {
		return impostor{at, userName(uid)}
	}
	return nil
}

// trusted returns the users that may run the daemon: root, SlurmUser (the owner of run_dir), the
// configuration's owner, and the calling user.
func (d Daemon) trusted() []uint32 {
	users := []uint32{0, uint32(os.Geteuid())}
	if info, err := os.Stat(d.Config); err == nil {
		users = append(users, info.Sys().(*syscall.Stat_t).Uid)
	}
	if info, err := os.Lstat(config.GlanceAt(d.Config).RunDir); err == nil && info.IsDir() && info.Mode().Perm()&0o077 == 0 {
		users = append(users, info.Sys().(*syscall.Stat_t).Uid)
	}
	return users
}
