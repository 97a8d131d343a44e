locals {
  role = yamldecode(file("${path.module}/slurmflex-role.yaml"))
}

resource "google_project_iam_custom_role" "slurmflex" {
  count = length(var.controller_service_accounts) > 0 ? 1 : 0

  project     = var.project_id
  role_id     = var.role_id
  title       = local.role.title
  description = local.role.description
  stage       = local.role.stage
  permissions = local.role.includedPermissions
}

resource "google_project_iam_member" "controller" {
  count = length(var.controller_service_accounts)

  project = var.project_id
  role    = google_project_iam_custom_role.slurmflex[0].id
  member  = "serviceAccount:${var.controller_service_accounts[count.index]}"
}
