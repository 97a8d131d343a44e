package check

import (
	"path"
	"strings"

	"slurmflex/flex/slurmconf"
	"slurmflex/slurm"
)

// gateValues are the values of PrologSlurmctld, of which newer Slurm has several, shown as
// PrologSlurmctld[0] and so on.
func gateValues(conf slurm.Config) (values []string) {
	for key, value := range conf {
		if name, _, _ := strings.Cut(key, "["); name == slurmconf.Gate().Key {
			values = append(values, value)
		}
	}
	return values
}

// gate is about the gate, if slurm.conf names it: PrologSlurmctld may be other programs.
func (j *judge) gate(version slurm.Version) {
	gate := slurmconf.Gate()
	for _, value := range gateValues(j.world.Conf.Is) {
		if p := j.world.Programs[programPath(value)]; !p.Ours && path.Base(programPath(value)) != gate.Verb {
			continue
		}
		if wrong := j.wrongHook(gate, value); wrong != "" {
			j.conf(Fault, gate.Key, "%s, so no job starts; set %s=%s or remove it, and restart slurmctld", wrong, gate.Key, gate.Program(j.programs()))
		}
		if limit := j.world.Conf.Is["PrologEpilogTimeout"]; limit != "" && limit != unlimitedProlog {
			j.conf(Fault, "PrologEpilogTimeout", "after %s s Slurm ends the gate of a job that waits for its nodes, and requeues the job; remove this or the gate", limit)
		}
		if most := slurmconf.SafeGates(version); j.cfg.Options.MaxGates > most {
			j.say(Fault, "slurmflex.max_gates", "slurmctld %s may never stop while %d gates wait; set this to at most %d", version, j.cfg.Options.MaxGates, most)
		}
	}
}

// unlimitedProlog is what scontrol shows of a PrologEpilogTimeout that is not set.
const unlimitedProlog = "65534"
