import { isDeepStrictEqual } from "node:util"
import { Fault } from "../../kernel/fault.ts"
import {
  type ClaimChange,
  type Cx,
  cacheQuery,
  type Draft,
  type Receipt,
  type Transaction,
} from "../../store/index.ts"
import { addPolicy, findPolicy, login } from "../policy/index.ts"
import { authorityOf } from "./authority.ts"
import { parseOptions, requireSecret, validateIdp, validateSecret } from "./check.ts"
import {
  type Idp,
  type IdpConfig,
  type IdpEvent,
  type IdpKind,
  type Idps,
  idpMetadata,
  idps,
} from "./model.ts"
import { deleteMetadata, storeMetadata } from "./saml/store-metadata.ts"
import { deleteSecret, destinationOf, storeSecret } from "./secret.ts"
import {
  type AuthenticatedAnswer,
  type ProviderAnswer,
  upstreamError,
} from "./upstream/identity.ts"
import { issuerOf, requireMatchingIssuer } from "./upstream/issuer.ts"
import { timeNotAfter } from "./upstream/sign-in-time.ts"

/**
 * The organization that owns a provider, or undefined for the instance, whose providers all
 * organizations can use.
 */
export type IdpOwner = string | undefined

/** Callers can choose organization IDs, so the prefix distinguishes them from "instance". */
export const ownerStreamId = (owner: IdpOwner): string =>
  owner === undefined ? "instance" : `org/${owner}`

const ownerFromStreamId = (id: string): IdpOwner =>
  id === "instance" ? undefined : id.slice("org/".length)

const idpsMax = 500
const claim = "idp"

/**
 * Settings of a provider. Without a secret the current one is kept where possible. For SAML it
 * includes the metadata XML.
 */
export type IdpInput = IdpConfig & {
  readonly secret?: string | undefined
  readonly metadata?: string | undefined
}

/** A partial update of a provider of one kind, based on its current state. */
export type IdpPatch = { readonly kind: IdpKind; readonly say: (before: Idp) => IdpInput }

/** Creates a provider. Users can sign in with it once it is linked to a login policy. */
export async function createIdp(
  cx: Cx,
  owner: IdpOwner,
  input: IdpInput & { readonly id?: string },
) {
  const { id = cx.ids.next(), secret = "", metadata = "", ...fields } = input
  validateIdp(fields)
  const config = { ...fields, options: parseOptions(owner, fields.options) }
  validateSecret(config.settings, secret)
  requireSecret(config.settings, secret)
  await requireMatchingIssuer(cx, config.settings)
  return transactOwned(cx, owner, id, (tx, { all }) => {
    if (Object.hasOwn(all, id)) throw new Fault("already_exists", idTaken.id, idTaken.message)
    if (Object.keys(all).length >= idpsMax) {
      throw new Fault(
        "resource_exhausted",
        "idp.too_many",
        `the limit of ${idpsMax} identity providers is reached; remove one first`,
      )
    }
    if (secret !== "") storeSecret(tx, id, secret)
    if (metadata !== "") storeMetadata(tx, id, metadata)
    const { kind } = config.settings
    const claims: readonly ClaimChange[] = [{ take: claim, key: id, taken: idTaken }]
    const data = { id, ...config, ...authorOf(tx) }
    return [{ type: `${levelOf(owner)}.idp.${kind}.added`, data, claims }]
  })
}

/**
 * Updates a provider. The secret is deleted if the update would send it to another destination,
 * unless a new one is set. Partial updates that keep the settings also keep their authors.
 */
export async function updateIdp(cx: Cx, owner: IdpOwner, id: string, input: IdpInput | IdpPatch) {
  const isPartial = "say" in input
  const merge = isPartial ? input : toPatch(validateInput(owner, input))
  const { kind } = merge
  await requireValidIssuer(cx, idpsOf(cx, owner).all[id], merge)
  return transactOwned(cx, owner, id, (tx, state) => {
    const before = requireOwnIdp(tx, owner, { state, id, kind })
    const { secret, metadata, ...fields } = validateInput(owner, merge.say(before))
    const config = mergeTrustOptions(fields, before)
    const isKnown = metadata === tx.state(idpMetadata, id).metadata
    const isSet = secret === "" && isKnown && isSameConfig(before, config)
    if (isSet && (isPartial || !becomesAuthor(tx, owner, before))) throw unchangedError()
    if (metadata !== "") storeMetadata(tx, id, metadata)
    const isElsewhere = destinationOf(before.settings) !== destinationOf(config.settings)
    if (secret !== "") storeSecret(tx, id, secret)
    else if (isElsewhere) deleteSecret(tx, id)
    const data = { id, ...config, ...authorOf(tx), ...(isPartial && { isPartial }) }
    return [{ type: `${levelOf(owner)}.idp.${kind}.changed`, data }]
  })
}

/** Validates an issuer that an update changes. */
async function requireValidIssuer(
  cx: Cx,
  before: Idp | undefined,
  { kind, say }: IdpPatch,
): Promise<void> {
  if (before?.settings.kind !== kind) return
  const { settings } = say(before)
  if (issuerOf(settings) !== issuerOf(before.settings)) await requireMatchingIssuer(cx, settings)
}

const toPatch = (input: IdpInput): IdpPatch => ({ kind: input.settings.kind, say: () => input })

/** Validates the input and returns it as it is stored. */
function validateInput(owner: IdpOwner, { secret = "", metadata = "", ...fields }: IdpInput) {
  validateIdp(fields)
  const options = parseOptions(owner, fields.options)
  validateSecret(fields.settings, secret)
  return { ...fields, options, secret, metadata }
}

/** Converts a generic OpenID Connect provider to a vendor kind; user links are kept. */
export async function migrateIdp(cx: Cx, owner: IdpOwner, id: string, input: IdpInput) {
  const { secret = "", ...fields } = input
  const { kind } = fields.settings
  if (kind !== "azure" && kind !== "google") throw wrongKindError()
  validateIdp(fields)
  const options = parseOptions(owner, fields.options)
  return transactOwned(cx, owner, id, (tx, state) => {
    const before = requireOwnIdp(tx, owner, { state, id, kind: "oidc" })
    const config = mergeTrustOptions({ ...fields, options }, before)
    if (secret === "") deleteSecret(tx, id)
    else storeSecret(tx, id, secret)
    const data = { id, ...config, ...authorOf(tx) }
    return [{ type: `${levelOf(owner)}.idp.oidc.migrated.${kind}`, data }]
  })
}

/** The author of a change, as recorded in events: the calling user, or none for the operator. */
const authorOf = ({ caller }: Transaction): { readonly author?: string } =>
  caller.kind === "user" ? { author: caller.userId } : {}

/**
 * Whether a user who sends unchanged settings of an organization's provider becomes its author. A
 * provider without an author already applies to everyone.
 */
const becomesAuthor = ({ caller }: Transaction, owner: IdpOwner, { authors }: Idp): boolean =>
  owner !== undefined && caller.kind === "user" && authors.some((each) => each !== caller.userId)

/** Options omitted from an update are kept; options that are off are not stored. */
function mergeTrustOptions(fields: IdpConfig, before: Idp): IdpConfig {
  const { options } = before
  const { isTrustedForAddresses = options.isTrustedForAddresses, ...others } = fields.options
  const { encryptAssertions = options.encryptAssertions, ...rest } = others
  return {
    ...fields,
    options: {
      ...rest,
      ...(isTrustedForAddresses && { isTrustedForAddresses }),
      ...(encryptAssertions !== undefined && { encryptAssertions }),
    },
  }
}

/** Replaces this server's key pairs for a SAML provider. */
export const replaceKeyPairs = (
  cx: Cx,
  owner: IdpOwner,
  id: string,
  pairs: string,
): Promise<Receipt> =>
  transactOwned(cx, owner, id, (tx, state) => {
    const { name, settings, options } = requireOwnIdp(tx, owner, { state, id, kind: "saml" })
    storeSecret(tx, id, pairs)
    const data = { id, name, settings, options, ...authorOf(tx), isPartial: true } as const
    return [{ type: `${levelOf(owner)}.idp.saml.changed`, data }]
  })

/** Removes a provider and its secret. Users can no longer sign in with it. */
export const removeIdp = (cx: Cx, owner: IdpOwner, id: string): Promise<Receipt> =>
  transactOwned(cx, owner, id, (tx, state) => {
    requireOwnIdp(tx, owner, { state, id })
    return removalEvents(tx, owner, { id, isLinked: state.links.includes(id) })
  })

/** Removes all providers of an organization that is being removed. */
export function removeOrgIdps(tx: Transaction, orgId: string): void {
  const { all, links } = tx.state(idps, ownerStreamId(orgId))
  for (const id of links.filter((each) => !all[each])) {
    const data = { idpId: id }
    const left: Draft<IdpEvent> = { type: "org.policy.login.idpprovider.cascade.removed", data }
    tx.append(idps, ownerStreamId(orgId), [left])
  }
  for (const id of Object.keys(all)) {
    tx.append(
      idps,
      ownerStreamId(orgId),
      removalEvents(tx, orgId, { id, isLinked: links.includes(id) }),
    )
  }
}

function removalEvents(
  tx: Transaction,
  owner: IdpOwner,
  { id, isLinked }: { readonly id: string; readonly isLinked: boolean },
): readonly Draft<IdpEvent>[] {
  deleteSecret(tx, id)
  deleteMetadata(tx, id)
  const level = levelOf(owner)
  const claims: readonly ClaimChange[] = [{ release: claim, key: id }]
  const unlinked: Draft<IdpEvent> = {
    type: `${level}.policy.login.idpprovider.cascade.removed`,
    data: { idpId: id },
  }
  return [...(isLinked ? [unlinked] : []), { type: `${level}.idp.removed`, data: { id }, claims }]
}

/**
 * Lets users of the owner sign in with a provider, which must belong to the owner or to the
 * instance.
 */
export async function linkIdp(cx: Cx, owner: IdpOwner, id: string): Promise<Receipt> {
  requireOwnLoginPolicy(cx, owner)
  return transactOwned(cx, owner, id, (tx, { links }) => {
    if (!isVisibleTo(tx, owner, id)) throw idpNotFoundError()
    if (links.includes(id)) {
      throw new Fault("already_exists", "idp.linked", "the identity provider is already linked")
    }
    return [linkChangeEvent(tx, { place: owner, what: "added", id })]
  })
}

type LoginPolicyFields = Parameters<typeof addPolicy<(typeof login)["standard"]>>[2]["apply"]

/**
 * Creates a login policy of an organization, with additional providers besides those already
 * linked.
 */
export const createLoginPolicy = (
  cx: Cx,
  orgId: string,
  { say, idpIds }: { readonly say: LoginPolicyFields; readonly idpIds: readonly string[] },
): Promise<Receipt> =>
  addPolicy(cx, orgId, {
    policy: login,
    apply: say,
    also: (tx) => {
      const { links } = tx.state(idps, ownerStreamId(orgId))
      const others = [...new Set(idpIds)].filter((id) => !links.includes(id))
      if (!others.every((id) => isVisibleTo(tx, orgId, id))) throw idpNotFoundError()
      const drafts = others.map((id) => linkChangeEvent(tx, { place: orgId, what: "added", id }))
      if (drafts.length > 0) tx.append(idps, ownerStreamId(orgId), drafts, orgId)
    },
  })

/** Whether a provider belongs to the owner or to the instance. */
const isVisibleTo = (tx: Transaction, owner: IdpOwner, id: string): boolean =>
  [owner, undefined].some((each) => Object.hasOwn(tx.state(idps, ownerStreamId(each)).all, id))

/**
 * Unlinks a provider: users of the owner can no longer sign in with it, but it stays configured.
 */
export const unlinkIdp = (cx: Cx, owner: IdpOwner, id: string): Promise<Receipt> =>
  transactOwned(cx, owner, id, (tx, { links }) => {
    if (links.includes(id)) return [linkChangeEvent(tx, { place: owner, what: "removed", id })]
    throw new Fault("not_found", "idp.not_linked", "the identity provider is not linked")
  })

type LinkChange = {
  readonly place: IdpOwner
  readonly what: "added" | "removed"
  readonly id: string
}

const linkChangeEvent = (
  tx: Transaction,
  { place: owner, what: change, id: idpId }: LinkChange,
): Draft<IdpEvent> => ({
  type: `${levelOf(owner)}.policy.login.idpprovider.${change}`,
  data: { idpId, ...authorOf(tx) },
})

/** The provider list of an organization applies only while it has its own login policy. */
function requireOwnLoginPolicy(cx: Cx, owner: IdpOwner): void {
  if (owner === undefined || !findPolicy(cx, owner, login).isDefault) return
  throw new Fault(
    "failed_precondition",
    "idp.policy_default",
    "the organization has no login policy of its own; create one first",
  )
}

export const idpsOf = (cx: Cx, owner: IdpOwner): Idps =>
  cx.store.state(cx, idps, ownerStreamId(owner))

/** A provider and its owner. */
export type OwnedIdp = { readonly idp: Idp; readonly place: IdpOwner }

/** Finds a provider by ID, regardless of the owner. */
export function findIdpById(cx: Cx, id: string): OwnedIdp | undefined {
  const cache = cachedIdps(cx)
  const before = cache.get(id)
  if (before) return before
  const holder = cx.store.log.holder(cx.instance, claim, id, cx.clock.now())
  if (holder?.stream !== idps.stream) return undefined
  const idp = cx.store.state(cx, idps, holder.id).all[id]
  if (!idp) return undefined
  const now = { idp, place: ownerFromStreamId(holder.id) }
  if (cache.size >= cachedIdpsMax) cache.clear()
  cache.set(id, now)
  return now
}

/** Whether the instance trusts email addresses from one of its providers for all organizations. */
export const isTrustedForAddresses = ({ state }: Pick<Transaction, "state">, id: string): boolean =>
  state(idps, ownerStreamId(undefined)).all[id]?.options.isTrustedForAddresses ?? false

/** Cached, because each sign-in needs the provider several times. */
const cachedIdps = cacheQuery(() => new Map<string, OwnedIdp>(), [idps.stream])
const cachedIdpsMax = 500

/**
 * The authority that user IDs of a provider belong to, or undefined if it does not exist.
 * Links are bound to it: otherwise an administrator could reconfigure the provider and have linked
 * users signed in by a service of their own.
 */
export function findAuthority(cx: Cx, id: string): string | undefined {
  const idpOrUndefined = findIdpById(cx, id)
  return idpOrUndefined && authorityOf(idpOrUndefined.idp.settings)
}

/** Adds the authority to an answer. Rejects if the provider was reconfigured in the meantime. */
export function withAuthority(
  cx: Cx,
  { idp }: Pick<OwnedIdp, "idp">,
  answer: ProviderAnswer,
): AuthenticatedAnswer {
  requireUnchanged(cx, idp)
  const { authenticatedAt: stated, ...rest } = answer
  const now = cx.clock.now()
  const authenticatedAt = timeNotAfter(stated, now)
  return {
    ...rest,
    ...(authenticatedAt !== undefined && { authenticatedAt }),
    authority: authorityOf(idp.settings),
    answeredAt: now,
  }
}

/** Rejects a provider that was reconfigured since it was read. */
export function requireUnchanged(cx: Cx, { id, settings }: Pick<Idp, "id" | "settings">): void {
  if (findAuthority(cx, id) === authorityOf(settings)) return
  throw upstreamError("answer_refused", "the identity provider was reconfigured in the meantime")
}

/** The authority of a provider, read in a transaction. */
export function authorityInTransaction(tx: Transaction, id: string): string | undefined {
  const holder = tx.holder(claim, id)
  if (holder?.stream !== idps.stream) return undefined
  const idp = tx.state(idps, holder.id).all[id]
  return idp && authorityOf(idp.settings)
}

/**
 * Authors of an organization's provider. They decide whom it vouches for, so they could sign in as
 * any linked user. Providers of the instance have none.
 */
export function authorsInTransaction(tx: Pick<Transaction, "holder" | "state">, id: string) {
  const holder = tx.holder(claim, id)
  if (holder?.stream !== idps.stream || ownerFromStreamId(holder.id) === undefined) return []
  return tx.state(idps, holder.id).all[id]?.authors ?? []
}

/** Returns a provider of an owner by ID. Throws if it doesn't exist or has another kind. */
export const getIdp = (cx: Cx, owner: IdpOwner, id: string, kind?: IdpKind): Idp =>
  requireIdp(idpsOf(cx, owner), id, kind)

/** The metadata of a provider, as sent or fetched; empty if it has none. */
export const metadataOf = (cx: Cx, id: string): string =>
  cx.store.state(cx, idpMetadata, id).metadata

type DecideEvents = (tx: Transaction, state: Idps) => readonly Draft<IdpEvent>[]

async function transactOwned(
  cx: Cx,
  owner: IdpOwner,
  id: string,
  decide: DecideEvents,
): Promise<Receipt> {
  const result = await cx.store.transact(cx, (tx) => {
    const drafts = decide(tx, tx.state(idps, ownerStreamId(owner)))
    tx.append(idps, ownerStreamId(owner), drafts, owner ?? cx.instance)
  })
  return { ...result.receipt(idps, ownerStreamId(owner)), id }
}

type OwnIdpQuery = { readonly state: Idps; readonly id: string; readonly kind?: IdpKind }

/**
 * Returns a provider for an update by its owner. Organizations also see providers of the instance,
 * but can't update them.
 */
function requireOwnIdp(tx: Transaction, owner: IdpOwner, { state, id, kind }: OwnIdpQuery): Idp {
  const isOwn = owner === undefined || Object.hasOwn(state.all, id)
  if (!isOwn && Object.hasOwn(tx.state(idps, ownerStreamId(undefined)).all, id))
    throw instanceIdpError()
  return requireIdp(state, id, kind)
}

function requireIdp({ all }: Idps, id: string, kind?: IdpKind): Idp {
  const idpOrUndefined = Object.hasOwn(all, id) ? all[id] : undefined
  if (!idpOrUndefined) throw idpNotFoundError()
  if (kind !== undefined && idpOrUndefined.settings.kind !== kind) throw wrongKindError()
  return idpOrUndefined
}

const isSameConfig = ({ name, settings, options }: IdpConfig, config: IdpConfig): boolean =>
  isDeepStrictEqual([name, settings, options], [config.name, config.settings, config.options])

const levelOf = (owner: IdpOwner) => (owner === undefined ? "instance" : "org")

const idTaken = { id: "idp.exists", message: "an identity provider with this ID already exists" }

export const idpNotFoundError = () =>
  new Fault("not_found", "idp.missing", "identity provider not found")

const instanceIdpError = () =>
  new Fault(
    "failed_precondition",
    "idp.of_instance",
    "this identity provider belongs to the instance; update it with the operation of the " +
      "instance under /admin/v1 (for GitLab with POST; organizations use PUT)",
  )

const wrongKindError = () =>
  new Fault(
    "failed_precondition",
    "idp.wrong_kind",
    "this identity provider is of another kind; use the operation for its kind",
  )

const unchangedError = () =>
  new Fault(
    "failed_precondition",
    "idp.unchanged",
    "nothing to update: the identity provider already has these values",
  )
