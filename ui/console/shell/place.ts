import type { LinkOptions } from "./link.tsx"
import type { TextKey } from "./texts/index.ts"

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
} as const

/** Pages and actions that can be found by their name. */
export const places: readonly { readonly key: TextKey; readonly link: LinkOptions }[] = [
  { key: "nav.projects", link: { to: "/projects" } },
  { key: "projects.create", link: { to: "/projects", search: { create: "1" } } },
  { key: "nav.applications", link: { to: "/applications" } },
  { key: "applications.create", link: { to: "/applications/new" } },
  { key: "nav.users", link: { to: "/users" } },
  { key: "users.create", link: { to: "/users/new" } },
  { key: "nav.groups", link: { to: "/groups" } },
  { key: "nav.outbox", link: { to: "/outbox" } },
  { key: "nav.refused-requests", link: { to: "/refused-requests" } },
  { key: "nav.organizations", link: { to: "/organizations" } },
  { key: "nav.administrators", link: { to: "/administrators" } },
  { key: "nav.providers", link: { to: "/providers" } },
  { key: "nav.texts", link: { to: "/texts" } },
  { key: "nav.signing-keys", link: { to: "/signing-keys" } },
  { key: "nav.settings", link: { to: "/settings" } },
]
