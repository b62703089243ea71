import { linkableIdps, openTicket } from "../../../domain/federation/index.ts"
import type { Found } from "../../../domain/idp/index.ts"
import type { LoginContext } from "../../context.ts"
import { provenHere } from "./person.ts"

/** A user, and the provider that is to be linked. */
type ProviderLink = { readonly userId: string; readonly idpId: string }

/** The provider that is to be linked; undefined where it may not be, or its person is not here. */
export function linkingOf(loginContext: LoginContext, { userId, idpId }: ProviderLink) {
  const { cx } = loginContext
  const found = linkableIdps(cx, userId).find(({ idp }) => idp.id === idpId)
  const isHere = found && provenHere(loginContext, found).some((each) => each.userId === userId)
  return isHere ? found : undefined
}

/** The same by what began it. */
export function linkingBy(
  loginContext: LoginContext,
  sealed: string,
): { readonly found: Found; readonly userId: string } | undefined {
  const ticket = openTicket(loginContext.cx, sealed)
  const found = ticket && linkingOf(loginContext, ticket)
  return ticket && found && { found, userId: ticket.userId }
}
