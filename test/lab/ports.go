package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Each lab has a window of ports below the kernel's ephemeral port range.
const (
	firstPort  = 12000
	lastPort   = 31000
	portWindow = 120
)

// claimPorts claims a window of ports that no other lab uses and on which no process listens. The
// claim is a lock that ends with this process at the latest.
func claimPorts() (base int, release func(), err error) {
	dir := filepath.Join(os.TempDir(), "slurmflex-lab-ports")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, nil, err
	}
	for base := firstPort; base < lastPort; base += portWindow {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(base)), os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return 0, nil, err
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && free(base) {
			return base, func() { f.Close() }, nil
		}
		f.Close()
	}
	return 0, nil, errors.New("no window of free ports for another lab")
}

func free(base int) bool {
	for port := base; port < base+portWindow; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		l.Close()
	}
	return true
}
