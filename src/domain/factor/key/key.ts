import { Fault } from "../../../kernel/fault.ts"
import { parseDisplayName } from "../../../kernel/text/identifier.ts"
import { parseOptionalText } from "../../../protocol/user-field.ts"
import type { ClaimChange, Cx, Draft, Receipt, Transaction } from "../../../store/index.ts"
import {
  ceremonyMs,
  factorsOf,
  type Human,
  type KeyKind,
  requireOtherOwner,
  type UserEvent,
  user,
} from "../../user-model/index.ts"
import { keysOf, ownSession, requireHuman } from "../ready.ts"
import { defaultKeyName } from "./aaguid.ts"
import { isLinkCodeValid, linkInvalidError, type PasskeyLink } from "./link.ts"
import { relyingPartyOf } from "./relying-party.ts"
import { creationOptions, type NewKey, newChallenge, verifyRegistration } from "./webauthn.ts"

/** Limit per user and kind. */
const keysMax = 20

/** Keys are unique within an instance, so a key identifies its user. */
export const credentialClaim = "webauthn_credential"

const eventPrefixes = {
  passkey: "user.human.passwordless.token",
  u2f: "user.human.mfa.u2f.token",
} as const

export type BeginKeyOptions = {
  readonly kind: KeyKind
  /** A domain of the instance; that of its public URL by default. */
  readonly domain?: string | undefined
  readonly attachment?: "platform" | "cross-platform" | undefined
  /** The code of a user who is not signed in; it is consumed when the key is registered. */
  readonly link?: PasskeyLink | undefined
}

/**
 * Begins registration of a key. `options` is the JSON for the browser (WebAuthn §5.4). Only the
 * latest registration of each kind can be completed, within ten minutes.
 */
export async function beginKey(
  cx: Cx,
  userId: string,
  { kind, domain, attachment, link }: BeginKeyOptions,
) {
  const person = requireHuman(cx.store.state(cx, user, userId))
  const party = relyingPartyOf(cx, domain)
  const challenge = newChallenge(cx)
  const { profile, userName: name } = person
  const options = await creationOptions(cx, {
    kind,
    party,
    partyName: party.id,
    challenge,
    attachment,
    user: { id: userId, name, displayName: profile.displayName },
    known: keysOf(person).filter((key) => key.rpId === party.id),
  })
  const tokenId = cx.ids.next()
  const step = await cx.store.transact(cx, (tx) => {
    if (link && !isLinkCodeValid(tx, userId, link)) return false
    const { codeId } = link ?? {}
    addKey.within(tx, userId, { kind, tokenId, rpId: party.id, challenge, codeId })
    return true
  })
  if (!step.value) throw linkInvalidError()
  return { tokenId, options, receipt: step.receipt(user, userId) }
}

type PendingKey = {
  readonly kind: KeyKind
  readonly tokenId: string
  readonly rpId: string
  readonly challenge: string
  readonly codeId: string | undefined
}

/** Stores a pending registration. */
export const addKey = user.command<PendingKey>(
  (state, { kind, tokenId, rpId, challenge, codeId }) => {
    if (keysOf(requireHuman(state), kind).length >= keysMax) {
      throw new Fault(
        "failed_precondition",
        "user.keys_full",
        `a user can have at most ${keysMax} keys of this kind; remove a key first`,
      )
    }
    const type = `${eventPrefixes[kind]}.added` as const
    const added: Draft<UserEvent> = {
      type,
      data: { tokenId, rpId, ...(codeId !== undefined && { codeId }) },
      private: { challenge },
      erase: { types: [type] },
    }
    return [added]
  },
)

/** Input that completes a registration: the browser's JSON response and the name of the key. */
export type FinishKeyInput = {
  readonly kind: KeyKind
  readonly tokenId: string
  readonly credential: unknown
  readonly name: string
  /** The link that the registration must have begun with; omitted for signed-in users. */
  readonly codeId?: string | undefined
}

/**
 * Verifies the browser's response and returns the part of the transaction that stores the key.
 * Without a name, the key is named after its model or browser. Rejects an invalid or late response,
 * and a key that is already registered.
 */
export async function prepareKey(
  cx: Cx,
  userId: string,
  { kind, tokenId, credential, name: input, codeId: linkId }: FinishKeyInput,
): Promise<(tx: Transaction) => void> {
  const pendingQuery = { kind, tokenId, now: cx.clock.now() }
  const pendingKey = requirePendingKey(requireHuman(cx.store.state(cx, user, userId)), pendingQuery)
  if (linkId !== undefined && pendingKey.codeId !== linkId) throw keyNotFoundError()
  const { rpId, challenge } = pendingKey
  const key = await verifyRegistration(credential, {
    challenge,
    party: relyingPartyOf(cx, rpId),
    isUserVerified: kind === "passkey",
  })
  if (!key) throw keyInvalidError()
  const { aaguid } = key
  const name =
    parseOptionalText("name", input) || defaultKeyName({ aaguid, userAgent: cx.from?.userAgent })
  return (tx) => verifyKey.within(tx, userId, { kind, tokenId, challenge, name, key })
}

/** Completes a registration in its own transaction. */
export async function finishKey(cx: Cx, userId: string, input: FinishKeyInput): Promise<Receipt> {
  const step = await cx.store.transact(cx, await prepareKey(cx, userId, input))
  return step.receipt(user, userId)
}

type VerifyKeyInput = {
  readonly kind: KeyKind
  readonly tokenId: string
  readonly challenge: string
  readonly name: string
  readonly key: NewKey
  /** Whether the key is registered with the account, in place of a password. */
  readonly isFirst?: boolean
}

/** Stores a verified key. */
export const verifyKey = user.command<VerifyKeyInput>(
  (state, { kind, tokenId, challenge, name, key, isFirst = false }, { now }) => {
    const person = requireHuman(state)
    const pending = requirePendingKey(person, { kind, tokenId, now })
    if (pending.challenge !== challenge) throw keyInvalidError()
    const { aaguid, signCount, ...secret } = key
    const type = `${eventPrefixes[kind]}.verified` as const
    const verified: Draft<UserEvent> = {
      type,
      data: { tokenId, aaguid, signCount, ...(isFirst && { isFirst }) },
      private: { ...secret, name },
      claims: [claimCredential(key.credentialId)],
      erase: { types: [`${eventPrefixes[kind]}.added`] },
    }
    return [...linkUsedEvents(person, pending.codeId), verified]
  },
)

/** Consumes the link; a second browser with the same link is rejected. */
function linkUsedEvents(person: Human, codeId: string | undefined): readonly Draft<UserEvent>[] {
  if (codeId === undefined) return []
  if (factorsOf(person).link?.codeId !== codeId) throw linkInvalidError()
  const used: Draft<UserEvent> = {
    type: "user.human.passwordless.initialization.code.used",
    data: { codeId },
    erase: { types: ["user.human.passwordless.initialization.code.added"] },
  }
  return [used]
}

const claimCredential = (key: string): ClaimChange => ({
  take: credentialClaim,
  key,
  taken: { id: "user.key_taken", message: "this key is already registered" },
})

/** Renames a passkey. Rejects an unknown key and an empty name; the same name changes nothing. */
export const renamePasskey = user.command<{ readonly tokenId: string; readonly name: string }>(
  (state, { tokenId, name: input }) => {
    const { keys } = factorsOf(requireHuman(state))
    const key = Object.hasOwn(keys, tokenId) ? keys[tokenId] : undefined
    if (key?.kind !== "passkey" || key.state !== "ready") throw keyNotFoundError()
    const name = parseDisplayName("name", input)
    if (name === key.name) return []
    return [{ type: "user.human.passwordless.token.renamed", data: { tokenId }, private: { name } }]
  },
)

/**
 * Removes a key and ends the sessions that it authenticated. Rejects an unknown key, and the last
 * credential of the last instance administrator.
 */
export const removeKey = user.command<{ readonly kind: KeyKind; readonly tokenId: string }>(
  (state, { kind, tokenId }, cx, id) => {
    const person = requireHuman(state)
    const factors = factorsOf(person)
    const { [tokenId]: key, ...keys } = factors.keys
    if (key?.kind !== kind) throw keyNotFoundError()
    requireOtherOwner(cx, id, { ...person, factors: { ...factors, keys } })
    const removed: Draft<UserEvent> = {
      type: `${eventPrefixes[kind]}.removed`,
      data: { tokenId, ...ownSession(cx, id) },
      claims: key.state === "ready" ? [releaseCredential(key.credentialId)] : [],
    }
    return [removed]
  },
)

const releaseCredential = (key: string): ClaimChange => ({ release: credentialClaim, key })

/** Claims that are released when a user is removed. */
export const releaseKeys = (person: Human): readonly ClaimChange[] =>
  keysOf(person).map(({ credentialId }) => releaseCredential(credentialId))

function requirePendingKey(
  person: Human,
  { kind, tokenId, now }: Pick<PendingKey, "kind" | "tokenId"> & { readonly now: number },
) {
  const { keys } = factorsOf(person)
  const key = Object.hasOwn(keys, tokenId) ? keys[tokenId] : undefined
  if (key?.kind !== kind || key.state !== "pending") throw keyNotFoundError()
  if (now < key.begun + ceremonyMs) return key
  throw new Fault(
    "failed_precondition",
    "user.key_late",
    "the registration has expired; start again",
  )
}

/** The browser's response doesn't match the registration. */
export const keyInvalidError = () =>
  new Fault(
    "invalid_argument",
    "user.key_wrong",
    "the response of the authenticator does not match this registration, or came from a " +
      "page outside this instance; start again",
  )

const keyNotFoundError = () => new Fault("not_found", "user.key_missing", "key not found")
