import { createHash } from "node:crypto"
import { type ManualClock, manualClock } from "../../src/kernel/clock.ts"
import type { Call, Caller } from "../../src/kernel/context.ts"
import type { Random } from "../../src/kernel/crypto/random.ts"
import {
  createDataKey,
  keyLength,
  purposes,
  type Secrets,
  secretsOf,
} from "../../src/kernel/crypto/secret.ts"
import { idsOf } from "../../src/kernel/id.ts"
import type { AnyAggregate, Cx, Store, View } from "../../src/store/index.ts"
import { temporaryFolder } from "./latchkey.ts"
import { nowhere } from "./outside.ts"
import { openWorldStore } from "./world-log.ts"

export type World = {
  readonly store: Store
  readonly clock: ManualClock
  readonly secrets: Secrets
  /** A call; by the system, on instance "i1" and with the whole instance in scope, unless told. */
  readonly cx: (call?: Partial<Call>) => Cx
  /** Closes, and opens the same folder with these views: those that changed are rebuilt. */
  readonly reopen: (views: readonly View[]) => Promise<World>
  readonly close: () => Promise<void>
}

type Modules = {
  readonly aggregates: readonly AnyAggregate[]
  readonly views: readonly View[]
  readonly textIndexFrom?: number
}

/**
 * A store of its own in a temporary folder, with a clock that stands still. Ids and random bytes
 * are other ones by each hand: whoever goes on with what another has begun repeats none.
 */
export function openWorld(modules: Modules, folder = temporaryFolder(), hand = 0): World {
  const clock = manualClock(Date.UTC(2026, 0, 2))
  const random = countingRandom("keys")
  const rows = purposes.map((purpose) => {
    const master = new Uint8Array(keyLength)
    return { ...createDataKey(random, master, purpose), active: true }
  })
  const secrets = secretsOf(random, new Uint8Array(keyLength), rows)
  const unexpected = (cause: unknown) => {
    throw cause
  }
  const { store, remove } = openWorldStore(
    folder,
    { ...modules, fatal: unexpected, notReady: (_, cause) => unexpected(cause) },
    clock,
  )
  const base = {
    store,
    clock,
    random: countingRandom(`seed ${hand}`),
    secrets,
    ids: idsOf(clock, hand),
    outside: nowhere,
    warn: () => {},
    instance: "i1",
    caller: { kind: "system", name: "test" } as const,
    scope: { all: true, orgs: [], projects: [], grants: [] },
    requestId: "request",
    languages: ["en"],
  }
  return {
    store,
    clock,
    secrets,
    cx: (call = {}) => ({ ...base, ...call }),
    reopen: async (views) => {
      await store.close()
      const again = openWorld({ ...modules, views }, folder, hand)
      await again.store.rebuilt()
      return again
    },
    close: async () => {
      await remove()
      folder.remove()
    },
  }
}

/** A user who calls. */
export const callerOf = (userId: string, orgId = "org1"): Caller => ({
  kind: "user",
  userId,
  orgId,
  clientId: "client",
})

/** The same bytes in every run, and never the same twice in one. */
function countingRandom(name: string): Random {
  let count = 0
  const block = () => createHash("sha512").update(`${name} ${count++}`).digest()
  return {
    bytes: (wanted) => {
      const blocks = Array.from({ length: Math.ceil(wanted / 64) }, block)
      return new Uint8Array(Buffer.concat(blocks).subarray(0, wanted))
    },
  }
}
