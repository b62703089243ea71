import { Fault, fieldError } from "../../kernel/fault.ts"
import type { ClaimChange, Cx, Draft, Transaction } from "../../store/index.ts"
import {
  authorityInTransaction,
  authorsInTransaction,
  findAuthority,
  findIdpById,
  isActiveIdp,
  isActiveIdpFor,
  vouchesFor,
} from "../idp/index.ts"
import {
  type Human,
  isAbsent,
  linksOf,
  type User,
  type UserEvent,
  user,
} from "../user-model/index.ts"

/** An account at an identity provider. */
export type ExternalAccount = {
  readonly idpId: string
  readonly externalId: string
  readonly name: string
  /** Whether the user was created with it. */
  readonly isFirst?: boolean
}

const claim = "idp_link"
const linksMax = 20

type StoredLink = ReturnType<typeof linksOf>[number]

type ExternalAccountId = Pick<ExternalAccount, "idpId" | "externalId">

const claimKey = ({ idpId, externalId }: ExternalAccountId, authority: string): string =>
  JSON.stringify([idpId, authority, externalId])

/** Links an external account to a user in a transaction; an account can be linked once. */
export function addLink(tx: Transaction, userId: string, external: ExternalAccount): void {
  const state = tx.state(user, userId)
  if (isAbsent(state)) throw new Fault("not_found", "user.missing", "user not found")
  if (state.kind !== "human") throw notHumanError()
  requireLinkLimit(state)
  const { idpId, externalId, name, isFirst = false } = external
  const authority = authorityInTransaction(tx, idpId) ?? ""
  const authors = authorsInTransaction(tx, idpId)
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
    claims: [{ take: claim, key: claimKey(external, authority), taken: linkTakenClaim }],
  }
  tx.append(user, userId, [added])
}

/** Rejects if the user has the maximum number of links. */
export function requireLinkLimit(state: User): void {
  if (linksOf(state).length >= linksMax) throw tooManyError()
}

/** Removes a link and ends the sessions that it authenticated. Rejects an unknown link. */
export function removeLink(
  tx: Transaction,
  userId: string,
  { idpId, externalId }: ExternalAccountId,
): void {
  const link = linksOf(tx.state(user, userId)).find(
    (each) => each.idpId === idpId && each.externalId === externalId,
  )
  if (!link) throw linkNotFoundError()
  const removed: Draft<UserEvent> = {
    type: "user.human.externalidp.removed",
    data: { linkId: link.linkId },
    claims: [releaseLink(link)],
  }
  tx.append(user, userId, [removed])
}

/** Releases the links of a removed user. */
export const releaseLinks = (person: Human): readonly ClaimChange[] =>
  linksOf(person).map(releaseLink)

const releaseLink = (link: StoredLink): ClaimChange => ({
  release: claim,
  key: claimKey(link, link.authority),
})

/**
 * The user that an external account is linked to; undefined if there is none, or if the provider
 * has another authority since.
 */
export function findLinkedUser(cx: Cx, external: ExternalAccountId) {
  const key = claimKey(external, findAuthority(cx, external.idpId) ?? "")
  const holder = cx.store.log.holder(cx.instance, claim, key, cx.clock.now())
  return holder?.stream === user.stream ? holder.id : undefined
}

/** The linked user, read in a transaction. */
export function findLinkedUserInTransaction(tx: Transaction, external: ExternalAccountId) {
  const holder = tx.holder(
    claim,
    claimKey(external, authorityInTransaction(tx, external.idpId) ?? ""),
  )
  return holder?.stream === user.stream ? holder.id : undefined
}

/** Links of a user whose providers still exist. */
export const listUsableLinks = (cx: Cx, userId: string): readonly StoredLink[] =>
  linksOf(cx.store.state(cx, user, userId)).filter(
    ({ idpId, authority }) => findAuthority(cx, idpId) === authority,
  )

/**
 * Whether a provider can vouch for a user: one of the instance for everyone, one of an organization
 * only for its own users.
 */
function canVouch(cx: Cx, idpId: string, orgId: string): boolean {
  const provider = findIdpById(cx, idpId)
  return provider !== undefined && (provider.place === undefined || provider.place === orgId)
}

/**
 * Whether a provider can vouch for a particular user: not if the user outranks one of the authors
 * of an organization's provider.
 */
function canVouchFor(cx: Cx, idpId: string, userId: string): boolean {
  const provider = findIdpById(cx, idpId)
  if (!provider || !canVouch(cx, idpId, homeOf(cx, userId))) return false
  return vouchesFor(cx, userId, { idpId, idpOrg: provider.place ?? "" })
}

/** Whether a user can sign in with a provider. */
export function isProviderActiveFor(cx: Cx, idpId: string, userId: string): boolean {
  const member = { userId, orgId: homeOf(cx, userId) }
  return isActiveIdpFor(cx, member, idpId) && canVouchFor(cx, idpId, userId)
}

/**
 * Whether users of an organization can sign in with a provider. The user's own organization
 * decides, regardless of the page; providers of the instance are offered on pages without an
 * organization.
 */
export const isProviderActiveIn = (cx: Cx, idpId: string, orgId: string): boolean =>
  canVouch(cx, idpId, orgId) && isActiveIdp(cx, orgId, idpId)

/** The linked user, if the provider can vouch for the user. */
export function findVouchedUser(cx: Cx, external: ExternalAccountId): string | undefined {
  const linked = findLinkedUser(cx, external)
  if (linked === undefined) return undefined
  return canVouchFor(cx, external.idpId, linked) ? linked : undefined
}

/**
 * The user who signs in with an external account on login pages of this server; other login pages
 * decide themselves.
 */
export function findUserToSignIn(cx: Cx, external: ExternalAccountId): string | undefined {
  const linked = findLinkedUser(cx, external)
  if (linked === undefined) return undefined
  return isProviderActiveFor(cx, external.idpId, linked) ? linked : undefined
}

const homeOf = (cx: Cx, id: string): string => cx.store.receipt(cx, user, id)?.owner ?? ""

/** Rejects a link that can't be used: the provider must exist and be able to vouch for the user. */
export function validateLink(
  cx: Cx,
  orgId: string,
  { idpId, externalId, name }: ExternalAccount,
): void {
  if (!findIdpById(cx, idpId) || !canVouch(cx, idpId, orgId)) {
    const message = `identity provider ${JSON.stringify(idpId)} not found`
    throw new Fault("not_found", "idp.missing", message)
  }
  // A link to an instance provider applies in the whole instance, so organization administrators
  // can't create it.
  if (findIdpById(cx, idpId)?.place === undefined && !canLinkAnyUser(cx)) throw instanceLinkError()
  requirePlainText("user_id", externalId)
  requirePlainText("user_name", name)
}

const canLinkAnyUser = ({ caller, holdsOnInstance }: Cx): boolean =>
  caller.kind === "system" || (holdsOnInstance?.("user.write") ?? false)

const instanceLinkError = () =>
  new Fault(
    "permission_denied",
    "user.idp_link_unproven",
    "permission denied: linking to an identity provider of the instance requires a " +
      "permission on the instance; the user can link the account by signing in with it",
  )

function requirePlainText(field: string, text: string): void {
  if (text.trim() !== "" && text.length <= 200 && !/\p{C}/u.test(text)) return
  throw fieldError("idp.link_invalid", field, "must be plain text of 1 to 200 characters")
}

const linkTakenClaim = {
  id: "user.idp_link_taken",
  message: "this external account is already linked to another user",
}

const linkNotFoundError = () => new Fault("not_found", "user.idp_link_missing", "link not found")

const notHumanError = () =>
  new Fault(
    "failed_precondition",
    "user.not_human",
    "only human users can sign in with an identity provider",
  )

const tooManyError = () =>
  new Fault(
    "resource_exhausted",
    "user.idp_links_too_many",
    `a user can have at most ${linksMax} links; remove one first`,
  )
