import { activeIdps, type Found, upstreamOf } from "../../domain/idp/index.ts"
import { usableLinks } from "../../domain/user/index.ts"
import type { LoginContext } from "../context.ts"
import { notesFor } from "../note.ts"
import { loginPaths, withRequest } from "../path.ts"

/** What the page that asks is shown with. */
export type OptionNote = {
  readonly intentId: string
  readonly problem?: "wrong" | "busy" | "taken" | "factor"
}

export const options = notesFor<OptionNote>(loginPaths.externalOption)

/** The providers that the people who are asked for may sign in with. */
export const offeredTo = ({ cx, waiting }: LoginContext): readonly Found[] =>
  activeIdps(cx, waiting?.asked.home).filter(({ idp }) => upstreamOf(idp.settings))

/** The same, as the first page shows them. */
export const providersOf = (loginContext: LoginContext) =>
  offeredTo(loginContext).map(({ idp }) => ({
    name: idp.name,
    href: startHref(loginContext, idp.id),
  }))

/** Of these, what a person signs in with who is known already. */
export const linkedProvidersOf = (loginContext: LoginContext, userId: string) => {
  const { cx } = loginContext
  const own = new Set(usableLinks(cx, userId).map(({ idpId }) => idpId))
  return offeredTo(loginContext)
    .filter(({ idp }) => own.has(idp.id))
    .map(({ idp }) => ({ name: idp.name, href: startHref(loginContext, idp.id) }))
}

function startHref({ waiting }: LoginContext, idpId: string): string {
  const path = withRequest(loginPaths.externalIdp, waiting?.id ?? "")
  return `${path}${path.includes("?") ? "&" : "?"}idp=${encodeURIComponent(idpId)}`
}
