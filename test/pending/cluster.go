package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"slurmflex/slurm"
	"slurmflex/test/lab"
	"slurmflex/test/must"
)

// slurmConf leaves scheduling at Slurm's defaults. Nodes have GPUs without devices.
const slurmConf = `ClusterName=alpha
SlurmctldHost=%[1]s(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool/%%n
SlurmctldPidFile=%[2]s/run/ctld.pid
SlurmdPidFile=%[2]s/run/slurmd-%%n.pid
SlurmctldLogFile=%[2]s/log/slurmctld.log
SlurmdLogFile=%[2]s/log/slurmd-%%n.log
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
SlurmdTimeout=300
SlurmctldDebug=verbose
SlurmdParameters=config_overrides
GresTypes=gpu
Licenses=matlab:4
MaxArraySize=1001
PriorityType=priority/multifactor
PriorityWeightPartition=1000
PriorityWeightAge=1000
ResumeProgram=%[2]s/bin/resume
SuspendProgram=%[2]s/bin/suspend
ResumeFailProgram=%[2]s/bin/suspend
ResumeTimeout=65000
SuspendTimeout=5
SuspendTime=%[8]d
ResumeRate=0
SuspendRate=0
SlurmctldParameters=idle_on_node_suspend,cloud_dns,power_save_interval=1
NodeName=f[0-%[5]d] NodeAddr=127.0.0.1 Port=[%[6]d-%[7]d] CPUs=4 RealMemory=1000 Gres=gpu:4 State=CLOUD
PartitionName=flex Nodes=f[0-%[5]d] OverSubscribe=EXCLUSIVE Default=YES MaxTime=INFINITE State=UP
PartitionName=high Nodes=f[0-%[5]d] OverSubscribe=EXCLUSIVE PriorityTier=10 MaxTime=INFINITE State=UP
%[9]s
`

const dbdConf = `AuthType=auth/none
DbdHost=localhost
DbdPort=%[2]d
SlurmUser=root
LogFile=%[1]s/log/slurmdbd.log
PidFile=%[1]s/run/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=%[3]d
StorageUser=root
StorageLoc=slurm
`

// cluster is a private Slurm of this machine, with a slurmd for each machine of its cloud.
type cluster struct {
	dir     string
	port    int
	nodes   int
	suspend int // SuspendTime in seconds
	extra   string
	dbd     bool
	libs    string // LD_LIBRARY_PATH of slurmdbd
	version slurm.Version
	cloud   *cloud
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

// start writes the configuration and starts slurmctld, after slurmdbd if dbd is set.
func (c *cluster) start(ctx context.Context) {
	c.version = must.Get(lab.SlurmVersion(ctx))
	must.Do(os.RemoveAll(c.dir))
	for _, d := range []string{"etc", "state", "log", "run", "spool", "bin", "out", "db", "dev"} {
		must.Do(os.MkdirAll(c.path(d), 0o755))
	}
	must.Do(os.Chmod(c.path("out"), 0o777))
	must.Do(os.WriteFile(c.path("out/runs"), nil, 0o666))
	must.Do(os.Chmod(c.path("out/runs"), 0o666))
	for n := range 4 { // GPUs that are as good as /dev/null
		must.Do(unix.Mknod(c.path(fmt.Sprint("dev/nvidia", n)), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	}
	host, _, _ := strings.Cut(must.Get(os.Hostname()), ".")
	extra := c.extra
	if c.version.Major == 22 {
		extra += "\nPrivateData=cloud"
	} else {
		must.Do(os.WriteFile(c.path("etc/cgroup.conf"), []byte("CgroupPlugin=disabled\n"), 0o644))
	}
	if c.dbd {
		extra += fmt.Sprintf("\nAccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=127.0.0.1\nAccountingStoragePort=%d\nAccountingStorageTRES=gres/gpu\nAccountingStorageEnforce=associations,limits,qos", c.port+3)
	}
	conf := fmt.Sprintf(slurmConf, host, c.dir, c.port, c.port+1, c.nodes-1, c.port+20, c.port+19+c.nodes, c.suspend, extra)
	must.Do(os.WriteFile(c.path("etc/slurm.conf"), []byte(conf), 0o644))
	must.Do(os.WriteFile(c.path("etc/gres.conf"), fmt.Appendf(nil, "Name=gpu File=%s/dev/nvidia[0-3]\n", c.dir), 0o644))
	for _, hook := range []string{"resume", "suspend"} {
		program := fmt.Sprintf("#!/bin/sh\nexec %s hook -dir %s %s \"$1\"\n", must.Get(os.Executable()), c.dir, hook)
		must.Do(os.WriteFile(c.path("bin/"+hook), []byte(program), 0o755))
	}
	c.cloud = startCloud(c)
	if c.dbd {
		c.startDBD(ctx)
	}
	c.startController(ctx, "-c")
	log.Printf("Slurm %s with %d nodes in %s", c.version, c.nodes, c.dir)
}

func (c *cluster) startController(ctx context.Context, flags ...string) {
	must.Get(c.run("/usr/sbin/slurmctld", flags...))
	must.Do(lab.Until(ctx, time.Minute, "slurmctld", func() (bool, error) {
		out, err := c.run("scontrol", "ping")
		return strings.Contains(out, "is UP"), err
	}))
}

func (c *cluster) startDBD(ctx context.Context) {
	must.Do(os.WriteFile(c.path("etc/slurmdbd.conf"), fmt.Appendf(nil, dbdConf, c.dir, c.port+3, c.port+4), 0o600))
	data, tmp := "--datadir="+c.path("db"), "--tmpdir="+c.path("run")
	must.Get(c.run("mariadb-install-db", "--no-defaults", "--user=root", "--auth-root-authentication-method=normal", "--skip-test-db", "--force", data, tmp))
	db := c.command("/usr/sbin/mariadbd", "--no-defaults", "--user=root", data, tmp, "--socket="+c.path("run/db.sock"), "--pid-file="+c.path("run/db.pid"),
		"--log-error="+c.path("log/mariadb.log"), "--bind-address=127.0.0.1", "--loose-innodb-snapshot-isolation=OFF", fmt.Sprint("--port=", c.port+4))
	dbd := c.command("/usr/sbin/slurmdbd", "-D")
	if c.libs != "" {
		dbd.Env = append(dbd.Env, "LD_LIBRARY_PATH="+c.libs)
	}
	for i, cmd := range []*exec.Cmd{db, dbd} {
		must.Do(cmd.Start())
		go func() { _ = cmd.Wait() }()
		must.Do(lab.Until(ctx, time.Minute, cmd.Path, func() (bool, error) {
			conn, err := net.Dial("tcp", fmt.Sprint("127.0.0.1:", c.port+4-i))
			if err != nil {
				return false, err
			}
			return true, conn.Close()
		}))
	}
	must.Get(c.run("sacctmgr", "-i", "add", "cluster", "alpha"))
}

// stop kills all processes of the cluster.
func (c *cluster) stop() { (&lab.Lab{Dir: c.dir}).Stop() }

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	if !strings.Contains(name, "/") {
		name = "/usr/bin/" + name
	}
	cmd := exec.Command(name, args...)
	cmd.Env = []string{"SLURM_CONF=" + c.path("etc/slurm.conf"), "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TZ=UTC", "LC_ALL=C"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second
	return cmd
}

func (c *cluster) run(name string, args ...string) (string, error) {
	return output(c.command(name, args...))
}

func output(cmd *exec.Cmd) (string, error) {
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(stderr.String()+out.String()))
	}
	return out.String(), err
}

// users are ordinary users of any Debian.
var users = map[string]uint32{"games": 5, "man": 6}

// submit submits a job that notes its start and its end, and sleeps between them. The job's
// id is what sbatch prints.
func (c *cluster) submit(user string, seconds int, args ...string) string {
	note := `echo "$1 $SLURM_JOB_ID ${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}_${SLURM_ARRAY_TASK_ID:--} $SLURM_JOB_NODELIST ${SLURM_RESTART_COUNT:-0} $(date +%s.%N)" >> ` + c.path("out/runs")
	wrap := fmt.Sprintf("note() { %s; }; note start; sleep %d; note end", note, seconds)
	cmd := c.command("sbatch", append(append([]string{"--parsable", "-o", "/dev/null"}, args...), "--wrap", wrap)...)
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: users[user], Gid: 60}
	return strings.TrimSpace(must.Get(output(cmd)))
}
