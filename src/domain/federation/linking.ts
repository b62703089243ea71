import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { activeIdpsFor, type Found, missingError } from "../idp/index.ts"
import { requireInstance } from "../instance/index.ts"
import { mustHaveRoom, usableLinks } from "../user-link/index.ts"
import { user } from "../user-model/index.ts"

/** The page that links an account elsewhere to who is signed in to a browser. */
export const linkingPath = "/ui/login/externaluser/link"

/** What begins it there: who has asked by the interface, with a sign-in that was fresh. */
type Ticket = { readonly userId: string; readonly idpId: string }

const ticketMs = 10 * 60_000

/**
 * What a person may link by themself: what their organisation offers, and allows to be linked.
 * What they sign in with already is not among it.
 */
export function linkableIdps(cx: Cx, userId: string): readonly Found[] {
  const state = cx.store.state(cx, user, userId)
  if (!("kind" in state) || state.kind !== "human") return []
  const orgId = cx.store.receipt(cx, user, userId)?.owner ?? ""
  const linked = new Set(usableLinks(cx, userId).map(({ idpId }) => idpId))
  return activeIdpsFor(cx, { userId, orgId }).filter(
    ({ idp }) => idp.options.isLinkingAllowed && !linked.has(idp.id),
  )
}

/**
 * Begins to link; answers where the browser goes on. Only the person whose account it is can have
 * the address made, and it serves no browser but one that they are signed in to: nobody is made to
 * link what is somebody else's by a page that sends them there.
 */
export function startLinking(cx: Cx, userId: string, idpId: string): string {
  if (!linkableIdps(cx, userId).some(({ idp }) => idp.id === idpId)) throw missingError()
  mustHaveRoom(cx.store.state(cx, user, userId))
  const ticket = { userId, idpId, until: cx.clock.now() + ticketMs }
  const sealed = cx.secrets.seal("cookie", JSON.stringify(ticket), aboutIn(cx))
  return `${requireInstance(cx).publicUrl}${linkingPath}?ticket=${encodeURIComponent(sealed)}`
}

/** What a ticket says; undefined for one that is over, or none of ours. */
export function openTicket(cx: Cx, sealed: string): Ticket | undefined {
  const plain = cx.secrets.open("cookie", sealed, aboutIn(cx))
  if (plain === undefined) return undefined
  const { userId, idpId, until } = JSON.parse(plain)
  return cx.clock.now() < until ? { userId, idpId } : undefined
}

const aboutIn = ({ instance }: Cx): string => `linking/${instance}`

/** Whether a fault says that what was to be linked is somebody else's. */
export const isTaken = (cause: unknown): boolean =>
  cause instanceof Fault && cause.id === "user.idp_link_taken"
