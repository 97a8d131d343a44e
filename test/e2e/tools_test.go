//go:build e2e

package e2e

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"slurmflex/test/lab"
)

func TestExplore(t *testing.T) {
	for _, mode := range []string{"pending", "configuring"} {
		t.Run(mode, func(t *testing.T) {
			l := cluster(t, lab.Options{Daemon: true, Keys: "waiting: " + mode, Accounting: os.Getenv("ACC") != ""})
			if mode == "pending" {
				await(t, time.Minute, "the cover", func() bool { return strings.Contains(ask(t, l, "scontrol", "show", "reservation"), ".cover-") })
			}
			shut(t, l)
			sh := func(c string, id string) {
				for _, x := range [][2]string{{"J", id}} {
					c = strings.ReplaceAll(c, "{"+x[0]+"}", x[1])
				}
				cmd := l.Client(context.Background(), "/bin/sh", "-c", c)
				out, err := cmd.CombinedOutput()
				t.Logf("$ %s\n%s(%v)", c, out, err)
			}
			id := submitScript(t, l, "sleep 1000", "-p", "train", "-N2", "--no-requeue", "--gres=gpu:h100:8", "-J", "nf")
			un := submitScript(t, l, "sleep 1000", "-p", "train", "-N1", "--no-requeue", "--gres=gpu:1", "-J", "un", "--comment=rule_x")
			un2 := submitScript(t, l, "sleep 1000", "-p", "train", "-N1", "--no-requeue", "--gpus-per-node=8", "-J", "un", "--comment=rule_x")
			sh("sbatch -p train --gres=gpu:a100:1 --wrap true", "")
			all := func() {
				for _, c := range []string{
					`squeue -h --only-job-state --jobs {J} -o %T`,
					`squeue -h --jobs {J} -o %T`,
					`squeue -h --jobs {J} --states all -o %r`,
					`squeue -h -p train --states=pending -o %i`,
					`squeue -h --jobs {J} -o %N`,
					`squeue --me -h -o %i --states pending --name nf`,
					`squeue --me -h -o %i --states running --name nf`,
					`squeue -j {J} --only-job-state -h -o %T`,
					`squeue -h -j {J} -o '%T %B'`,
					`squeue --noheader -o '%i %t' -t all -u root`,
					`squeue --all --states=all --noconvert -o '%i|%T|%S|%M|%N|%r'`,
					`squeue --format='%i|%T' --states=all --noheader --name nf`,
					`squeue --noheader --format='%i %t' --job {J}`,
					`squeue -o '%A %t' -j {J}`,
					`scontrol show job {J} | grep -o JobState=.*`,
					`scontrol --oneliner show job {J} | grep -o JobState=.*`,
					`squeue --json -j {J} | grep -A3 job_state`,
					`scontrol --json show job {J} | grep -A3 job_state`,
					`squeue -h -t pending,running -j {J} -o %A`,
					`sacct -X --parsable2 --noheader --format=JobIdRaw,State --name nf`,
					`sacct -o JobID,State,NodeList --parsable2 -j {J}`,
					`sacct -X --noheader --format=jobid,state%20 --job {J}`,
					`sinfo -h --Node -o '%N %t %G %c %m %P' | head -3`,
					`scontrol show node alpha-a3-0 | grep -i -E 'gres|NodeAddr|State='`,
				} {
					sh(c, id)
				}
			}
			await(t, time.Minute, "requests", func() bool { return len(state(t, l).Groups) == 3 })
			all()
			sh("sbatch --test-only -p train -N1 --wrap true", "")
			sh("sbatch --test-only -p train -N1 --gres=gpu:h100:8 --wrap true", "")
			sh("timeout 40 srun --immediate=10 --time=00:00:30 -p train -N1 true", "")
			sh("timeout 40 salloc --immediate=10 --time=00:00:30 -p train -N1 true", "")
			sh("timeout 40 srun --immediate=10 --time=00:00:30 -p cpu -N1 true", "")
			capacity(t, l, "", 8)
			for _, j := range []string{id, un, un2} {
				awaitJob(t, l, 2*time.Minute, j, "JobState", "RUNNING")
			}
			t.Log("---- RUNNING")
			all()
			sh("sbatch --test-only -p train -N1 --wrap true", "")
			sh(`ls -l /tmp; scontrol show job {J} -d | grep -i gres`, un)
			sh("scancel --name nf", "")
			time.Sleep(2 * time.Second)
			t.Log("---- CANCELLED")
			all()
			cancelForGood(t, l, id, un, un2)
			t.Fail()
		})
	}
}
