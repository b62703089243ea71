import { Fault, fieldError } from "../../kernel/fault.ts"
import type { ClaimChange, Cx, Draft, Transaction } from "../../store/index.ts"
import {
  authorityOfIdp,
  authorityWithin,
  authorsWithin,
  idpById,
  isActiveIdp,
  isActiveIdpFor,
  vouchesFor,
} from "../idp/index.ts"
import {
  type Human,
  hasLeft,
  linksOf,
  type User,
  type UserEvent,
  user,
} from "../user-model/index.ts"

/** Somebody at an identity provider. */
export type External = {
  readonly idpId: string
  readonly externalId: string
  readonly name: string
  /** Whether the account comes with it. */
  readonly isFirst?: boolean
}

const claim = "idp_link"
const linksMax = 20

type IdpLink = ReturnType<typeof linksOf>[number]

type Account = Pick<External, "idpId" | "externalId">

const keyOf = ({ idpId, externalId }: Account, authority: string): string =>
  JSON.stringify([idpId, authority, externalId])

/** Links an account elsewhere to a person, as a part of a step; nobody else may have it. */
export function addLink(tx: Transaction, userId: string, external: External): void {
  const state = tx.state(user, userId)
  if (hasLeft(state)) throw new Fault("not_found", "user.missing", "there is no such user")
  if (state.kind !== "human") throw notPersonError()
  mustHaveRoom(state)
  const { idpId, externalId, name, isFirst = false } = external
  const authority = authorityWithin(tx, idpId) ?? ""
  const authors = authorsWithin(tx, idpId)
  const added: Draft<UserEvent> = {
    type: "user.human.externalidp.added",
    data: {
      linkId: tx.ids.next(),
      idpId,
      authority,
      ...(isFirst && { isFirst }),
      ...(authors.length > 0 && { authors }),
    },
    private: { externalId, name },
    claims: [{ take: claim, key: keyOf(external, authority), taken }],
  }
  tx.append(user, userId, [added])
}

/** Refuses where a person has as many links as anybody may have. */
export function mustHaveRoom(state: User): void {
  if (linksOf(state).length >= linksMax) throw tooManyError()
}

/** Takes a link away; what signed in with it is over. Refuses one that is not there. */
export function removeLink(tx: Transaction, userId: string, { idpId, externalId }: Account): void {
  const link = linksOf(tx.state(user, userId)).find(
    (each) => each.idpId === idpId && each.externalId === externalId,
  )
  if (!link) throw missingError()
  const removed: Draft<UserEvent> = {
    type: "user.human.externalidp.removed",
    data: { linkId: link.linkId },
    claims: [release(link)],
  }
  tx.append(user, userId, [removed])
}

/** Frees what a person who goes is linked to. */
export const releaseLinks = (person: Human): readonly ClaimChange[] => linksOf(person).map(release)

const release = (link: IdpLink): ClaimChange => ({
  release: claim,
  key: keyOf(link, link.authority),
})

/**
 * Whose account somebody at a provider is linked to; undefined where it is nobody's, and where the
 * provider has become another one since.
 */
export function linkedUser(cx: Cx, external: Account) {
  const key = keyOf(external, authorityOfIdp(cx, external.idpId) ?? "")
  const holder = cx.store.log.holder(cx.instance, claim, key, cx.clock.now())
  return holder?.stream === user.stream ? holder.id : undefined
}

/** The same within a step. */
export function linkedUserIn(tx: Transaction, external: Account) {
  const holder = tx.holder(claim, keyOf(external, authorityWithin(tx, external.idpId) ?? ""))
  return holder?.stream === user.stream ? holder.id : undefined
}

/** The links of a person whose providers are there still. */
export const usableLinks = (cx: Cx, userId: string): readonly IdpLink[] =>
  linksOf(cx.store.state(cx, user, userId)).filter(
    ({ idpId, authority }) => authorityOfIdp(cx, idpId) === authority,
  )

/**
 * Whether the provider may vouch for a person: one of the instance for everybody, one of an
 * organisation for its own people alone.
 */
function mayVouch(cx: Cx, idpId: string, orgId: string): boolean {
  const found = idpById(cx, idpId)
  return found !== undefined && (found.place === undefined || found.place === orgId)
}

/**
 * The same for one user: a provider of an organization does not vouch for those who outrank one of
 * its authors.
 */
function mayVouchFor(cx: Cx, idpId: string, userId: string): boolean {
  const found = idpById(cx, idpId)
  if (!found || !mayVouch(cx, idpId, homeOf(cx, userId))) return false
  return vouchesFor(cx, userId, { idpId, idpOrg: found.place ?? "" })
}

/** Whether a provider lets in a user. */
export function letsUserIn(cx: Cx, idpId: string, userId: string): boolean {
  const member = { userId, orgId: homeOf(cx, userId) }
  return isActiveIdpFor(cx, member, idpId) && mayVouchFor(cx, idpId, userId)
}

/**
 * Whether a provider lets in people of an organisation: that says who does, at whatever page they
 * come in, and those of the instance are offered at pages which are nobody's in particular.
 */
export const letsIn = (cx: Cx, idpId: string, orgId: string): boolean =>
  mayVouch(cx, idpId, orgId) && isActiveIdp(cx, orgId, idpId)

/** Who may be meant by somebody at a provider: whoever is linked, and it may vouch for. */
export function vouchedUser(cx: Cx, external: Account): string | undefined {
  const known = linkedUser(cx, external)
  if (known === undefined) return undefined
  return mayVouchFor(cx, external.idpId, known) ? known : undefined
}

/** Who signs in on our pages as somebody at a provider; on pages of others these say it. */
export function userLetIn(cx: Cx, external: Account): string | undefined {
  const known = linkedUser(cx, external)
  if (known === undefined) return undefined
  return letsUserIn(cx, external.idpId, known) ? known : undefined
}

const homeOf = (cx: Cx, id: string): string => cx.store.receipt(cx, user, id)?.owner ?? ""

/** Refuses a link that nobody could sign in by: the provider must be there, and vouch for them. */
export function checkLink(cx: Cx, orgId: string, { idpId, externalId, name }: External): void {
  if (!idpById(cx, idpId) || !mayVouch(cx, idpId, orgId)) {
    const message = `there is no identity provider ${JSON.stringify(idpId)} to link to`
    throw new Fault("not_found", "idp.missing", message)
  }
  // What somebody is linked to is theirs alone in the whole instance: only they can prove it.
  if (idpById(cx, idpId)?.place === undefined && !mayLinkAnybody(cx)) throw instanceLinkError()
  mustBeText("user_id", externalId)
  mustBeText("user_name", name)
}

const mayLinkAnybody = ({ caller, holdsOnInstance }: Cx): boolean =>
  caller.kind === "system" || (holdsOnInstance?.("user.write") ?? false)

const instanceLinkError = () =>
  new Fault(
    "permission_denied",
    "user.idp_link_unproven",
    "a link to an identity provider of the instance requires a permission on the instance; the " +
      "user can link the account by signing in with it",
  )

function mustBeText(field: string, text: string): void {
  if (text.trim() !== "" && text.length <= 200 && !/\p{C}/u.test(text)) return
  throw fieldError("idp.link_invalid", field, "must be plain text of 1 to 200 characters")
}

const taken = {
  id: "user.idp_link_taken",
  message: "this account elsewhere is linked to another user already",
}

const missingError = () =>
  new Fault("not_found", "user.idp_link_missing", "this user has no such link; list them first")

const notPersonError = () =>
  new Fault("failed_precondition", "user.not_human", "only people sign in with a provider")

const tooManyError = () =>
  new Fault(
    "resource_exhausted",
    "user.idp_links_too_many",
    `a user may have ${linksMax} links; remove one first`,
  )
