/** An operation that is also available at its path without the prefix of its API. */
export type BarePath = { readonly verb: string; readonly path: string; readonly method: string }

/**
 * The paths without a prefix and the method that each one calls. Several APIs share some paths, and
 * the interface assigns each to one of them. All other operations are available only below the
 * prefix of their API.
 */
export const barePaths: readonly BarePath[] = [
  { verb: "GET", path: "/", method: "core.resources.webkey.v3alpha.CoreWebKeys/ListWebKeys" },
  { verb: "POST", path: "/", method: "core.resources.webkey.v3alpha.CoreWebKeys/CreateWebKey" },
  { verb: "POST", path: "/actions", method: "core.management.v1.ManagementService/CreateAction" },
  {
    verb: "POST",
    path: "/actions/_search",
    method: "core.management.v1.ManagementService/ListActions",
  },
  { verb: "GET", path: "/actions/{id}", method: "core.management.v1.ManagementService/GetAction" },
  {
    verb: "PUT",
    path: "/actions/{id}",
    method: "core.management.v1.ManagementService/UpdateAction",
  },
  {
    verb: "DELETE",
    path: "/actions/{id}",
    method: "core.management.v1.ManagementService/DeleteAction",
  },
  {
    verb: "POST",
    path: "/actions/{id}/_deactivate",
    method: "core.management.v1.ManagementService/DeactivateAction",
  },
  {
    verb: "POST",
    path: "/actions/{id}/_reactivate",
    method: "core.management.v1.ManagementService/ReactivateAction",
  },
  {
    verb: "POST",
    path: "/aggregates/types/_search",
    method: "core.admin.v1.AdminService/ListAggregateTypes",
  },
  {
    verb: "POST",
    path: "/domains/_search",
    method: "core.admin.v1.AdminService/ListInstanceDomains",
  },
  {
    verb: "POST",
    path: "/domains/{domain}/_exists",
    method: "core.system.v1.SystemService/ExistsDomain",
  },
  { verb: "POST", path: "/export", method: "core.admin.v1.AdminService/ExportData" },
  { verb: "POST", path: "/events/_search", method: "core.admin.v1.AdminService/ListEvents" },
  {
    verb: "POST",
    path: "/events/types/_search",
    method: "core.admin.v1.AdminService/ListEventTypes",
  },
  {
    verb: "PUT",
    path: "/executions",
    method: "core.resources.action.v3alpha.CoreActions/SetExecution",
  },
  {
    verb: "POST",
    path: "/executions/_search",
    method: "core.resources.action.v3alpha.CoreActions/SearchExecutions",
  },
  {
    verb: "GET",
    path: "/executions/functions",
    method: "core.resources.action.v3alpha.CoreActions/ListExecutionFunctions",
  },
  {
    verb: "GET",
    path: "/executions/methods",
    method: "core.resources.action.v3alpha.CoreActions/ListExecutionMethods",
  },
  {
    verb: "GET",
    path: "/executions/services",
    method: "core.resources.action.v3alpha.CoreActions/ListExecutionServices",
  },
  {
    verb: "POST",
    path: "/failedevents/_search",
    method: "core.system.v1.SystemService/ListFailedEvents",
  },
  {
    verb: "DELETE",
    path: "/failedevents/{database}/{view_name}/{failed_sequence}",
    method: "core.system.v1.SystemService/RemoveFailedEvent",
  },
  {
    verb: "PUT",
    path: "/features/login_default_org",
    method: "core.admin.v1.AdminService/ActivateFeatureLoginDefaultOrg",
  },
  {
    verb: "POST",
    path: "/flows/types/_search",
    method: "core.management.v1.ManagementService/ListFlowTypes",
  },
  {
    verb: "POST",
    path: "/flows/{flow_type}/trigger/{trigger_type}",
    method: "core.management.v1.ManagementService/SetTriggerActions",
  },
  { verb: "GET", path: "/flows/{type}", method: "core.management.v1.ManagementService/GetFlow" },
  {
    verb: "POST",
    path: "/flows/{type}/_clear",
    method: "core.management.v1.ManagementService/ClearFlow",
  },
  {
    verb: "POST",
    path: "/flows/{type}/triggers/_search",
    method: "core.management.v1.ManagementService/ListFlowTriggerTypes",
  },
  {
    verb: "GET",
    path: "/global/orgs/_by_domain",
    method: "core.management.v1.ManagementService/GetOrgByDomainGlobal",
  },
  {
    verb: "POST",
    path: "/global/projectorgs/_search",
    method: "core.auth.v1.AuthService/ListMyProjectOrgs",
  },
  {
    verb: "GET",
    path: "/global/users/_by_login_name",
    method: "core.management.v1.ManagementService/GetUserByLoginNameGlobal",
  },
  {
    verb: "POST",
    path: "/granted_projects/_search",
    method: "core.management.v1.ManagementService/ListGrantedProjects",
  },
  {
    verb: "GET",
    path: "/granted_projects/{project_id}/grants/{grant_id}",
    method: "core.management.v1.ManagementService/GetGrantedProjectByID",
  },
  {
    verb: "GET",
    path: "/granted_projects/{project_id}/grants/{grant_id}/roles/_search",
    method: "core.management.v1.ManagementService/ListGrantedProjectRoles",
  },
  { verb: "GET", path: "/healthz", method: "core.system.v1.SystemService/Healthz" },
  { verb: "GET", path: "/iam", method: "core.management.v1.ManagementService/GetIAM" },
  { verb: "POST", path: "/idps/_search", method: "core.admin.v1.AdminService/ListIDPs" },
  { verb: "POST", path: "/idps/apple", method: "core.admin.v1.AdminService/AddAppleProvider" },
  {
    verb: "PUT",
    path: "/idps/apple/{id}",
    method: "core.admin.v1.AdminService/UpdateAppleProvider",
  },
  { verb: "POST", path: "/idps/azure", method: "core.admin.v1.AdminService/AddAzureADProvider" },
  {
    verb: "PUT",
    path: "/idps/azure/{id}",
    method: "core.admin.v1.AdminService/UpdateAzureADProvider",
  },
  { verb: "POST", path: "/idps/generic_jwt", method: "core.admin.v1.AdminService/AddJWTProvider" },
  {
    verb: "PUT",
    path: "/idps/generic_jwt/{id}",
    method: "core.admin.v1.AdminService/UpdateJWTProvider",
  },
  {
    verb: "POST",
    path: "/idps/generic_oidc",
    method: "core.admin.v1.AdminService/AddGenericOIDCProvider",
  },
  {
    verb: "PUT",
    path: "/idps/generic_oidc/{id}",
    method: "core.admin.v1.AdminService/UpdateGenericOIDCProvider",
  },
  {
    verb: "POST",
    path: "/idps/generic_oidc/{id}/_migrate",
    method: "core.admin.v1.AdminService/MigrateGenericOIDCProvider",
  },
  { verb: "POST", path: "/idps/github", method: "core.admin.v1.AdminService/AddGitHubProvider" },
  {
    verb: "PUT",
    path: "/idps/github/{id}",
    method: "core.admin.v1.AdminService/UpdateGitHubProvider",
  },
  {
    verb: "POST",
    path: "/idps/github_es",
    method: "core.admin.v1.AdminService/AddGitHubEnterpriseServerProvider",
  },
  {
    verb: "PUT",
    path: "/idps/github_es/{id}",
    method: "core.admin.v1.AdminService/UpdateGitHubEnterpriseServerProvider",
  },
  { verb: "POST", path: "/idps/gitlab", method: "core.admin.v1.AdminService/AddGitLabProvider" },
  {
    verb: "POST",
    path: "/idps/gitlab/{id}",
    method: "core.admin.v1.AdminService/UpdateGitLabProvider",
  },
  {
    verb: "PUT",
    path: "/idps/gitlab/{id}",
    method: "core.management.v1.ManagementService/UpdateGitLabProvider",
  },
  {
    verb: "POST",
    path: "/idps/gitlab_self_hosted",
    method: "core.admin.v1.AdminService/AddGitLabSelfHostedProvider",
  },
  {
    verb: "POST",
    path: "/idps/gitlab_self_hosted/{id}",
    method: "core.admin.v1.AdminService/UpdateGitLabSelfHostedProvider",
  },
  {
    verb: "PUT",
    path: "/idps/gitlab_self_hosted/{id}",
    method: "core.management.v1.ManagementService/UpdateGitLabSelfHostedProvider",
  },
]

/** The prefix of the REST paths of each API, by package. */
export const prefixes: Readonly<Record<string, string>> = {
  "core.admin.v1": "/admin/v1",
  "core.asset.v1": "/assets/v1",
  "core.auth.v1": "/auth/v1",
  "core.management.v1": "/management/v1",
  "core.system.v1": "/system/v1",
  "core.resources.action.v3alpha": "/resources/v3alpha/actions",
  "core.resources.webkey.v3alpha": "/resources/v3alpha/web_keys",
}
