import { linkableIdps, parseTicket } from "../../../domain/federation/index.ts"
import type { OwnedIdp } from "../../../domain/idp/index.ts"
import type { LoginContext } from "../../context.ts"
import { recentlySignedIn } from "./newcomer.ts"

/** A user and the provider to link. */
type ProviderLink = { readonly userId: string; readonly idpId: string }

/** The provider to link; undefined if linking is not allowed, or the user is not signed in here. */
export function findLinkableProvider(loginContext: LoginContext, { userId, idpId }: ProviderLink) {
  const { cx } = loginContext
  const found = linkableIdps(cx, userId).find(({ idp }) => idp.id === idpId)
  const isSignedInHere =
    found && recentlySignedIn(loginContext, found).some((each) => each.userId === userId)
  return isSignedInHere ? found : undefined
}

/** The same, from a ticket. */
export function findLinkableByTicket(
  loginContext: LoginContext,
  sealed: string,
): { readonly found: OwnedIdp; readonly userId: string } | undefined {
  const ticket = parseTicket(loginContext.cx, sealed)
  const found = ticket && findLinkableProvider(loginContext, ticket)
  return ticket && found && { found, userId: ticket.userId }
}
