package site

import (
	"bytes"
	"fmt"

	"slurmflex/slurm"
)

// ResumeFile returns the content that slurmctld writes to SLURM_RESUME_FILE for these jobs.
func ResumeFile(jobs []slurm.Job) []byte {
	var out bytes.Buffer
	var all []string
	out.WriteString(`{"jobs":[`)
	for i, j := range jobs {
		if i > 0 {
			out.WriteByte(',')
		}
		all = append(all, j.Nodes...)
		fmt.Fprintf(&out, `{"extra":null,"job_id":%d,"features":null,"nodes_alloc":%q,"nodes_resume":%[2]q,`+
			`"oversubscribe":"NO","partition":%q,"reservation":null}`, j.ID, slurm.Fold(j.Nodes), j.Partition)
	}
	fmt.Fprintf(&out, `],"all_nodes_resume":%q}`, slurm.Fold(all))
	return out.Bytes()
}
