import { Fault } from "../../kernel/fault.ts"
import type { Cx, Draft, Receipt, Step, Transaction } from "../../store/index.ts"
import { type Algorithm, type KeyKind, type WebKeyEvent, webKey } from "./model.ts"
import { createPair, type SealedPair } from "./pair.ts"

/** Adds a prepared pair; it is published at once and signs nothing until it is activated. */
export function addWebKey(tx: Transaction, pair: SealedPair): void {
  if (tx.state(webKey, pair.id).status !== "absent") {
    throw new Fault("already_exists", "web_key.exists", "there is already a web key with this id")
  }
  const { id, kind, algorithm, publicKey, sealed } = pair
  const added: Draft<WebKeyEvent> = {
    type: "web_key.added",
    data: { kind, algorithm, publicKey },
    private: { sealed },
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
 * active already stays so.
 */
export async function activateWebKey(cx: Cx, id: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => turnTo(tx, id))
  return step.receipt(webKey, id)
}

function turnTo(tx: Transaction, id: string): void {
  const state = tx.state(webKey, id)
  if (state.status === "absent" || state.status === "removed") throw missing()
  if (state.status === "active") return
  const { algorithm } = state
  const former = tx.holder(activeClaim, algorithm)
  if (former) tx.append(webKey, former.id, [deactivated(algorithm)])
  tx.append(webKey, id, [activated(algorithm)])
}

/**
 * Removes a key, so that whatever it signed is no longer believed, and forgets its private half.
 * Refuses the active one. Answers undefined where there is no such key (any more).
 */
export async function deleteWebKey(cx: Cx, id: string): Promise<Receipt | undefined> {
  const step: Step<boolean> = await cx.store.transact(cx, (tx) => {
    const state = tx.state(webKey, id)
    if (state.status === "absent" || state.status === "removed") return false
    if (state.status === "active") throw stillActive()
    const removed: Draft<WebKeyEvent> = { type: "web_key.removed", data: {}, erase: {} }
    tx.append(webKey, id, [removed])
    return true
  })
  return step.value ? step.receipt(webKey, id) : undefined
}

/** Held by the active key of an algorithm, so that there is never a second. */
const activeClaim = "active_web_key"

const activated = (algorithm: Algorithm): Draft<WebKeyEvent> => ({
  type: "web_key.activated",
  data: {},
  claims: [
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

const missing = () => new Fault("not_found", "web_key.missing", "there is no web key with this id")

const stillActive = () =>
  new Fault(
    "failed_precondition",
    "web_key.active",
    "the active web key can't be deleted; activate another key of its algorithm first",
  )
