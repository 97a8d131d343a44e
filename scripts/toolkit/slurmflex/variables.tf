variable "project_id" {
  description = "Project of the cluster."
  type        = string
}

variable "nodeset" {
  description = "The cluster's nodesets: output `nodeset` of its partitions, by `use`."
  type = list(object({
    nodeset_name = string
    dws_flex     = object({ enabled = bool })
  }))
}

variable "partitions" {
  description = "The cluster's partitions: output `partitions` of its partitions, by `use`."
  type = list(object({
    partition_name    = string
    partition_nodeset = optional(list(string), [])
  }))
}

variable "package" {
  description = "gs:// or https:// address of slurmflex's .deb or .rpm. The controller must be able to read it."
  type        = string
  validation {
    condition     = can(regex("^(gs|https)://[^'[:space:]]+[.](deb|rpm)$", var.package))
    error_message = "package must be a gs:// or https:// address that ends in .deb or .rpm."
  }
}

variable "slurm_conf_tpl" {
  description = "File with the template of slurm.conf, relative to the deployment group: the controller's own setting of this name."
  type        = string
  default     = null
}

variable "slurm_conf_template" {
  description = "Template of slurm.conf, instead of `slurm_conf_tpl`: the controller's own setting of this name."
  type        = string
  default     = null
}

variable "hooks" {
  description = "Whether slurm.conf names slurmflex's programs and the daemon starts; false: only install."
  type        = bool
  default     = true
}

variable "slurmflex" {
  description = "Keys of the section `slurmflex` of slurmflex's configuration."
  type        = any
  default     = {}
}

variable "nodeset_settings" {
  description = "Keys for nodesets, by nodeset name, that slurm-gcp does not know, such as `capacity`, or `dws_flex` with `keep_idle`."
  type        = any
  default     = {}
}

variable "controller_service_accounts" {
  description = "E-mail addresses of service accounts that get slurmflex's role; needed only if the controller's account lacks roles/compute.instanceAdmin.v1."
  type        = list(string)
  default     = []
}

variable "role_id" {
  description = "Name of the role in the project."
  type        = string
  default     = "slurmflex"
}
