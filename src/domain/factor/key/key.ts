import { Fault } from "../../../kernel/fault.ts"
import { givenName } from "../../../kernel/text/given.ts"
import { optionalTextOf } from "../../../protocol/user-field.ts"
import type { ClaimChange, Cx, Draft, Receipt, Transaction } from "../../../store/index.ts"
import {
  ceremonyMs,
  factorsOf,
  type Human,
  type KeyKind,
  keepAnOwner,
  type UserEvent,
  user,
} from "../../user-model/index.ts"
import { keptSession, keysOf, personIn } from "../ready.ts"
import { defaultKeyName } from "./aaguid.ts"
import { linkWrongError, type PasskeyLink, showsLink } from "./link.ts"
import { relyingPartyOf } from "./relying-party.ts"
import { creationOptions, type NewKey, newChallenge, readNewKey } from "./webauthn.ts"

/** Keys of one person and kind. */
const keysMax = 20

/** Keys are unique within an instance: the one that is shown tells who shows it. */
export const credentialClaim = "webauthn_credential"

const stems = { passkey: "user.human.passwordless.token", u2f: "user.human.mfa.u2f.token" } as const

export type KeyWish = {
  readonly kind: KeyKind
  /** A domain of the instance; that of its public address where it is left out. */
  readonly domain?: string | undefined
  readonly attachment?: "platform" | "cross-platform" | undefined
  /** The code that lets in who has not signed in; it is used up when the key is there. */
  readonly link?: PasskeyLink | undefined
}

/**
 * Begins to register a key: `options` is what the browser is handed, as JSON (WebAuthn §5.4). Of
 * each kind only the newest registration goes on, for ten minutes.
 */
export async function beginKey(
  cx: Cx,
  userId: string,
  { kind, domain, attachment, link }: KeyWish,
) {
  const person = personIn(cx.store.state(cx, user, userId))
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
    if (link && !showsLink(tx, userId, link)) return false
    const { codeId } = link ?? {}
    addKey.within(tx, userId, { kind, tokenId, rpId: party.id, challenge, codeId })
    return true
  })
  if (!step.value) throw linkWrongError()
  return { tokenId, options, receipt: step.receipt(user, userId) }
}

type Begun = {
  readonly kind: KeyKind
  readonly tokenId: string
  readonly rpId: string
  readonly challenge: string
  readonly codeId: string | undefined
}

/** Notes as a part of a step that a key is being made. */
export const addKey = user.command<Begun>((state, { kind, tokenId, rpId, challenge, codeId }) => {
  if (keysOf(personIn(state), kind).length >= keysMax) {
    throw new Fault(
      "failed_precondition",
      "user.keys_full",
      `nobody has more than ${keysMax} of these; remove one first`,
    )
  }
  const type = `${stems[kind]}.added` as const
  const added: Draft<UserEvent> = {
    type,
    data: { tokenId, rpId, ...(codeId !== undefined && { codeId }) },
    private: { challenge },
    erase: { types: [type] },
  }
  return [added]
})

/** What ends a registration: the browser's answer as JSON, and what the key is to be called. */
export type FinishedKey = {
  readonly kind: KeyKind
  readonly tokenId: string
  readonly credential: unknown
  readonly name: string
  /** Of the link that the registration must have begun with; left out by who is signed in. */
  readonly codeId?: string | undefined
}

/**
 * Ends a registration with what the browser has answered, as a part of a step. Without a name the
 * key gets that of its model or browser. Refuses what is wrong or too late, and a key that somebody
 * has.
 */
export async function finishedKey(
  cx: Cx,
  userId: string,
  { kind, tokenId, credential, name: given, codeId: linkId }: FinishedKey,
): Promise<(tx: Transaction) => void> {
  const asked = { kind, tokenId, now: cx.clock.now() }
  const begun = pendingIn(personIn(cx.store.state(cx, user, userId)), asked)
  if (linkId !== undefined && begun.codeId !== linkId) throw missingError()
  const { rpId, challenge } = begun
  const key = await readNewKey(credential, {
    challenge,
    party: relyingPartyOf(cx, rpId),
    isUserVerified: kind === "passkey",
  })
  if (!key) throw wrongError()
  const { aaguid } = key
  const name =
    optionalTextOf("name", given) || defaultKeyName({ aaguid, userAgent: cx.from?.userAgent })
  return (tx) => verifyKey.within(tx, userId, { kind, tokenId, challenge, name, key })
}

/** The same in a step of its own. */
export async function finishKey(cx: Cx, userId: string, given: FinishedKey): Promise<Receipt> {
  const step = await cx.store.transact(cx, await finishedKey(cx, userId, given))
  return step.receipt(user, userId)
}

type Verified = {
  readonly kind: KeyKind
  readonly tokenId: string
  readonly challenge: string
  readonly name: string
  readonly key: NewKey
  /** Whether it is made with the account, in place of a password. */
  readonly isFirst?: boolean
}

/** Takes a key that was read, as a part of a step. */
export const verifyKey = user.command<Verified>(
  (state, { kind, tokenId, challenge, name, key, isFirst = false }, { now }) => {
    const person = personIn(state)
    const pending = pendingIn(person, { kind, tokenId, now })
    if (pending.challenge !== challenge) throw wrongError()
    const { aaguid, signCount, ...secret } = key
    const type = `${stems[kind]}.verified` as const
    const verified: Draft<UserEvent> = {
      type,
      data: { tokenId, aaguid, signCount, ...(isFirst && { isFirst }) },
      private: { ...secret, name },
      claims: [takeCredential(key.credentialId)],
      erase: { types: [`${stems[kind]}.added`] },
    }
    return [...linkUsed(person, pending.codeId), verified]
  },
)

/** Of two browsers that came by one link, the second is too late. */
function linkUsed(person: Human, codeId: string | undefined): readonly Draft<UserEvent>[] {
  if (codeId === undefined) return []
  if (factorsOf(person).link?.codeId !== codeId) throw linkWrongError()
  const used: Draft<UserEvent> = {
    type: "user.human.passwordless.initialization.code.used",
    data: { codeId },
    erase: { types: ["user.human.passwordless.initialization.code.added"] },
  }
  return [used]
}

const takeCredential = (key: string): ClaimChange => ({
  take: credentialClaim,
  key,
  taken: { id: "user.key_taken", message: "this key is registered already" },
})

/** Calls a passkey otherwise. Refuses where there is none, and an empty name; the same is none. */
export const renamePasskey = user.command<{ readonly tokenId: string; readonly name: string }>(
  (state, { tokenId, name: given }) => {
    const { keys } = factorsOf(personIn(state))
    const key = Object.hasOwn(keys, tokenId) ? keys[tokenId] : undefined
    if (key?.kind !== "passkey" || key.state !== "ready") throw missingError()
    const name = givenName("name", given)
    if (name === key.name) return []
    return [{ type: "user.human.passwordless.token.renamed", data: { tokenId }, private: { name } }]
  },
)

/**
 * Takes a key away; what signed in before is over. Refuses where there is none, and where nobody
 * could administer the instance without it.
 */
export const removeKey = user.command<{ readonly kind: KeyKind; readonly tokenId: string }>(
  (state, { kind, tokenId }, cx, id) => {
    const person = personIn(state)
    const factors = factorsOf(person)
    const { [tokenId]: key, ...keys } = factors.keys
    if (key?.kind !== kind) throw missingError()
    keepAnOwner(cx, id, { ...person, factors: { ...factors, keys } })
    const removed: Draft<UserEvent> = {
      type: `${stems[kind]}.removed`,
      data: { tokenId, ...keptSession(cx, id) },
      claims: key.state === "ready" ? [releaseCredential(key.credentialId)] : [],
    }
    return [removed]
  },
)

const releaseCredential = (key: string): ClaimChange => ({ release: credentialClaim, key })

/** What a person who leaves gives up. */
export const releaseKeys = (person: Human): readonly ClaimChange[] =>
  keysOf(person).map(({ credentialId }) => releaseCredential(credentialId))

function pendingIn(
  person: Human,
  { kind, tokenId, now }: Pick<Begun, "kind" | "tokenId"> & { readonly now: number },
) {
  const { keys } = factorsOf(person)
  const key = Object.hasOwn(keys, tokenId) ? keys[tokenId] : undefined
  if (key?.kind !== kind || key.state !== "pending") throw missingError()
  if (now < key.begun + ceremonyMs) return key
  throw new Fault("failed_precondition", "user.key_late", "this took too long; begin again")
}

/** What a browser has answered is not what it was asked for. */
export const wrongError = () =>
  new Fault(
    "invalid_argument",
    "user.key_wrong",
    "this is not what was asked for, or not from a page of this instance; begin again",
  )

const missingError = () =>
  new Fault("not_found", "user.key_missing", "there is no such key of this user")
