import type { LinkOptions } from "./link.tsx"
import type { TextKey } from "./text.ts"

/**
 * What the lists of an organisation ask of whoever looks at them, as the book says; whose page one
 * may not see is not offered. The book itself weighs more than all that stands around a page.
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

type FoundPlace = {
  readonly key: TextKey
  readonly link: LinkOptions
  /** What one must be permitted to find it; "instance": to see what holds for all of it. */
  readonly needs: string
}

/** Pages and actions that can be found by their name. */
export const places: readonly FoundPlace[] = [
  { key: "nav.projects", link: { to: "/projects" }, needs: needs.projects },
  {
    key: "projects.create",
    link: { to: "/projects", search: { create: "1" } },
    needs: "project.create",
  },
  { key: "nav.applications", link: { to: "/applications" }, needs: needs.applications },
  { key: "applications.create", link: { to: "/applications/new" }, needs: "project.app.write" },
  { key: "nav.users", link: { to: "/users" }, needs: needs.users },
  { key: "users.create", link: { to: "/users/new" }, needs: "user.write" },
  { key: "nav.groups", link: { to: "/groups" }, needs: needs.groups },
  { key: "nav.scripts", link: { to: "/scripts" }, needs: needs.scripts },
  { key: "nav.outbox", link: { to: "/outbox" }, needs: needs.outbox },
  {
    key: "nav.refused-requests",
    link: { to: "/refused-requests" },
    needs: needs["refused-requests"],
  },
  { key: "nav.organizations", link: { to: "/organizations" }, needs: "instance" },
  { key: "nav.administrators", link: { to: "/administrators" }, needs: "instance" },
  { key: "nav.identity-providers", link: { to: "/identity-providers" }, needs: "instance" },
  { key: "nav.providers", link: { to: "/providers" }, needs: "instance" },
  { key: "nav.texts", link: { to: "/texts" }, needs: "instance" },
  { key: "nav.signing-keys", link: { to: "/signing-keys" }, needs: "instance" },
  { key: "nav.targets", link: { to: "/targets" }, needs: "instance" },
  { key: "nav.events", link: { to: "/events" }, needs: "instance" },
  { key: "nav.settings", link: { to: "/settings" }, needs: "instance" },
]
