import type { Cx } from "../../store/index.ts"
import { type KeyRotation, requireInstance, signedLifetimeMax } from "../instance/index.ts"
import {
  activateKey,
  addSuccessor,
  findActiveKeyId,
  findSuccessor,
  removeWebKey,
} from "./commands.ts"
import { webKey } from "./model.ts"
import { createPair } from "./pair.ts"
import { listWebKeys, type WebKeyRow } from "./view.ts"

/**
 * Performs the rotation steps that are due for an instance's keys, each in its own transaction:
 * publishes the successor of a key ahead of time, activates it, and removes keys that no valid
 * token depends on. Can be repeated or interrupted at any point.
 * A key's age is measured from its activation, even if an administrator activated it. Keys that
 * were never activated are not touched, except those that rotation created.
 */
export async function rotateKeys(cx: Cx): Promise<void> {
  const { keyRotation } = requireInstance(cx).oidc
  if (!keyRotation.enabled) return
  const rows = listWebKeys(cx)
  for (const row of rows) {
    if (row.status === "active") await rotateToSuccessor(cx, row, { keyRotation, rows })
    if (row.status === "inactive") await removeRetiredKey(cx, row)
  }
}

type RotationPlan = { readonly keyRotation: KeyRotation; readonly rows: readonly WebKeyRow[] }

async function rotateToSuccessor(
  cx: Cx,
  active: WebKeyRow,
  { keyRotation, rows }: RotationPlan,
): Promise<void> {
  const now = cx.clock.now()
  const ahead = keyRotation.aheadSeconds * 1000
  const due = active.changed + keyRotation.periodSeconds * 1000
  if (now < due - ahead) return
  const next = rows.find(({ id }) => id === findSuccessor(cx, active.algorithm))
  if (!next) {
    const pair = await createPair(cx, active.kind)
    await cx.store.transact(cx, (tx) => {
      if (findActiveKeyId(tx, active.algorithm) === active.id) addSuccessor(tx, pair)
    })
    return
  }
  // Also if no node was running when it was due: clients must have loaded the next key first.
  if (now < due || now < next.created + ahead) return
  await cx.store.transact(cx, (tx) => {
    const asSeen = findActiveKeyId(tx, active.algorithm) === active.id
    if (asSeen && tx.state(webKey, next.id).status === "initial") activateKey(tx, next.id)
  })
}

/** Longer than the lifetime of any token that the key signed, plus clock skew. */
const retentionMs = (signedLifetimeMax + 86_400) * 1000

async function removeRetiredKey(cx: Cx, row: WebKeyRow): Promise<void> {
  if (cx.clock.now() < row.changed + retentionMs) return
  await cx.store.transact(cx, (tx) => {
    const state = tx.state(webKey, row.id)
    const isStill = state.status === "inactive" && state.since === row.changed
    if (isStill) removeWebKey(tx, row.id)
  })
}
