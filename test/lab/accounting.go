package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// accountingConf is the part of slurm.conf for accounting.
const accountingConf = `
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={{.DBDPort}}
{{- if .Limits}}
AccountingStorageTRES=gres/gpu
AccountingStorageEnforce=safe,qos
{{- end}}
`

// DBDPort returns slurmdbd's port.
func (d fileData) DBDPort() int { return d.port + 3 }

// StoragePort returns the port of slurmdbd's MariaDB.
func (d fileData) StoragePort() int { return d.port + 4 }

// startAccounting starts a MariaDB and a slurmdbd for the lab and registers the cluster with them.
func (l *Lab) startAccounting(ctx context.Context) {
	if l.User != "" {
		must.Do(errors.New("a lab with accounting runs as root"))
	}
	d := fileData{Lab: l}
	conf := l.path("etc/slurmdbd.conf")
	write(conf, dbdConf, d)
	must.Do(os.Chmod(conf, 0o600))
	// A starting MariaDB removes all temporary tables in its tmpdir, including those of another
	// MariaDB.
	data, tmp := "--datadir="+l.path("db"), "--tmpdir="+l.path("run")
	must.Get(l.run(ctx, nil, "/usr/bin/mariadb-install-db", "--no-defaults", "--user=root",
		"--auth-root-authentication-method=normal", "--skip-test-db", "--force", data, tmp))
	storage := l.command(context.WithoutCancel(ctx), nil, "/usr/sbin/mariadbd", "--no-defaults", "--user=root", data, tmp,
		"--socket="+l.path("run/db.sock"), "--pid-file="+l.path("run/db.pid"), "--log-error="+l.Log("mariadb.log"),
		"--bind-address=127.0.0.1", "--loose-innodb-snapshot-isolation=OFF", fmt.Sprint("--port=", d.StoragePort()))
	startServer(ctx, storage, d.StoragePort())
	dbd := l.command(context.WithoutCancel(ctx), nil, "/usr/sbin/slurmdbd", "-D")
	// An older libmariadb, if Slurm's own rejects the server.
	dbd.Env = append(dbd.Env, "LD_LIBRARY_PATH="+filepath.Join(l.Build, "lib"))
	must.Do(l.noAccounting(must.Try(func() { startServer(ctx, dbd, d.DBDPort()) })))
	must.Get(l.Slurm(ctx, "sacctmgr", "--immediate", "add", "cluster", "alpha"))
}

// UnavailableError reports that slurmdbd cannot work with the host's MariaDB.
type UnavailableError struct {
	Says string // slurmdbd's error message
}

func (e *UnavailableError) Error() string { return "slurmdbd does not start: " + e.Says }

// hopeless matches slurmdbd's messages on a host without a usable MySQL plugin: libmariadb 11.8.9
// rejects its first query (error 5027), or the plugin is not installed.
var hopeless = regexp.MustCompile(`(?m)(?:fatal: _check_mysql_concat_is_sane: .*|error: .*cannot find accounting_storage plugin.*)$`)

// noAccounting returns err, or an UnavailableError if slurmdbd's log shows that no slurmdbd can
// start on this host.
func (l *Lab) noAccounting(err error) error {
	if err == nil {
		return nil
	}
	text, _ := os.ReadFile(l.Log("slurmdbd.log")) // without a log: err
	if says := hopeless.FindString(string(text)); says != "" {
		return &UnavailableError{says}
	}
	return err
}

// startServer starts a server and waits until it listens or exits. Stop kills the server.
func startServer(ctx context.Context, server *exec.Cmd, port int) {
	must.Do(server.Start())
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // it is killed in the end
		err := server.Wait()
		cancel(fmt.Errorf("%s has ended: %w", server.Path, cmp.Or(err, errors.New("exit status 0"))))
	}()
	err := Until(ctx, time.Minute, server.Path+" to listen", func() (bool, error) {
		conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil {
			return false, err
		}
		return true, conn.Close()
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	must.Do(err)
}
