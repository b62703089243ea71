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
  listWebKeys,
  module,
  prepareKeys,
  publicKeys,
  rotateKeys,
  signer,
  verifyJwt,
} from "../../../src/domain/key/index.ts"
import { webKeyView } from "../../../src/domain/key/view.ts"

import type { Cx } from "../../../src/store/index.ts"
import { ask } from "../../support/ask.ts"
import { openWorld, type World } from "../../support/world.ts"

const hour = 3_600_000
const day = 24 * hour
const maxAge = 300_000

let world: World
let cx: Cx
beforeEach(async () => {
  world = openWorld({ aggregates: [...module.aggregates, instances.instance], views: [webKeyView] })
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

const of = (algorithm: Algorithm, on = cx) =>
  listWebKeys(on).filter((row) => row.algorithm === algorithm)
const statuses = (algorithm: Algorithm) => of(algorithm).map(({ status }) => status)

/** Lets days pass, the job running once in each. */
async function pass(days: number): Promise<void> {
  for (let each = 0; each < days; each++) {
    world.clock.advance(day)
    await rotateKeys(cx)
  }
}

test("a year long no token fails with a client that keeps our keys for their max-age", async () => {
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
      const jwt = await signer(cx, alg).sign({ sub: "anna", exp }, "JWT")
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
  // Each signs for 90 days: the first keys and four that followed.
  expect(signers.size).toBe(10)
  expect(listWebKeys(cx).length).toBeLessThanOrEqual(6)
})

test("a successor is published ahead, takes over in time, and the old one goes", async () => {
  const [first] = of("ES256")
  await pass(82)
  expect(statuses("ES256")).toEqual(["active"])
  await pass(1)
  expect(statuses("ES256")).toEqual(["active", "initial"])
  const [, next] = of("ES256")
  await pass(6)
  expect(signer(cx, "ES256").kid).toBe(first?.id)
  await pass(1)
  expect(signer(cx, "ES256").kid).toBe(next?.id)
  expect(statuses("ES256")).toEqual(["inactive", "active"])
  await pass(30)
  expect(of("ES256")).toHaveLength(2)
  await pass(1)
  expect(of("ES256").map(({ id }) => id)).toEqual([next?.id])
})

test("a successor is of the same kind as the key before", async () => {
  const { id } = await createWebKey(cx, { kind: "rsa", bits: 3072, hash: 384 })
  await activateWebKey(cx, id)
  await pass(90)
  expect(of("RS384").map(({ kind, status }) => [kind, status])).toEqual([
    [{ kind: "rsa", bits: 3072, hash: 384 }, "inactive"],
    [{ kind: "rsa", bits: 3072, hash: 384 }, "active"],
  ])
})

test("doing it again, and by two at once, changes nothing", async () => {
  await pass(83)
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

test("two that find a successor missing at once make one", async () => {
  world.clock.advance(83 * day)
  await Promise.allSettled([rotateKeys(cx), rotateKeys(world.cx())])
  expect(statuses("ES256")).toEqual(["active", "initial"])
  expect(statuses("RS256")).toEqual(["active", "initial"])
})

test("a run that is cut off after any of its writes is made good by the next", async () => {
  for (let allowed = 0; allowed < 4; allowed++) {
    const instance = `cut${allowed}`
    const whole = world.cx({ instance })
    await provision(whole)
    const cut = cutAfter(whole, allowed)
    for (let passed = 0; passed < 125; passed++) {
      world.clock.advance(day)
      await rotateKeys(cut).catch(() => rotateKeys(whole))
      for (const algorithm of ["RS256", "ES256"] as const) {
        const rows = of(algorithm, whole).map(({ status }) => status)
        expect(rows.filter((status) => status === "active")).toHaveLength(1)
        expect(rows.length).toBeLessThanOrEqual(2)
      }
    }
    expect(of("ES256", whole).map(({ status }) => status)).toEqual(["active"])
  }
})

/** A call whose process dies before it writes for the n-th time. */
function cutAfter(whole: Cx, allowed: number): Cx {
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

test("a server that was off when it was due publishes the next key first", async () => {
  world.clock.advance(400 * day)
  await rotateKeys(cx)
  expect(statuses("ES256")).toEqual(["active", "initial"])
  await pass(6)
  expect(statuses("ES256")).toEqual(["active", "initial"])
  await pass(1)
  expect(statuses("ES256")).toEqual(["inactive", "active"])
})

test("a key activated by hand begins its time anew, and the waiting one waits", async () => {
  await pass(85)
  const [, waiting] = of("ES256")
  const mine = await createWebKey(cx, { kind: "ecdsa", curve: "P-256" })
  world.clock.advance(hour)
  await activateWebKey(cx, mine.id)
  await pass(89)
  expect(signer(cx, "ES256").kid).toBe(mine.id)
  await pass(1)
  expect(signer(cx, "ES256").kid).toBe(waiting?.id)
})

test("a waiting key that somebody activates is followed by another in its time", async () => {
  await pass(85)
  const waiting = of("ES256")[1]?.id ?? ""
  await activateWebKey(cx, waiting)
  await pass(83)
  expect(statuses("ES256")).toEqual(["active", "initial"])
  expect(of("ES256")[0]?.id).toBe(waiting)
})

test("a waiting key that somebody deletes is replaced, and its time begins anew", async () => {
  await pass(89)
  const [, waiting] = of("ES256")
  await ask([shares[0]], "deleteWebKey", cx, { id: waiting?.id })
  await pass(7)
  expect(statuses("ES256")).toEqual(["active", "initial"])
  await pass(1)
  expect(statuses("ES256")).toEqual(["inactive", "active"])
})

test("a key that was made and never activated is neither turned to nor removed", async () => {
  const mine = await createWebKey(cx, { kind: "ecdsa", curve: "P-256" })
  await pass(200)
  expect(of("ES256").find(({ id }) => id === mine.id)).toMatchObject({ status: "initial" })
})

test("turned off, nothing happens; with other times, those hold", async () => {
  const settings = (keyRotation: object) =>
    ask([oidcSettings], "updateOIDCSettings", cx, {
      accessTokenLifetime: durationFromMs(hour),
      idTokenLifetime: durationFromMs(hour),
      refreshTokenIdleExpiration: durationFromMs(hour),
      refreshTokenExpiration: durationFromMs(hour),
      keyRotation,
    })
  await settings({ enabled: false })
  await pass(200)
  expect(listWebKeys(cx)).toHaveLength(2)
  const [period, publishAhead] = [durationFromMs(10 * day), durationFromMs(2 * day)]
  await settings({ enabled: true, period, publishAhead })
  const before = signer(cx, "ES256").kid
  await rotateKeys(cx)
  await pass(2)
  expect(signer(cx, "ES256").kid).not.toBe(before)
  await pass(8)
  expect(statuses("ES256")).toEqual(["inactive", "active", "initial"])
})

test("each instance's keys have their own time", async () => {
  const other = world.cx({ instance: "i2" })
  world.clock.advance(50 * day)
  await provision(other)
  world.clock.advance(40 * day)
  await rotateKeys(cx)
  await rotateKeys(other)
  expect(of("ES256")).toHaveLength(2)
  expect(of("ES256", other)).toHaveLength(1)
})
