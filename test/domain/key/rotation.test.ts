import { durationFromMs } from "@bufbuild/protobuf/wkt"
import { createLocalJWKSet, jwtVerify } from "jose"
import { afterEach, beforeEach, expect, test } from "vitest"
import { settings as oidcSettings } from "../../../src/domain/app/binding/v1-settings.ts"
import * as instances from "../../../src/domain/instance/index.ts"
import { shares } from "../../../src/domain/key/api.ts"
import { activateWebKey, createWebKey } from "../../../src/domain/key/commands.ts"
import {
  type Algorithm,
  addKeys,
  getSigner,
  listWebKeys,
  module,
  prepareKeys,
  publicKeys,
  rotateKeys,
  verifyJwt,
} from "../../../src/domain/key/index.ts"
import { webKeyView } from "../../../src/domain/key/view.ts"

import type { Cx } from "../../../src/store/index.ts"
import { callOperation } from "../../support/call-operation.ts"
import { openTestEnvironment, type TestEnvironment } from "../../support/test-environment.ts"

const hour = 3_600_000
const day = 24 * hour
const maxAge = 300_000

let world: TestEnvironment
let cx: Cx
beforeEach(async () => {
  world = openTestEnvironment({
    aggregates: [...module.aggregates, instances.instance],
    views: [webKeyView],
  })
  cx = world.cx()
  await provision(cx)
})
afterEach(() => world.close())

async function provision(on: Cx): Promise<void> {
  const pairs = await prepareKeys(on)
  await on.store.transact(on, (tx) => {
    instances.addInstance(tx, { name: "Home", publicUrl: `https://${on.instance}.example.com` })
    addKeys(tx, pairs)
  })
}

const keysOf = (algorithm: Algorithm, on = cx) =>
  listWebKeys(on).filter((row) => row.algorithm === algorithm)
const statuses = (algorithm: Algorithm) => keysOf(algorithm).map(({ status }) => status)

/** Advances the clock by days, and runs the job once a day. */
async function passDays(days: number): Promise<void> {
  for (let each = 0; each < days; each++) {
    world.clock.advance(day)
    await rotateKeys(cx)
  }
}

test("for a year no token fails at a client that caches keys for their max-age", async () => {
  const signers = new Set<string>()
  let alive: { jwt: string; expires: number }[] = []
  for (let passed = 0; passed < 365 * day; passed += 6 * hour) {
    world.clock.advance(6 * hour - maxAge + 1)
    const kept = createLocalJWKSet({ keys: publicKeys(cx).map((key) => ({ ...key })) })
    world.clock.advance(maxAge - 1)
    await rotateKeys(cx)

    const now = cx.clock.now()
    const expires = now + 30 * day
    for (const alg of ["RS256", "ES256"] as const) {
      const exp = expires / 1000
      const jwt = await getSigner(cx, alg).sign({ sub: "anna", exp }, "JWT")
      const { protectedHeader } = await jwtVerify(jwt, kept, { currentDate: new Date(now) })
      signers.add(`${protectedHeader.kid}`)
      if (passed % (5 * day) === 0) alive.push({ jwt, expires })
    }
    alive = alive.filter((each) => each.expires > now)
    for (const { jwt } of alive) {
      await jwtVerify(jwt, kept, { currentDate: new Date(now) })
    }
    const oldest = alive[0]?.jwt ?? ""
    const here = verifyJwt(cx, oldest, { typ: "JWT", algorithms: ["RS256", "ES256"] })
    expect(here).toMatchObject({ sub: "anna" })
  }
  // Each key signs for 90 days: the first keys and four successors.
  expect(signers.size).toBe(10)
  expect(listWebKeys(cx).length).toBeLessThanOrEqual(6)
})

test("a successor is published in advance and takes over, and the old key is removed", async () => {
  const [first] = keysOf("ES256")
  await passDays(82)
  expect(statuses("ES256")).toEqual(["active"])
  await passDays(1)
  expect(statuses("ES256")).toEqual(["active", "initial"])
  const [, next] = keysOf("ES256")
  await passDays(6)
  expect(getSigner(cx, "ES256").kid).toBe(first?.id)
  await passDays(1)
  expect(getSigner(cx, "ES256").kid).toBe(next?.id)
  expect(statuses("ES256")).toEqual(["inactive", "active"])
  await passDays(30)
  expect(keysOf("ES256")).toHaveLength(2)
  await passDays(1)
  expect(keysOf("ES256").map(({ id }) => id)).toEqual([next?.id])
})

test("a successor has the same kind as the previous key", async () => {
  const { id } = await createWebKey(cx, { kind: "rsa", bits: 3072, hash: 384 })
  await activateWebKey(cx, id)
  await passDays(90)
  expect(keysOf("RS384").map(({ kind, status }) => [kind, status])).toEqual([
    [{ kind: "rsa", bits: 3072, hash: 384 }, "inactive"],
    [{ kind: "rsa", bits: 3072, hash: 384 }, "active"],
  ])
})

test("repeated and concurrent runs change nothing", async () => {
  await passDays(83)
  const events = async () => (await world.store.log.read(0, 1000)).length
  const before = await events()
  await rotateKeys(cx)
  await Promise.allSettled([rotateKeys(cx), rotateKeys(world.cx())])
  expect(await events()).toBe(before)
  world.clock.advance(7 * day)
  await Promise.allSettled([rotateKeys(cx), rotateKeys(world.cx()), rotateKeys(world.cx())])
  expect(statuses("ES256")).toEqual(["inactive", "active"])
  expect(statuses("RS256")).toEqual(["inactive", "active"])
})

test("two concurrent runs create one successor", async () => {
  world.clock.advance(83 * day)
  await Promise.allSettled([rotateKeys(cx), rotateKeys(world.cx())])
  expect(statuses("ES256")).toEqual(["active", "initial"])
  expect(statuses("RS256")).toEqual(["active", "initial"])
})

test("a run that stops after any write is completed by the next", async () => {
  for (let allowed = 0; allowed < 4; allowed++) {
    const instance = `cut${allowed}`
    const whole = world.cx({ instance })
    await provision(whole)
    const cut = failAfterWrites(whole, allowed)
    for (let passed = 0; passed < 125; passed++) {
      world.clock.advance(day)
      await rotateKeys(cut).catch(() => rotateKeys(whole))
      for (const algorithm of ["RS256", "ES256"] as const) {
        const rows = keysOf(algorithm, whole).map(({ status }) => status)
        expect(rows.filter((status) => status === "active")).toHaveLength(1)
        expect(rows.length).toBeLessThanOrEqual(2)
      }
    }
    expect(keysOf("ES256", whole).map(({ status }) => status)).toEqual(["active"])
  }
})

/** A call whose process is killed before its n-th write. */
function failAfterWrites(whole: Cx, allowed: number): Cx {
  let left = allowed
  const transact: Cx["store"]["transact"] = (call, decide) => {
    if (left-- <= 0) return Promise.reject(new Error("the process was killed"))
    return whole.store.transact({ ...call, store: whole.store }, decide)
  }
  const store = new Proxy(whole.store, {
    get: (target, name) => {
      if (name === "transact") return transact
      const value = Reflect.get(target, name, target)
      return typeof value === "function" ? value.bind(target) : value
    },
  })
  return { ...whole, store }
}

test("a server that missed a rotation publishes the next key before using it", async () => {
  world.clock.advance(400 * day)
  await rotateKeys(cx)
  expect(statuses("ES256")).toEqual(["active", "initial"])
  await passDays(6)
  expect(statuses("ES256")).toEqual(["active", "initial"])
  await passDays(1)
  expect(statuses("ES256")).toEqual(["inactive", "active"])
})

test("a manually activated key starts a new period, and the pending one waits", async () => {
  await passDays(85)
  const [, waiting] = keysOf("ES256")
  const mine = await createWebKey(cx, { kind: "ecdsa", curve: "P-256" })
  world.clock.advance(hour)
  await activateWebKey(cx, mine.id)
  await passDays(89)
  expect(getSigner(cx, "ES256").kid).toBe(mine.id)
  await passDays(1)
  expect(getSigner(cx, "ES256").kid).toBe(waiting?.id)
})

test("a manually activated pending key gets a successor in time", async () => {
  await passDays(85)
  const waiting = keysOf("ES256")[1]?.id ?? ""
  await activateWebKey(cx, waiting)
  await passDays(83)
  expect(statuses("ES256")).toEqual(["active", "initial"])
  expect(keysOf("ES256")[0]?.id).toBe(waiting)
})

test("a deleted pending key is replaced, with a new waiting period", async () => {
  await passDays(89)
  const [, waiting] = keysOf("ES256")
  await callOperation([shares[0]], "deleteWebKey", cx, { id: waiting?.id })
  await passDays(7)
  expect(statuses("ES256")).toEqual(["active", "initial"])
  await passDays(1)
  expect(statuses("ES256")).toEqual(["inactive", "active"])
})

test("a created but never activated key is neither activated nor removed", async () => {
  const mine = await createWebKey(cx, { kind: "ecdsa", curve: "P-256" })
  await passDays(200)
  expect(keysOf("ES256").find(({ id }) => id === mine.id)).toMatchObject({ status: "initial" })
})

test("rotates nothing if turned off, and follows changed periods", async () => {
  const settings = (keyRotation: object) =>
    callOperation([oidcSettings], "updateOIDCSettings", cx, {
      accessTokenLifetime: durationFromMs(hour),
      idTokenLifetime: durationFromMs(hour),
      refreshTokenIdleExpiration: durationFromMs(hour),
      refreshTokenExpiration: durationFromMs(hour),
      keyRotation,
    })
  await settings({ enabled: false })
  await passDays(200)
  expect(listWebKeys(cx)).toHaveLength(2)
  const [period, publishAhead] = [durationFromMs(10 * day), durationFromMs(2 * day)]
  await settings({ enabled: true, period, publishAhead })
  const before = getSigner(cx, "ES256").kid
  await rotateKeys(cx)
  await passDays(2)
  expect(getSigner(cx, "ES256").kid).not.toBe(before)
  await passDays(8)
  expect(statuses("ES256")).toEqual(["inactive", "active", "initial"])
})

test("the keys of each instance have their own period", async () => {
  const other = world.cx({ instance: "i2" })
  world.clock.advance(50 * day)
  await provision(other)
  world.clock.advance(40 * day)
  await rotateKeys(cx)
  await rotateKeys(other)
  expect(keysOf("ES256")).toHaveLength(2)
  expect(keysOf("ES256", other)).toHaveLength(1)
})
