package setup

import (
	"path"
	"strings"

	"slurmflex/slurm"
)

// prologs returns the values of PrologSlurmctld. Slurm 26.05 shows several as PrologSlurmctld[0]
// and so on.
func prologs(conf slurm.Config) (values []string) {
	for key, value := range conf {
		if name, _, _ := strings.Cut(key, "["); name == "PrologSlurmctld" {
			values = append(values, value)
		}
	}
	return values
}

// formerGate reports a PrologSlurmctld that v0.1.0 proposed. If the program is missing, Slurm
// starts no jobs.
func (j *judge) formerGate() {
	for _, value := range prologs(j.world.Conf.Is) {
		name := programPath(value)
		p := j.world.Programs[name]
		switch {
		case path.Base(name) != "gate":
		case p.Err != nil:
			j.conf(Fault, "PrologSlurmctld", "Slurm cannot call %s: %v, so no job starts; remove this key, or name a program of your own, and restart slurmctld", name, p.Err)
		case p.Ours:
			j.conf(Advice, "PrologSlurmctld", "%s no longer waits for nodes; remove this key, or name a program of your own, and restart slurmctld; with slurmflex.waiting: pending jobs start within two seconds after their machines have registered", name)
		}
	}
}
