import { Fault } from "../../kernel/fault.ts"
import type {
  ClaimChange,
  Cx,
  DecisionContext,
  Draft,
  Receipt,
  Transaction,
  TransactionResult,
} from "../../store/index.ts"
import { type Algorithm, type KeyKind, type WebKeyEvent, webKey } from "./model.ts"
import { createPair, type SealedPair } from "./pair.ts"

/**
 * How long clients can cache the key set, in seconds. A key that signs sooner after it was
 * published issues tokens that they can't verify.
 */
export const publishedSeconds = 300

/**
 * Adds a generated key pair. It is published immediately, but signs nothing until it is activated.
 */
export const addWebKey = (tx: Transaction, pair: SealedPair): void => add(tx, pair, [])

/**
 * Adds a generated key pair as the successor of the active key of its algorithm; no-op if there is
 * already a successor.
 */
export function addSuccessor(tx: Transaction, pair: SealedPair): void {
  const { algorithm } = pair
  if (tx.holder(successorClaim, algorithm)) return
  const taken = {
    id: "web_key.successor_exists",
    message: `another ${algorithm} key was scheduled at the same time`,
  }
  add(tx, pair, [{ take: successorClaim, key: algorithm, taken }])
}

/** The successor of the active key of an algorithm. */
export const findSuccessor = (cx: Cx, algorithm: Algorithm): string | undefined =>
  cx.store.log.holder(cx.instance, successorClaim, algorithm, cx.clock.now())?.id

function add(tx: Transaction, pair: SealedPair, claims: readonly ClaimChange[]): void {
  if (tx.state(webKey, pair.id).status !== "absent") {
    throw new Fault("already_exists", "web_key.exists", "a web key with this ID already exists")
  }
  const { id, kind, algorithm, publicKey, sealed } = pair
  const added: Draft<WebKeyEvent> = {
    type: "web_key.added",
    data: { kind, algorithm, publicKey },
    private: { sealed },
    claims,
  }
  tx.append(webKey, id, [added])
}

/** Generates and adds a key of this kind. */
export async function createWebKey(cx: Cx, kind: KeyKind): Promise<Receipt> {
  const pair = await createPair(cx, kind)
  const step = await cx.store.transact(cx, (tx) => addWebKey(tx, pair))
  return step.receipt(webKey, pair.id)
}

/** The keys of a new instance: ID tokens are signed with RS256, JWT access tokens with ES256. */
const initialKinds: readonly KeyKind[] = [
  { kind: "rsa", bits: 2048, hash: 256 },
  { kind: "ecdsa", curve: "P-256" },
]

/** Generates the keys of a new instance, before the transaction that sets it up. */
export const prepareKeys = (cx: Pick<Cx, "ids" | "secrets">): Promise<readonly SealedPair[]> =>
  Promise.all(initialKinds.map((kind) => createPair(cx, kind)))

/** Adds and activates generated key pairs; part of the setup transaction. */
export function addKeys(tx: Transaction, pairs: readonly SealedPair[]): void {
  for (const pair of pairs) {
    addWebKey(tx, pair)
    activateKey(tx, pair.id)
  }
}

/**
 * Activates a key, so that it signs with its algorithm; the previous key remains published. No-op
 * if the key is already active. Rejects a key that clients may not have loaded yet, unless the
 * algorithm has no active key.
 */
export async function activateWebKey(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => activateKey(tx, id))
  return step.receipt(webKey, id)
}

/** Activates a key within a transaction. */
export function activateKey(tx: Transaction, id: string): void {
  const state = tx.state(webKey, id)
  if (state.status === "absent" || state.status === "removed") throw webKeyNotFoundError()
  if (state.status === "active") return
  const { algorithm, added } = state
  const previous = findActiveKeyId(tx, algorithm)
  if (previous !== undefined) {
    const early = added + publishedSeconds * 1000 - tx.now
    if (early > 0) throw keyTooNewError(Math.ceil(early / 1000))
    tx.append(webKey, previous, [deactivatedEvent(algorithm)])
  }
  tx.append(webKey, id, [activatedEvent(algorithm, releaseSuccessor(tx, id, algorithm))])
}

/** The ID of the active key of an algorithm; undefined if there is none. */
export const findActiveKeyId = (
  tx: Pick<DecisionContext, "holder">,
  algorithm: string,
): string | undefined => tx.holder(activeClaim, algorithm)?.id

/**
 * Removes a key, so that its signatures are no longer valid, and erases its private key. Rejects
 * the active key. Returns undefined if it does not exist.
 */
export async function deleteWebKey(cx: Cx, id: string): Promise<Receipt | undefined> {
  const step: TransactionResult<boolean> = await cx.store.transact(cx, (tx) => removeWebKey(tx, id))
  return step.value ? step.receipt(webKey, id) : undefined
}

/** Removes a key within a transaction; returns whether it existed. */
export function removeWebKey(tx: Transaction, id: string): boolean {
  const state = tx.state(webKey, id)
  if (state.status === "absent" || state.status === "removed") return false
  if (state.status === "active") throw stillActiveError()
  const claims = releaseSuccessor(tx, id, state.algorithm)
  const removed: Draft<WebKeyEvent> = { type: "web_key.removed", data: {}, claims, erase: {} }
  tx.append(webKey, id, [removed])
  return true
}

/** An activated or removed key is no longer the successor. */
const releaseSuccessor = (
  tx: Transaction,
  id: string,
  algorithm: Algorithm,
): readonly ClaimChange[] =>
  tx.holder(successorClaim, algorithm)?.id === id
    ? [{ release: successorClaim, key: algorithm }]
    : []

/** Taken by the active key of an algorithm, so that there is never a second one. */
const activeClaim = "active_web_key"

/** Taken by the key that the scheduled rotation activates next. */
const successorClaim = "next_web_key"

const activatedEvent = (
  algorithm: Algorithm,
  claims: readonly ClaimChange[],
): Draft<WebKeyEvent> => ({
  type: "web_key.activated",
  data: {},
  claims: [
    ...claims,
    {
      take: activeClaim,
      key: algorithm,
      taken: {
        id: "web_key.activated_elsewhere",
        message: `another ${algorithm} key was activated at the same time; try again`,
      },
    },
  ],
})

const deactivatedEvent = (algorithm: Algorithm): Draft<WebKeyEvent> => ({
  type: "web_key.deactivated",
  data: {},
  claims: [{ release: activeClaim, key: algorithm }],
})

const webKeyNotFoundError = () => new Fault("not_found", "web_key.missing", "web key not found")

const keyTooNewError = (seconds: number) =>
  new Fault(
    "failed_precondition",
    "web_key.too_young",
    "applications cache the key set for five minutes and may not have loaded this key yet; " +
      `activate it in ${seconds} seconds`,
  )

const stillActiveError = () =>
  new Fault(
    "failed_precondition",
    "web_key.active",
    "the active web key can't be deleted; activate another key of its algorithm first",
  )
