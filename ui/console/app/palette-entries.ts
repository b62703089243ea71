import type { LinkOptions } from "../shell/link.tsx"
import type { TextKey } from "../shell/text.ts"
import { instancePages, needs } from "./destinations.ts"

type Destination = {
  readonly key: TextKey
  readonly link: LinkOptions
  /** The permission that it requires; "instance": a permission to see the whole instance. */
  readonly needs: string
}

const own = (page: Exclude<keyof typeof needs, "organization">) =>
  ({ key: `nav.${page}`, link: { to: `/${page}` }, needs: needs[page] }) as const

/** The pages and actions that the palette finds by their names. */
export const destinations: readonly Destination[] = [
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
  ...instancePages.map(
    (page) => ({ key: `nav.${page}`, link: { to: `/${page}` }, needs: "instance" }) as const,
  ),
]
