output "instance_template" {
  description = "For instance_template of the nodeset in slurmflex's configuration."
  value       = google_compute_region_instance_template.nodes.id
}

output "role" {
  description = "The custom role of the controller's service account."
  value       = google_project_iam_custom_role.slurmflex.id
}
