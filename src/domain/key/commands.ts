import { Fault } from "../../kernel/fault.ts"
import type {
  ClaimChange,
  Cx,
  Decision,
  Draft,
  Receipt,
  Step,
  Transaction,
} from "../../store/index.ts"
import { type Algorithm, type KeyKind, type WebKeyEvent, webKey } from "./model.ts"
import { createPair, type SealedPair } from "./pair.ts"

/**
 * How long others may keep the list of our keys, in seconds. A key that signs sooner after it was
 * published makes tokens that they can't verify.
 */
export const publishedSeconds = 300

/** Adds a prepared pair; it is published at once and signs nothing until it is activated. */
export const addWebKey = (tx: Transaction, pair: SealedPair): void => add(tx, pair, [])

/**
 * Adds a prepared pair as the one that is to follow the active key of its algorithm; nothing
 * happens where one is waiting already.
 */
export function addSuccessor(tx: Transaction, pair: SealedPair): void {
  const { algorithm } = pair
  if (tx.holder(successorClaim, algorithm)) return
  const taken = {
    id: "web_key.successor_exists",
    message: `another ${algorithm} key was put in line at the same moment`,
  }
  add(tx, pair, [{ take: successorClaim, key: algorithm, taken }])
}

/** The key that was put in line to follow the active one of its algorithm. */
export const successorOf = (cx: Cx, algorithm: Algorithm): string | undefined =>
  cx.store.log.holder(cx.instance, successorClaim, algorithm, cx.clock.now())?.id

function add(tx: Transaction, pair: SealedPair, claims: readonly ClaimChange[]): void {
  if (tx.state(webKey, pair.id).status !== "absent") {
    throw new Fault("already_exists", "web_key.exists", "there is already a web key with this id")
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

/** Makes and adds a key of the kind. */
export async function createWebKey(cx: Cx, kind: KeyKind): Promise<Receipt> {
  const pair = await createPair(cx, kind)
  const step = await cx.store.transact(cx, (tx) => addWebKey(tx, pair))
  return step.receipt(webKey, pair.id)
}

/** The kinds that an instance begins with: id_tokens are RS256, JWT access tokens ES256. */
const first: readonly KeyKind[] = [
  { kind: "rsa", bits: 2048, hash: 256 },
  { kind: "ecdsa", curve: "P-256" },
]

/** Makes the keys that a new instance signs with, before its set-up is one step. */
export const prepareKeys = (cx: Pick<Cx, "ids" | "secrets">): Promise<readonly SealedPair[]> =>
  Promise.all(first.map((kind) => createPair(cx, kind)))

/** Adds prepared pairs and activates them; a part of set-up. */
export function addKeys(tx: Transaction, pairs: readonly SealedPair[]): void {
  for (const pair of pairs) {
    addWebKey(tx, pair)
    turnTo(tx, pair.id)
  }
}

/**
 * Makes a key the one that signs with its algorithm; the one that did is kept published. What is
 * active already stays so. Refuses a key that others may not have seen yet, unless nothing signs
 * with its algorithm.
 */
export async function activateWebKey(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => turnTo(tx, id))
  return step.receipt(webKey, id)
}

/** The same as a part of a step. */
export function turnTo(tx: Transaction, id: string): void {
  const state = tx.state(webKey, id)
  if (state.status === "absent" || state.status === "removed") throw missingError()
  if (state.status === "active") return
  const { algorithm, added } = state
  const former = activeOf(tx, algorithm)
  if (former !== undefined) {
    const early = added + publishedSeconds * 1000 - tx.now
    if (early > 0) throw tooYoungError(Math.ceil(early / 1000))
    tx.append(webKey, former, [deactivated(algorithm)])
  }
  tx.append(webKey, id, [activated(algorithm, fromLine(tx, id, algorithm))])
}

/** The key that signs with an algorithm; undefined where none does. */
export const activeOf = (tx: Pick<Decision, "holder">, algorithm: string): string | undefined =>
  tx.holder(activeClaim, algorithm)?.id

/**
 * Removes a key, so that whatever it signed is no longer believed, and forgets its private half.
 * Refuses the active one. Answers undefined where there is no such key (any more).
 */
export async function deleteWebKey(cx: Cx, id: string): Promise<Receipt | undefined> {
  const step: Step<boolean> = await cx.store.transact(cx, (tx) => removeWebKey(tx, id))
  return step.value ? step.receipt(webKey, id) : undefined
}

/** The same as a part of a step; answers whether there was such a key. */
export function removeWebKey(tx: Transaction, id: string): boolean {
  const state = tx.state(webKey, id)
  if (state.status === "absent" || state.status === "removed") return false
  if (state.status === "active") throw stillActiveError()
  const claims = fromLine(tx, id, state.algorithm)
  const removed: Draft<WebKeyEvent> = { type: "web_key.removed", data: {}, claims, erase: {} }
  tx.append(webKey, id, [removed])
  return true
}

/** A key that is turned to, or is gone, no longer waits in line. */
const fromLine = (tx: Transaction, id: string, algorithm: Algorithm): readonly ClaimChange[] =>
  tx.holder(successorClaim, algorithm)?.id === id
    ? [{ release: successorClaim, key: algorithm }]
    : []

/** Held by the active key of an algorithm, so that there is never a second. */
const activeClaim = "active_web_key"

/** Held by the key that scheduled rotation has put in line. */
const successorClaim = "next_web_key"

const activated = (algorithm: Algorithm, claims: readonly ClaimChange[]): Draft<WebKeyEvent> => ({
  type: "web_key.activated",
  data: {},
  claims: [
    ...claims,
    {
      take: activeClaim,
      key: algorithm,
      taken: {
        id: "web_key.activated_elsewhere",
        message: `another ${algorithm} key was activated at the same moment; please try again`,
      },
    },
  ],
})

const deactivated = (algorithm: Algorithm): Draft<WebKeyEvent> => ({
  type: "web_key.deactivated",
  data: {},
  claims: [{ release: activeClaim, key: algorithm }],
})

const missingError = () =>
  new Fault("not_found", "web_key.missing", "there is no web key with this id")

const tooYoungError = (seconds: number) =>
  new Fault(
    "failed_precondition",
    "web_key.too_young",
    "applications keep the list of keys for five minutes and may not know this key yet; " +
      `activate it in ${seconds} seconds`,
  )

const stillActiveError = () =>
  new Fault(
    "failed_precondition",
    "web_key.active",
    "the active web key can't be deleted; activate another key of its algorithm first",
  )
