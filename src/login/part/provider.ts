import { listActiveIdps, type OwnedIdp, signInMethodOf } from "../../domain/idp/index.ts"
import { isProviderActiveFor, listUsableLinks } from "../../domain/user-link/index.ts"
import type { LoginContext } from "../context.ts"
import { pageStateFor } from "../page-state.ts"
import { loginPaths, withRequest } from "../path.ts"

/** State of the page that offers options for an external account. */
export type ExternalOptionState = {
  readonly intentId: string
  readonly problem?: "wrong" | "busy" | "taken" | "factor"
}

export const externalOptionState = pageStateFor<ExternalOptionState>(loginPaths.externalOption)

/** State of the page that asks for directory credentials. */
export type DirectoryState = {
  readonly idpId: string
  readonly loginName?: string
  /** Starts linking instead of a sign-in; see `openTicket`. */
  readonly ticket?: string
  readonly problem?: DirectoryProblem
}

export type DirectoryProblem =
  | { readonly key: "directory.error.wrong" | "password.error.busy" | "password.error.missing" }
  | { readonly key: "password.error.too_many_tries"; readonly retryAfterSeconds: number }

export const directoryState = pageStateFor<DirectoryState>(loginPaths.directory)

/** State of the page that confirms linking. */
export const linkingState = pageStateFor<{ readonly intentId: string }>(loginPaths.externalLink)

/** The providers that users of the request can sign in with. */
export const offeredProviders = ({ cx, waiting }: LoginContext): readonly OwnedIdp[] =>
  listActiveIdps(cx, waiting?.asked.home)

/** The same for the first page. */
export const providerButtons = (loginContext: LoginContext) =>
  offeredProviders(loginContext).map(({ idp }) => ({
    name: idp.name,
    href: startHref(loginContext, idp),
  }))

/** The offered providers that a known user is linked to and can sign in with. */
export const linkedProviderButtons = (loginContext: LoginContext, userId: string) => {
  const { cx } = loginContext
  const own = new Set(listUsableLinks(cx, userId).map(({ idpId }) => idpId))
  return offeredProviders(loginContext)
    .filter(({ idp }) => own.has(idp.id) && isProviderActiveFor(cx, idp.id, userId))
    .map(({ idp }) => ({ name: idp.name, href: startHref(loginContext, idp) }))
}

/** The offered provider with this ID; undefined if it is not offered. */
export const findOfferedProvider = (loginContext: LoginContext, id: string): OwnedIdp | undefined =>
  offeredProviders(loginContext).find(({ idp }) => idp.id === id)

function startHref({ waiting }: LoginContext, { id, settings }: OwnedIdp["idp"]): string {
  const isDirectory = signInMethodOf(settings) === "directory"
  const page = isDirectory ? loginPaths.directory : loginPaths.externalIdp
  const path = withRequest(page, waiting?.id ?? "")
  return `${path}${path.includes("?") ? "&" : "?"}idp=${encodeURIComponent(id)}`
}
