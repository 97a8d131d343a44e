locals {
  flex       = [for n in var.nodeset : n.nodeset_name if n.dws_flex.enabled || can(var.nodeset_settings[n.nodeset_name].capacity)]
  partitions = [for p in var.partitions : p.partition_name if length(setintersection(p.partition_nodeset, local.flex)) > 0]
  unknown    = setsubtract(keys(var.nodeset_settings), var.nodeset[*].nodeset_name)

  # Appended to slurm-gcp's config.yaml, whose keys it extends and replaces.
  settings = join("\n", ["---", yamlencode(merge(
    {
      slurmflex = merge({
        # slurmsync deletes running machines of powered-down nodes, as those of PENDING jobs are, after 90 s.
        waiting = "configuring"
        # For nodesets with neither dws_flex nor capacity.
        delegate = {
          resume_program  = "/slurm/scripts/resume_wrapper.sh"
          suspend_program = "/slurm/scripts/suspend_wrapper.sh"
        }
      }, var.slurmflex)
    },
    length(var.nodeset_settings) > 0 ? { nodeset = var.nodeset_settings } : {},
  ))])

  script = join("\n", [
    "#!/bin/bash",
    "package='${var.package}'",
    "hooks=${var.hooks}",
    "settings=$(cat <<'END_OF_SETTINGS'",
    "${local.settings}END_OF_SETTINGS",
    ")",
    file("${path.module}/install.sh"),
  ])

  # After "include cloud.conf": Slurm uses the last value that it reads.
  lines = <<-EOT
    ResumeProgram=/usr/libexec/slurmflex/resume
    SuspendProgram=/usr/libexec/slurmflex/suspend
    ResumeFailProgram=/usr/libexec/slurmflex/resume-fail
  EOT

  template = var.slurm_conf_tpl == null ? var.slurm_conf_template : file(var.slurm_conf_tpl)
}
