import type { LinkOptions } from "../shell/link.tsx"
import type { TextKey } from "../shell/text.ts"

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

/** What holds for the whole instance, in the order in which it is listed. */
export const instancePlaces = [
  ...(["organizations", "administrators", "identity-providers", "providers", "texts"] as const),
  ...(["signing-keys", "targets", "events", "nodes", "transfer"] as const),
  "settings",
] as const

type FoundPlace = {
  readonly key: TextKey
  readonly link: LinkOptions
  /** What one must be permitted to find it; "instance": to see what holds for all of it. */
  readonly needs: string
}

const own = (place: Exclude<keyof typeof needs, "organization">) =>
  ({ key: `nav.${place}`, link: { to: `/${place}` }, needs: needs[place] }) as const

/** Pages and actions that can be found by their name. */
export const places: readonly FoundPlace[] = [
  own("projects"),
  {
    key: "projects.create",
    link: { to: "/projects", search: { create: "1" } },
    needs: "project.create",
  },
  own("applications"),
  { key: "applications.create", link: { to: "/applications/new" }, needs: "project.app.write" },
  own("users"),
  { key: "users.create", link: { to: "/users/new" }, needs: "user.write" },
  own("groups"),
  own("scripts"),
  own("outbox"),
  own("refused-requests"),
  ...instancePlaces.map(
    (place) => ({ key: `nav.${place}`, link: { to: `/${place}` }, needs: "instance" }) as const,
  ),
]
