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
import { createIds } from "../../src/kernel/id.ts"
import type { AnyAggregate, Cx, Store, View } from "../../src/store/index.ts"
import { openEnvironmentStore } from "./environment-log.ts"
import { temporaryFolder } from "./latchkey.ts"
import { unreachableOutside } from "./outside.ts"

export type TestEnvironment = {
  readonly store: Store
  readonly clock: ManualClock
  readonly secrets: Secrets
  /**
   * A call context; by default by the system, on instance "i1" and with the whole instance in
   * scope.
   */
  readonly cx: (call?: Partial<Call>) => Cx
  /** Closes, and opens the same directory with these views: changed ones are rebuilt. */
  readonly reopen: (views: readonly View[]) => Promise<TestEnvironment>
  readonly close: () => Promise<void>
}

type EnvironmentModules = {
  readonly aggregates: readonly AnyAggregate[]
  readonly views: readonly View[]
  readonly textIndexFrom?: number
}

/**
 * A new store in a temporary directory, with a manual clock. IDs and random bytes differ by `hand`,
 * so that a reopened environment repeats none.
 */
export function openTestEnvironment(
  modules: EnvironmentModules,
  folder = temporaryFolder(),
  hand = 0,
): TestEnvironment {
  const clock = manualClock(Date.UTC(2026, 0, 2))
  const random = createCountingRandom("keys")
  const rows = purposes.map((purpose) => {
    const master = new Uint8Array(keyLength)
    return { ...createDataKey(random, master, purpose), active: true }
  })
  const secrets = secretsOf(random, new Uint8Array(keyLength), rows)
  const unexpected = (cause: unknown) => {
    throw cause
  }
  const { store, remove } = openEnvironmentStore(
    folder,
    { ...modules, fatal: unexpected, notReady: (_, cause) => unexpected(cause) },
    clock,
  )
  const base = {
    store,
    clock,
    random: createCountingRandom(`seed ${hand}`),
    secrets,
    ids: createIds(clock, hand),
    outside: unreachableOutside,
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
      const again = openTestEnvironment({ ...modules, views }, folder, hand)
      await again.store.rebuilt()
      return again
    },
    close: async () => {
      await remove()
      folder.remove()
    },
  }
}

/** A user as caller. */
export const callerOf = (userId: string, orgId = "org1"): Caller => ({
  kind: "user",
  userId,
  orgId,
  clientId: "client",
})

/** The same bytes in every run, and never repeated within one. */
function createCountingRandom(name: string): Random {
  let count = 0
  const block = () => createHash("sha512").update(`${name} ${count++}`).digest()
  return {
    bytes: (options) => {
      const blocks = Array.from({ length: Math.ceil(options / 64) }, block)
      return new Uint8Array(Buffer.concat(blocks).subarray(0, options))
    },
  }
}
