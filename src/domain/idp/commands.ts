import { isDeepStrictEqual } from "node:util"
import { Fault } from "../../kernel/fault.ts"
import {
  type ClaimChange,
  type Cx,
  cached,
  type Draft,
  type Receipt,
  type Transaction,
} from "../../store/index.ts"
import {
  addPolicy,
  appliesTo,
  findPolicy,
  isPolicyApplied,
  login,
  policyFor,
} from "../policy/index.ts"
import { authorityOf } from "./authority.ts"
import { acceptedOptions, checkIdp, checkSecret, mustHaveSecret } from "./check.ts"
import {
  type Idp,
  type IdpEvent,
  type IdpKind,
  type Idps,
  idpMetadata,
  idpSecret,
  idps,
  type Said,
  type Settings,
} from "./model.ts"
import { forgetMetadata, keepMetadata } from "./saml/keep.ts"
import { type Answer, type Answered, upstreamError } from "./upstream/identity.ts"
import { issuerOf, mustStateIssuer } from "./upstream/issuer.ts"
import { timeByNow } from "./upstream/sign-in-time.ts"

/** Whose a provider is: an organisation's; undefined: the instance's, for everybody. */
export type Place = string | undefined

/** Ids are callers' choice: one of an organisation may be any text. */
export const placeId = (place: Place): string => (place === undefined ? "instance" : `org/${place}`)

const placeOf = (id: string): Place => (id === "instance" ? undefined : id.slice("org/".length))

const idpsMax = 500
const claim = "idp"

/**
 * A provider as it is wanted; without a secret the one that it has stays, if it may. What it says
 * of itself in XML stands beside it, where it speaks SAML.
 */
export type Wish = Said & {
  readonly secret?: string | undefined
  readonly metadata?: string | undefined
}

/** What is wanted of a part of a provider of some kind, by how it is. */
export type IdpMerge = { readonly kind: IdpKind; readonly say: (before: Idp) => Wish }

/** Adds a provider; nobody signs in with it until it is linked to a login policy. */
export async function addIdp(cx: Cx, place: Place, wish: Wish & { readonly id?: string }) {
  const { id = cx.ids.next(), secret = "", metadata = "", ...given } = wish
  checkIdp(given)
  const said = { ...given, options: acceptedOptions(place, given.options) }
  checkSecret(said.settings, secret)
  mustHaveSecret(said.settings, secret)
  await mustStateIssuer(cx, said.settings)
  return step(cx, place, id, (tx, { all }) => {
    if (Object.hasOwn(all, id)) throw new Fault("already_exists", idTaken.id, idTaken.message)
    if (Object.keys(all).length >= idpsMax) {
      throw new Fault(
        "resource_exhausted",
        "idp.too_many",
        `there are ${idpsMax} providers already; remove one first`,
      )
    }
    if (secret !== "") keepSecret(tx, id, secret)
    if (metadata !== "") keepMetadata(tx, id, metadata)
    const { kind } = said.settings
    const claims: readonly ClaimChange[] = [{ take: claim, key: id, taken: idTaken }]
    const data = { id, ...said, ...authorOf(tx) }
    return [{ type: `${levelOf(place)}.idp.${kind}.added`, data, claims }]
  })
}

/**
 * Changes a provider. A secret is for whom it was given to: where it would go somewhere else it is
 * forgotten, unless it is said anew. What a change of a part keeps also keeps its authors.
 */
export async function changeIdp(cx: Cx, place: Place, id: string, wish: Wish | IdpMerge) {
  const isPartial = "say" in wish
  const merge = isPartial ? wish : mergeTo(acceptedWish(place, wish))
  const { kind } = merge
  await mustStateNewIssuer(cx, idpsOf(cx, place).all[id], merge)
  return step(cx, place, id, (tx, state) => {
    const before = ownIdpIn(tx, place, { state, id, kind })
    const { secret, metadata, ...given } = acceptedWish(place, merge.say(before))
    const said = withTrust(given, before)
    const isKnown = metadata === tx.state(idpMetadata, id).metadata
    const isSet = secret === "" && isKnown && isSame(before, said)
    if (isSet && (isPartial || !isTakenOver(tx, place, before))) throw unchangedError()
    if (metadata !== "") keepMetadata(tx, id, metadata)
    const isElsewhere = destinationOf(before.settings) !== destinationOf(said.settings)
    if (secret !== "") keepSecret(tx, id, secret)
    else if (isElsewhere) forgetSecret(tx, id)
    const data = { id, ...said, ...authorOf(tx), ...(isPartial && { isPartial }) }
    return [{ type: `${levelOf(place)}.idp.${kind}.changed`, data }]
  })
}

/** Checks an issuer that a change sets; one that stays is left alone. */
async function mustStateNewIssuer(
  cx: Cx,
  before: Idp | undefined,
  { kind, say }: IdpMerge,
): Promise<void> {
  if (before?.settings.kind !== kind) return
  const { settings } = say(before)
  if (issuerOf(settings) !== issuerOf(before.settings)) await mustStateIssuer(cx, settings)
}

const mergeTo = (wish: Wish): IdpMerge => ({ kind: wish.settings.kind, say: () => wish })

/** A wish as it may be stored. */
function acceptedWish(place: Place, { secret = "", metadata = "", ...given }: Wish) {
  checkIdp(given)
  const options = acceptedOptions(place, given.options)
  checkSecret(given.settings, secret)
  return { ...given, options, secret, metadata }
}

/** Makes a generic OpenID Connect provider one of a vendor; who is linked stays linked. */
export async function migrateIdp(cx: Cx, place: Place, id: string, wish: Wish) {
  const { secret = "", ...given } = wish
  const { kind } = given.settings
  if (kind !== "azure" && kind !== "google") throw wrongKindError()
  checkIdp(given)
  const options = acceptedOptions(place, given.options)
  return step(cx, place, id, (tx, state) => {
    const before = ownIdpIn(tx, place, { state, id, kind: "oidc" })
    const said = withTrust({ ...given, options }, before)
    if (secret === "") forgetSecret(tx, id)
    else keepSecret(tx, id, secret)
    const data = { id, ...said, ...authorOf(tx) }
    return [{ type: `${levelOf(place)}.idp.oidc.migrated.${kind}`, data }]
  })
}

/** The author of a change, as events record it: the calling user; none for the operator. */
const authorOf = ({ caller }: Transaction): { readonly author?: string } =>
  caller.kind === "user" ? { author: caller.userId } : {}

/**
 * Whether a user who sends the settings of an organization's provider again becomes its author.
 * A provider without an author applies to everybody already.
 */
const isTakenOver = ({ caller }: Transaction, place: Place, { authors }: Idp): boolean =>
  place !== undefined && caller.kind === "user" && authors.some((each) => each !== caller.userId)

/** What is left out of an update stays as it is; what is off is left out of what is stored. */
function withTrust(given: Said, before: Idp): Said {
  const { options } = before
  const { isTrustedForAddresses = options.isTrustedForAddresses, ...others } = given.options
  const { encryptAssertions = options.encryptAssertions, ...rest } = others
  return {
    ...given,
    options: {
      ...rest,
      ...(isTrustedForAddresses && { isTrustedForAddresses }),
      ...(encryptAssertions !== undefined && { encryptAssertions }),
    },
  }
}

/** Replaces what a provider knows us by, which must be one that speaks SAML. */
export const replacePairs = (cx: Cx, place: Place, id: string, pairs: string): Promise<Receipt> =>
  step(cx, place, id, (tx, state) => {
    const { name, settings, options } = ownIdpIn(tx, place, { state, id, kind: "saml" })
    keepSecret(tx, id, pairs)
    const data = { id, name, settings, options, ...authorOf(tx), isPartial: true } as const
    return [{ type: `${levelOf(place)}.idp.saml.changed`, data }]
  })

/** Removes a provider and its secret; nobody signs in with it any more. */
export const removeIdp = (cx: Cx, place: Place, id: string): Promise<Receipt> =>
  step(cx, place, id, (tx, state) => {
    ownIdpIn(tx, place, { state, id })
    return removal(tx, place, { id, isLinked: state.links.includes(id) })
  })

/** Removes all that an organisation that goes has set up. */
export function dropIdps(tx: Transaction, orgId: string): void {
  const { all, links } = tx.state(idps, placeId(orgId))
  for (const id of links.filter((each) => !all[each])) {
    const data = { idpId: id }
    const left: Draft<IdpEvent> = { type: "org.policy.login.idpprovider.cascade.removed", data }
    tx.append(idps, placeId(orgId), [left])
  }
  for (const id of Object.keys(all)) {
    tx.append(idps, placeId(orgId), removal(tx, orgId, { id, isLinked: links.includes(id) }))
  }
}

function removal(
  tx: Transaction,
  place: Place,
  { id, isLinked }: { readonly id: string; readonly isLinked: boolean },
): readonly Draft<IdpEvent>[] {
  forgetSecret(tx, id)
  forgetMetadata(tx, id)
  const level = levelOf(place)
  const claims: readonly ClaimChange[] = [{ release: claim, key: id }]
  const unlinked: Draft<IdpEvent> = {
    type: `${level}.policy.login.idpprovider.cascade.removed`,
    data: { idpId: id },
  }
  return [...(isLinked ? [unlinked] : []), { type: `${level}.idp.removed`, data: { id }, claims }]
}

/** Lets the people of a place sign in with a provider: one of theirs, or of the instance. */
export async function linkIdp(cx: Cx, place: Place, id: string): Promise<Receipt> {
  mustSayItself(cx, place)
  return step(cx, place, id, (tx, { links }) => {
    if (!isSeenFrom(tx, place, id)) throw missingError()
    if (links.includes(id)) {
      throw new Fault("already_exists", "idp.linked", "people may sign in with it already")
    }
    return [linkTurned(tx, { place, what: "added", id })]
  })
}

type LoginSaid = Parameters<typeof addPolicy<(typeof login)["standard"]>>[2]["say"]

/**
 * Gives an organisation a login policy of its own, with the providers that its people may sign in
 * with beside those that are linked already.
 */
export const addLogin = (
  cx: Cx,
  orgId: string,
  { say, idpIds }: { readonly say: LoginSaid; readonly idpIds: readonly string[] },
): Promise<Receipt> =>
  addPolicy(cx, orgId, {
    policy: login,
    say,
    also: (tx) => {
      const { links } = tx.state(idps, placeId(orgId))
      const others = [...new Set(idpIds)].filter((id) => !links.includes(id))
      if (!others.every((id) => isSeenFrom(tx, orgId, id))) throw missingError()
      const drafts = others.map((id) => linkTurned(tx, { place: orgId, what: "added", id }))
      if (drafts.length > 0) tx.append(idps, placeId(orgId), drafts, orgId)
    },
  })

/** Whether a provider is one of a place, or of the instance. */
const isSeenFrom = (tx: Transaction, place: Place, id: string): boolean =>
  [place, undefined].some((each) => Object.hasOwn(tx.state(idps, placeId(each)).all, id))

/** Lets nobody at a place sign in with a provider any more; it stays set up. */
export const unlinkIdp = (cx: Cx, place: Place, id: string): Promise<Receipt> =>
  step(cx, place, id, (tx, { links }) => {
    if (links.includes(id)) return [linkTurned(tx, { place, what: "removed", id })]
    throw new Fault("not_found", "idp.not_linked", "people can't sign in with it as it is")
  })

type LinkTurn = { readonly place: Place; readonly what: "added" | "removed"; readonly id: string }

const linkTurned = (tx: Transaction, { place, what, id: idpId }: LinkTurn): Draft<IdpEvent> => ({
  type: `${levelOf(place)}.policy.login.idpprovider.${what}`,
  data: { idpId, ...authorOf(tx) },
})

/** The list of an organisation counts as long as it has a login policy of its own. */
function mustSayItself(cx: Cx, place: Place): void {
  if (place === undefined || !findPolicy(cx, place, login).isDefault) return
  throw new Fault(
    "failed_precondition",
    "idp.policy_default",
    "the organisation has no login policy of its own; add one first",
  )
}

export const idpsOf = (cx: Cx, place: Place): Idps => cx.store.state(cx, idps, placeId(place))

/** A provider with the place that it is of. */
export type Found = { readonly idp: Idp; readonly place: Place }

/** The provider with this id, wherever it is; undefined where there is none. */
export function idpById(cx: Cx, id: string): Found | undefined {
  const known = found(cx)
  const before = known.get(id)
  if (before) return before
  const holder = cx.store.log.holder(cx.instance, claim, id, cx.clock.now())
  if (holder?.stream !== idps.stream) return undefined
  const idp = cx.store.state(cx, idps, holder.id).all[id]
  if (!idp) return undefined
  const now = { idp, place: placeOf(holder.id) }
  if (known.size >= foundMax) known.clear()
  known.set(id, now)
  return now
}

/** Whether the instance accepts addresses from a provider of its own for every organization. */
export const isTrustedForAddresses = ({ state }: Pick<Transaction, "state">, id: string): boolean =>
  state(idps, placeId(undefined)).all[id]?.options.isTrustedForAddresses ?? false

/** A sign-in asks for its provider again and again: the claim, and the state of all of a place. */
const found = cached(() => new Map<string, Found>(), [idps.stream])
const foundMax = 500

/**
 * Who says who somebody is that a provider sends; undefined where there is no such provider. Links
 * hold for this alone: whoever may set a provider up could else have those who are linked signed in
 * by a service of their own.
 */
export function authorityOfIdp(cx: Cx, id: string): string | undefined {
  const found = idpById(cx, id)
  return found && authorityOf(found.idp.settings)
}

/** Notes who has answered; refuses where the provider was set up as another one meanwhile. */
export function answeredBy(cx: Cx, { idp }: Pick<Found, "idp">, answer: Answer): Answered {
  mustBeSame(cx, idp)
  const { authenticatedAt: stated, ...rest } = answer
  const now = cx.clock.now()
  const authenticatedAt = timeByNow(stated, now)
  return {
    ...rest,
    ...(authenticatedAt !== undefined && { authenticatedAt }),
    authority: authorityOf(idp.settings),
    answeredAt: now,
  }
}

/** Refuses a provider that is set up as another one than it was found. */
export function mustBeSame(cx: Cx, { id, settings }: Pick<Idp, "id" | "settings">): void {
  if (authorityOfIdp(cx, id) === authorityOf(settings)) return
  throw upstreamError("answer_refused", "the provider was set up as another one meanwhile")
}

/** The same within a step. */
export function authorityWithin(tx: Transaction, id: string): string | undefined {
  const holder = tx.holder(claim, id)
  if (holder?.stream !== idps.stream) return undefined
  const idp = tx.state(idps, holder.id).all[id]
  return idp && authorityOf(idp.settings)
}

/**
 * Who decides whom a provider of an organization vouches for, and so can sign in as those who are
 * linked to it: its authors. Of a provider of the instance it is nobody.
 */
export function authorsWithin(tx: Pick<Transaction, "holder" | "state">, id: string) {
  const holder = tx.holder(claim, id)
  if (holder?.stream !== idps.stream || placeOf(holder.id) === undefined) return []
  return tx.state(idps, holder.id).all[id]?.authors ?? []
}

/** One of a place, by its id; of this kind, where one is said. */
export const findIdp = (cx: Cx, place: Place, id: string, kind?: IdpKind): Idp =>
  idpIn(idpsOf(cx, place), id, kind)

/** The metadata of a provider, as they were given or read; empty where it has none. */
export const metadataOf = (cx: Cx, id: string): string =>
  cx.store.state(cx, idpMetadata, id).metadata

/** What the people of an organisation may sign in with; of the instance where it is undefined. */
export const activeIdps = (cx: Cx, orgId: Place): readonly Found[] =>
  foundOf(cx, activeLinks(cx, orgId))

/** The same for a user; see `activeLinksFor`. */
export const activeIdpsFor = (cx: Cx, member: Member): readonly Found[] =>
  foundOf(cx, activeLinksFor(cx, member))

/** Whether the people of an organisation may sign in with a provider; see `activeIdps`. */
export const isActiveIdp = (cx: Cx, orgId: string, id: string): boolean =>
  activeLinks(cx, orgId).includes(id)

/** The same for a user; see `activeLinksFor`. */
export const isActiveIdpFor = (cx: Cx, member: Member, id: string): boolean =>
  activeLinksFor(cx, member).includes(id)

const foundOf = (cx: Cx, ids: readonly string[]): readonly Found[] =>
  ids.flatMap((id) => idpById(cx, id) ?? [])

function activeLinks(cx: Cx, orgId: Place): readonly string[] {
  const { values, isDefault } = findPolicy(cx, orgId, login)
  if (!values.allowExternalIdp) return []
  return idpsOf(cx, isDefault ? undefined : orgId).links
}

type Member = { readonly userId: string; readonly orgId: string }

/**
 * The providers that a user may sign in with. The login settings and the list of an organization
 * don't apply to those who outrank whoever changed them last: for these the instance's apply.
 */
function activeLinksFor(cx: Cx, { userId, orgId }: Member): readonly string[] {
  if (!policyFor(cx, { userId, orgId }, login).allowExternalIdp) return []
  const { linksAuthor = "", links } = idpsOf(cx, orgId)
  const isOwn =
    !findPolicy(cx, orgId, login).isDefault &&
    isPolicyApplied(cx, { userId, orgId }, login) &&
    (linksAuthor === "" || appliesTo(cx, userId, [linksAuthor]))
  return isOwn ? links : idpsOf(cx, undefined).links
}

/** The secret of a provider in the plain; empty where it has none. */
export function secretOf(cx: Cx, id: string): string {
  const { sealed } = cx.store.state(cx, idpSecret, id)
  return sealed === "" ? "" : (cx.secrets.open("seal", sealed, about(id)) ?? "")
}

type Decide = (tx: Transaction, state: Idps) => readonly Draft<IdpEvent>[]

async function step(cx: Cx, place: Place, id: string, decide: Decide): Promise<Receipt> {
  const made = await cx.store.transact(cx, (tx) => {
    const drafts = decide(tx, tx.state(idps, placeId(place)))
    tx.append(idps, placeId(place), drafts, place ?? cx.instance)
  })
  return { ...made.receipt(idps, placeId(place)), id }
}

type OwnIdp = { readonly state: Idps; readonly id: string; readonly kind?: IdpKind }

/** A provider that is changed at its place; an organization sees those of the instance, too. */
function ownIdpIn(tx: Transaction, place: Place, { state, id, kind }: OwnIdp): Idp {
  const isOwn = place === undefined || Object.hasOwn(state.all, id)
  if (!isOwn && Object.hasOwn(tx.state(idps, placeId(undefined)).all, id)) throw ofInstanceError()
  return idpIn(state, id, kind)
}

function idpIn({ all }: Idps, id: string, kind?: IdpKind): Idp {
  const found = Object.hasOwn(all, id) ? all[id] : undefined
  if (!found) throw missingError()
  if (kind !== undefined && found.settings.kind !== kind) throw wrongKindError()
  return found
}

const isSame = ({ name, settings, options }: Said, said: Said): boolean =>
  isDeepStrictEqual([name, settings, options], [said.name, said.settings, said.options])

/** Where a secret goes, and as whose: everything but what is asked for there. */
function destinationOf(settings: Settings): string {
  if (settings.kind === "ldap") {
    const { servers, startTls, rootCa, bindDn } = settings
    return JSON.stringify([servers, startTls, rootCa, bindDn])
  }
  const { tokenEndpoint, issuer, tenant, clientId, teamId, keyId } = { ...unsaid, ...settings }
  return JSON.stringify([tokenEndpoint, issuer, tenant, clientId, teamId, keyId])
}

const unsaid = { tokenEndpoint: "", issuer: "", tenant: "", clientId: "", teamId: "", keyId: "" }

const about = (id: string): string => `idp/${id}`

function keepSecret(tx: Transaction, id: string, secret: string): void {
  const sealed = tx.secrets.seal("seal", secret, about(id))
  const kept = { type: "idp.secret.changed", data: {}, private: { sealed }, erase: {} } as const
  tx.append(idpSecret, id, [kept], tx.instance)
}

function forgetSecret(tx: Transaction, id: string): void {
  if (tx.state(idpSecret, id).sealed === "") return
  tx.append(idpSecret, id, [{ type: "idp.secret.removed", data: {}, erase: {} }])
}

const levelOf = (place: Place) => (place === undefined ? "instance" : "org")

const idTaken = { id: "idp.exists", message: "there is a provider with this id" }

export const missingError = () =>
  new Fault("not_found", "idp.missing", "there is no such identity provider; list them first")

const ofInstanceError = () =>
  new Fault(
    "failed_precondition",
    "idp.of_instance",
    "this identity provider belongs to the instance: change it with the operation of the " +
      "instance, below /admin/v1; for GitLab that is POST, where organizations have PUT",
  )

const wrongKindError = () =>
  new Fault(
    "failed_precondition",
    "idp.wrong_kind",
    "this provider is of another kind; use the operation of its kind",
  )

const unchangedError = () =>
  new Fault("failed_precondition", "idp.unchanged", "no changes: it is so already")
