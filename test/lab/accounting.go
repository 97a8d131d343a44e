package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"time"

	"slurmflex/test/must"
)

// dbdConf is the slurmdbd.conf of a lab with accounting.
const dbdConf = `AuthType=auth/none
DbdHost=localhost
DbdPort={{.DBDPort}}
SlurmUser=root
LogFile={{.Dir}}/log/slurmdbd.log
PidFile={{.Dir}}/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={{.StoragePort}}
StorageUser=root
StorageLoc=slurm
`

// accountingConf is what slurm.conf has of it.
const accountingConf = `
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={{.DBDPort}}
`

// DBDPort is slurmdbd's.
func (d fileData) DBDPort() int { return d.port + 3 }

// StoragePort is that of slurmdbd's MariaDB.
func (d fileData) StoragePort() int { return d.port + 4 }

// startAccounting starts a MariaDB and a slurmdbd of the lab's own, and has it know
// the cluster.
func (l *Lab) startAccounting(ctx context.Context) {
	if l.User != "" {
		must.Do(errors.New("a lab with accounting runs as root"))
	}
	d := fileData{Lab: l}
	conf := l.path("etc/slurmdbd.conf")
	write(conf, dbdConf, d)
	must.Do(os.Chmod(conf, 0o600))
	data := "--datadir=" + l.path("db")
	must.Get(l.run(ctx, nil, "/usr/bin/mariadb-install-db", "--no-defaults", "--user=root",
		"--auth-root-authentication-method=normal", "--skip-test-db", "--force", data))
	storage := l.command(context.WithoutCancel(ctx), nil, "/usr/sbin/mariadbd", "--no-defaults", "--user=root", data,
		"--socket="+l.path("run/db.sock"), "--pid-file="+l.path("run/db.pid"), "--log-error="+l.Log("mariadb.log"),
		"--bind-address=127.0.0.1", fmt.Sprint("--port=", d.StoragePort()))
	startServer(ctx, storage, d.StoragePort())
	startServer(ctx, l.command(context.WithoutCancel(ctx), nil, "/usr/sbin/slurmdbd", "-D"), d.DBDPort())
	must.Get(l.Slurm(ctx, "sacctmgr", "--immediate", "add", "cluster", "alpha"))
}

// startServer starts a server, which Stop kills, and waits until it listens.
func startServer(ctx context.Context, server *exec.Cmd, port int) {
	must.Do(server.Start())
	go func() { _ = server.Wait() }() // it is killed in the end
	must.Do(Until(ctx, time.Minute, server.Path+" to listen", func() (bool, error) {
		conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			return false, err
		}
		return true, conn.Close()
	}))
}
