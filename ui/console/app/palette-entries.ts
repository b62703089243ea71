import type { LinkOptions } from "../shell/link.tsx"
import type { TextKey } from "../shell/text.ts"
import { instancePages, requiredPermissions } from "./destinations.ts"

type Destination = {
  readonly key: TextKey
  readonly link: LinkOptions
  /** The required permission; "instance" means a permission to see the whole instance. */
  readonly needs: string
}

const ownPage = (page: Exclude<keyof typeof requiredPermissions, "organization">) =>
  ({ key: `nav.${page}`, link: { to: `/${page}` }, needs: requiredPermissions[page] }) as const

/** Pages and actions that the palette finds by name. */
export const destinations: readonly Destination[] = [
  ownPage("projects"),
  {
    key: "projects.create",
    link: { to: "/projects", search: { create: "1" } },
    needs: "project.create",
  },
  ownPage("applications"),
  { key: "applications.create", link: { to: "/applications/new" }, needs: "project.app.write" },
  ownPage("users"),
  { key: "users.create", link: { to: "/users/new" }, needs: "user.write" },
  ownPage("groups"),
  ownPage("scripts"),
  ownPage("outbox"),
  ownPage("refused-requests"),
  ...instancePages.map(
    (page) => ({ key: `nav.${page}`, link: { to: `/${page}` }, needs: "instance" }) as const,
  ),
]
