import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { idpNotFoundError, listActiveIdpsFor, type OwnedIdp } from "../idp/index.ts"
import { requireInstance } from "../instance/index.ts"
import { listUsableLinks, requireLinkLimit } from "../user-link/index.ts"
import { user } from "../user-model/index.ts"

/** The page that links an external account to the signed-in user. */
export const linkingPath = "/ui/login/externaluser/link"

/**
 * The ticket that starts linking: the user who requested it through the API with a recent sign-in.
 */
type Ticket = { readonly userId: string; readonly idpId: string }

const ticketMs = 10 * 60_000

/**
 * The providers that a user can link: those that the organization allows and that are not linked
 * yet.
 */
export function linkableIdps(cx: Cx, userId: string): readonly OwnedIdp[] {
  const state = cx.store.state(cx, user, userId)
  if (!("kind" in state) || state.kind !== "human") return []
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const linked = new Set(listUsableLinks(cx, userId).map(({ idpId }) => idpId))
  return listActiveIdpsFor(cx, { userId, orgId }).filter(
    ({ idp }) => idp.options.isLinkingAllowed && !linked.has(idp.id),
  )
}

/**
 * Starts linking; returns the URL for the browser. Only the user can create it, and it works only
 * in a browser in which that user is signed in, so that other pages can't make a user link a
 * foreign account.
 */
export function startLinking(cx: Cx, userId: string, idpId: string): string {
  if (!linkableIdps(cx, userId).some(({ idp }) => idp.id === idpId)) throw idpNotFoundError()
  requireLinkLimit(cx.store.state(cx, user, userId))
  const ticket = { userId, idpId, until: cx.clock.now() + ticketMs }
  const sealed = cx.secrets.seal("cookie", JSON.stringify(ticket), sealContext(cx))
  return `${requireInstance(cx).publicUrl}${linkingPath}?ticket=${encodeURIComponent(sealed)}`
}

/** The content of a ticket; undefined if it is invalid or has expired. */
export function parseTicket(cx: Cx, sealed: string): Ticket | undefined {
  const plain = cx.secrets.open("cookie", sealed, sealContext(cx))
  if (plain === undefined) return undefined
  const { userId, idpId, until } = JSON.parse(plain)
  return cx.clock.now() < until ? { userId, idpId } : undefined
}

const sealContext = ({ instance }: Cx): string => `linking/${instance}`

/** Whether a fault means that the external account is linked to another user. */
export const isLinkTakenError = (cause: unknown): boolean =>
  cause instanceof Fault && cause.id === "user.idp_link_taken"
