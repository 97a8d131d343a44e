output "slurm_conf_template" {
  description = "For the controller's setting of this name: the template with slurmflex's programs."
  value       = var.hooks ? "${trimsuffix(local.template, "\n")}\n${local.lines}" : local.template

  precondition {
    condition     = (var.slurm_conf_tpl == null) != (var.slurm_conf_template == null)
    error_message = "Set either slurm_conf_tpl or slurm_conf_template: move the controller's own setting here, or name slurm-gcp's etc/slurm.conf.tpl."
  }
}

output "controller_startup_script" {
  description = "For the controller's setting of this name, if it has no startup script of its own."
  value       = local.script

  precondition {
    condition     = length(local.partitions) > 0
    error_message = "No partition has a nodeset with dws_flex or capacity: add the cluster's partitions to `use`."
  }
  precondition {
    condition     = length(local.unknown) == 0
    error_message = "nodeset_settings names nodesets that no partition has: ${join(", ", local.unknown)}."
  }
}

output "controller_runner" {
  description = "For the runners of the controller's startup-script module, if it has one."
  value = {
    type        = "shell"
    destination = "slurmflex.sh"
    content     = local.script
  }
}

output "compute_startup_scripts_timeout" {
  description = "For the controller's setting of this name: slurmsync powers down nodes that boot for longer than twice this time, so slurmflex's boot_timeout must end first."
  value       = 1000
}
