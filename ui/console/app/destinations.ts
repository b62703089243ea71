/**
 * The permissions that the pages of an organization require, as the interface declares them. The
 * descriptors of all their operations would be larger than everything around a page.
 */
export const needs = {
  projects: "project.read",
  applications: "project.app.read",
  users: "user.read",
  groups: "group.read",
  organization: "org.read",
  "refused-requests": "project.app.read",
  outbox: "user.read",
  scripts: "org.action.read",
} as const

/** Whether one holds a permission, if only on one project of the organisation. */
export const holds = (held: readonly string[], permission: string): boolean =>
  held.some((one) => one === permission || one.startsWith(`${permission}:`))

/** The pages of the whole instance, in the order in which the navigation lists them. */
export const instancePages = [
  ...(["organizations", "administrators", "identity-providers", "providers", "texts"] as const),
  ...(["signing-keys", "targets", "events", "nodes", "transfer"] as const),
  "settings",
] as const
