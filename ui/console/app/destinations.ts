/**
 * The permissions that the pages of an organization require, as declared by the API. Importing the
 * descriptors instead would load more code than the whole layout.
 */
export const requiredPermissions = {
  projects: "project.read",
  applications: "project.app.read",
  users: "user.read",
  groups: "group.read",
  organization: "org.read",
  "refused-requests": "project.app.read",
  outbox: "user.read",
  scripts: "org.action.read",
} as const

/** Whether the caller has a permission, also on a single project of the organization. */
export const hasPermission = (permissions: readonly string[], permission: string): boolean =>
  permissions.some((one) => one === permission || one.startsWith(`${permission}:`))

/** Pages of the instance in the order of the navigation. */
export const instancePages = [
  ...(["organizations", "administrators", "identity-providers", "providers", "texts"] as const),
  ...(["signing-keys", "targets", "events", "nodes", "transfer"] as const),
  "settings",
] as const
