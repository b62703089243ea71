import { activeIdps, entranceOf, type Found } from "../../domain/idp/index.ts"
import { letsUserIn, usableLinks } from "../../domain/user-link/index.ts"
import type { LoginContext } from "../context.ts"
import { notesFor } from "../note.ts"
import { loginPaths, withRequest } from "../path.ts"

/** What the page that asks is shown with. */
export type OptionNote = {
  readonly intentId: string
  readonly problem?: "wrong" | "busy" | "taken" | "factor"
}

export const options = notesFor<OptionNote>(loginPaths.externalOption)

/** What the page that asks for a name and a password of a directory is shown with. */
export type DirectoryShown = {
  readonly idpId: string
  readonly loginName?: string
  /** What begins to link, where it doesn't sign in; see `openTicket`. */
  readonly ticket?: string
  readonly problem?: DirectoryProblem
}

export type DirectoryProblem =
  | { readonly key: "directory.error.wrong" | "password.error.busy" | "password.error.missing" }
  | { readonly key: "password.error.too_many_tries"; readonly retryAfterSeconds: number }

export const directories = notesFor<DirectoryShown>(loginPaths.directory)

/** What the page that asks before it links is shown with. */
export const linkings = notesFor<{ readonly intentId: string }>(loginPaths.externalLink)

/** The providers that the people who are asked for may sign in with. */
export const offeredTo = ({ cx, waiting }: LoginContext): readonly Found[] =>
  activeIdps(cx, waiting?.asked.home)

/** The same, as the first page shows them. */
export const providersOf = (loginContext: LoginContext) =>
  offeredTo(loginContext).map(({ idp }) => ({
    name: idp.name,
    href: startHref(loginContext, idp),
  }))

/** Of these, what a person signs in with who is known already, and is let in by. */
export const linkedProvidersOf = (loginContext: LoginContext, userId: string) => {
  const { cx } = loginContext
  const own = new Set(usableLinks(cx, userId).map(({ idpId }) => idpId))
  return offeredTo(loginContext)
    .filter(({ idp }) => own.has(idp.id) && letsUserIn(cx, idp.id, userId))
    .map(({ idp }) => ({ name: idp.name, href: startHref(loginContext, idp) }))
}

/** One of the providers that are offered, by its id; undefined for any other. */
export const offeredIdp = (loginContext: LoginContext, id: string): Found | undefined =>
  offeredTo(loginContext).find(({ idp }) => idp.id === id)

function startHref({ waiting }: LoginContext, { id, settings }: Found["idp"]): string {
  const isDirectory = entranceOf(settings) === "directory"
  const page = isDirectory ? loginPaths.directory : loginPaths.externalIdp
  const path = withRequest(page, waiting?.id ?? "")
  return `${path}${path.includes("?") ? "&" : "?"}idp=${encodeURIComponent(id)}`
}
