variable "project" {
  description = "The project of the nodes: project in slurmflex's configuration."
  type        = string
}

variable "region" {
  description = "The region of the nodes, such as us-central1."
  type        = string
}

variable "controller_service_account" {
  description = "E-mail address of the service account of slurmctld's VM, which slurmflex calls Compute as."
  type        = string
}

variable "nodes_service_account" {
  description = "E-mail address of the service account that the nodes have."
  type        = string
}

variable "name" {
  description = "What the template's name begins with; the nodeset's name is a good one."
  type        = string
}

variable "machine_type" {
  description = "The machine type of the nodes; one that flex-start offers, such as a3-megagpu-8g."
  type        = string
}

variable "image" {
  description = "An image with slurmd and the cluster's munge key, such as projects/P/global/images/family/F."
  type        = string
}

variable "subnetwork" {
  description = "The subnetwork of the nodes: projects/P/regions/R/subnetworks/S."
  type        = string
}

variable "disk_size_gb" {
  description = "Size of the boot disk in GB."
  type        = number
  default     = 100
}

variable "disk_type" {
  description = "Type of the boot disk; hyperdisk-balanced for a4 and a3-ultragpu."
  type        = string
  default     = "pd-balanced"
}

variable "metadata" {
  description = "Metadata of the nodes, such as a startup-script."
  type        = map(string)
  default     = {}
}

variable "role_id" {
  description = "Name of the custom role within the project."
  type        = string
  default     = "slurmflex"
}
