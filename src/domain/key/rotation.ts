import type { Cx } from "../../store/index.ts"
import { type KeyRotation, requireInstance, signedLifetimeMax } from "../instance/index.ts"
import { activeOf, addSuccessor, removeWebKey, successorOf, turnTo } from "./commands.ts"
import { webKey } from "./model.ts"
import { createPair } from "./pair.ts"
import { listWebKeys, type WebKeyRow } from "./view.ts"

/**
 * Does what is due in the life of an instance's keys, each step by itself: publishes the successor
 * of a key ahead of time, turns to it, and removes keys that no token can still need. Doing it
 * again changes nothing, and so does stopping anywhere in between.
 *
 * A key's time counts from when it began to sign, whoever activated it. Keys that nobody has
 * activated are left alone, but for those that were made here.
 */
export async function rotateKeys(cx: Cx): Promise<void> {
  const { keyRotation } = requireInstance(cx).oidc
  if (!keyRotation.enabled) return
  const rows = listWebKeys(cx)
  for (const row of rows) {
    if (row.status === "active") await succeed(cx, row, { keyRotation, rows })
    if (row.status === "inactive") await retire(cx, row)
  }
}

type Plan = { readonly keyRotation: KeyRotation; readonly rows: readonly WebKeyRow[] }

async function succeed(cx: Cx, active: WebKeyRow, { keyRotation, rows }: Plan): Promise<void> {
  const now = cx.clock.now()
  const ahead = keyRotation.aheadSeconds * 1000
  const due = active.changed + keyRotation.periodSeconds * 1000
  if (now < due - ahead) return
  const next = rows.find(({ id }) => id === successorOf(cx, active.algorithm))
  if (!next) {
    const pair = await createPair(cx, active.kind)
    await cx.store.transact(cx, (tx) => {
      if (activeOf(tx, active.algorithm) === active.id) addSuccessor(tx, pair)
    })
    return
  }
  // Also where nobody ran while it was due: whoever keeps our keys must have seen the next one.
  if (now < due || now < next.created + ahead) return
  await cx.store.transact(cx, (tx) => {
    const asSeen = activeOf(tx, active.algorithm) === active.id
    if (asSeen && tx.state(webKey, next.id).status === "initial") turnTo(tx, next.id)
  })
}

/** Longer than any token that it signed can count, a clock that runs late included. */
const keptFor = (signedLifetimeMax + 86_400) * 1000

async function retire(cx: Cx, row: WebKeyRow): Promise<void> {
  if (cx.clock.now() < row.changed + keptFor) return
  await cx.store.transact(cx, (tx) => {
    const state = tx.state(webKey, row.id)
    const isStill = state.status === "inactive" && state.since === row.changed
    if (isStill) removeWebKey(tx, row.id)
  })
}
