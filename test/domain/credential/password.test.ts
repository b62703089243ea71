import { describe, expect, it } from "vitest"
import {
  createPasswordHasher,
  type HashEngine,
  hashPassword,
  loadEngine,
  runtimeEngine,
  verifyNothing,
  verifyPassword,
} from "../../../src/domain/credential/password.ts"

it("hashes with Argon2id at the configured cost, with a random salt", async () => {
  const hashed = await hashPassword("correct horse")
  expect(hashed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await verifyPassword(hashed, "correct horse")).toBe(true)
  expect(await verifyPassword(hashed, "correct horsf")).toBe(false)
  expect(await hashPassword("correct horse")).not.toBe(hashed)
})

it("either library verifies hashes of the other", async () => {
  const native = await loadEngine()
  expect(native.name).toBe("@node-rs/argon2")
  expect(await runtimeEngine.verify(await native.hash("secret"), "secret")).toBe(true)
  expect(await native.verify(await runtimeEngine.hash("secret"), "secret")).toBe(true)
  expect(await runtimeEngine.hash("secret")).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
})

it("uses every byte of a long password, and rejects an empty or oversized one", async () => {
  const long = "x".repeat(1023)
  const hashed = await hashPassword(`${long}a`)
  expect(await verifyPassword(hashed, `${long}b`)).toBe(false)
  await expect(hashPassword(`${long}ab`)).rejects.toThrow(/password must be at most 1024 bytes/)
  await expect(hashPassword("")).rejects.toThrow(/password is required/)
  expect(await verifyPassword(hashed, `${long}ab`)).toBe(false)
})

it("accepts every Unicode composition of a password (NIST SP 800-63B §5.1.1.2)", async () => {
  const hashed = await hashPassword("pa\u0308sswo\u0308rd\ufb01")
  expect(await verifyPassword(hashed, "p\u00e4ssw\u00f6rdfi")).toBe(true)
})

it("does the same work for an unknown account", async () => {
  const asked: string[] = []
  const engine: HashEngine = {
    ...runtimeEngine,
    verify: async (hashed) => {
      asked.push(hashed.replace(/[^$]+\$[^$]+$/, ""))
      return true
    },
  }
  const passwords = createPasswordHasher(async () => engine, 1)
  await passwords.verify(await runtimeEngine.hash("secret"), "secret")
  expect(await passwords.verifyNothing("secret")).toBe(false)
  expect(asked[1]).toBe(asked[0])
  // Both libraries accept the dummy hash: it is computed, not rejected.
  expect(await verifyNothing("secret")).toBe(false)
  await expect(createPasswordHasher(async () => runtimeEngine, 1).verifyNothing("x")).resolves.toBe(
    false,
  )
})

it("limits concurrent hashing, keeps the order, and limits the queue", async () => {
  const open: (() => void)[] = []
  const done: string[] = []
  let most = 0
  const engine: HashEngine = {
    name: "held",
    hash: async (plain) => {
      const gate = Promise.withResolvers<void>()
      open.push(gate.resolve)
      most = Math.max(most, open.length - done.length)
      await gate.promise
      done.push(plain)
      return plain
    },
    verify: async () => true,
  }
  const { hash } = createPasswordHasher(async () => engine, 2)
  const all = Array.from({ length: 258 }, (_, index) => hash(`p${index}`))
  await expect(hash("one too many")).rejects.toMatchObject({ code: "resource_exhausted" })
  for (let index = 0; index < 258; index++) {
    while (!open[index]) await Promise.resolve()
    open[index]?.()
  }
  await Promise.all(all)
  expect(done).toEqual(Array.from({ length: 258 }, (_, index) => `p${index}`))
  expect(most).toBe(2)
})

describe("a foreign hash", () => {
  const foreign = "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHRzYWx0$c29tZWhhc2hzb21laGFzaHNvbWVo"

  /** Checks end as soon as possible, those of foreign hashes on demand. */
  function held() {
    const open: (() => void)[] = []
    const begun: string[] = []
    const engine: HashEngine = {
      name: "held",
      hash: async (plain) => plain,
      verify: async (hashed) => {
        begun.push(hashed)
        if (hashed !== foreign) return false
        await new Promise<void>((resolve) => open.push(resolve))
        return true
      },
    }
    return { ...createPasswordHasher(async () => engine, 1), open, begun }
  }

  it("does not delay passwords with a native hash", async () => {
    const { verify, open, begun } = held()
    const check = verify(foreign, "x")
    await expect.poll(() => open.length).toBe(1)
    open[0]?.()
    expect(await check).toBe(true)
    expect(begun).toEqual([foreign])
  })

  it("delays nobody else, however many wait, and their number is limited", async () => {
    const { verify, hash, verifyNothing, open, begun } = held()
    const own = await hashPassword("secret")
    const all = Array.from({ length: 33 }, () => verify(foreign, "x"))
    await expect(verify(foreign, "x")).rejects.toMatchObject({ id: "password.busy" })
    expect(await verify(own, "x")).toBe(false)
    expect(await verifyNothing("x")).toBe(false)
    expect(await hash("x")).toBe("x")
    for (let index = 0; index < 33; index++) {
      await expect.poll(() => open.length).toBe(index + 1)
      expect(begun.filter((hashed) => hashed === foreign)).toHaveLength(index + 1)
      open[index]?.()
    }
    expect(new Set(await Promise.all(all))).toEqual(new Set([true]))
  })

  it("comes before accounts with more failures, and displaces one of them", async () => {
    const { verify, open } = held()
    const tried = () => verify(foreign, "x", { failures: 2 })
    const flood = Array.from({ length: 33 }, () => tried().catch(({ id }) => id))
    await expect.poll(() => open.length).toBe(1)
    await expect(tried()).rejects.toMatchObject({ id: "password.busy" })
    const person = verify(foreign, "x", { failures: 1 })
    for (let index = 0; index < 33; index++) {
      await expect.poll(() => open.length).toBe(index + 1)
      open[index]?.()
      // Next to the one that is being checked.
      if (index === 1) expect(await person).toBe(true)
    }
    expect((await Promise.all(flood)).filter((end) => end !== true)).toEqual(["password.busy"])
  })
})

it.each([
  ["native", loadEngine],
  ["runtime", async () => runtimeEngine],
] as const)(
  "treats a hash that the %s library rejects as wrong, and logs the reason",
  async (_, load) => {
    const passwords = createPasswordHasher(load, 1)
    const causes: unknown[] = []
    for (const salt of ["c2FsdA", "____________"]) {
      for (const cost of ["m=19456,t=2,p=1", "m=4096,t=1,p=1"]) {
        const hash = `$argon2id$v=19$${cost}$${salt}$RdescudvJCsgt3ub+b27Jq0o7k9NPvXEoQX0bUvzVvE`
        const how = { onUnsupported: (cause: unknown) => causes.push(cause) }
        expect(await passwords.verify(hash, "x", how)).toBe(false)
      }
    }
    expect(causes.map(String)).toEqual(Array.from({ length: 4 }, () => expect.stringMatching(/./)))
    expect(await passwords.verify(await passwords.hash("x"), "x")).toBe(true)
  },
)

describe("a queue of checks", () => {
  function counted() {
    const done: string[] = []
    const engine: HashEngine = {
      ...runtimeEngine,
      hash: async (plain) => {
        done.push(plain)
        return plain
      },
    }
    return { ...createPasswordHasher(async () => engine, 1), done }
  }

  it("alternates with the others, however long it is", async () => {
    const { hash, done } = counted()
    const many = ["a1", "a2", "a3", "a4", "a5"].map((plain) => hash(plain, "a"))
    const others = [hash("b1", "b"), hash("c1"), hash("b2", "b")]
    await Promise.all([...many, ...others])
    expect(done).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4", "a5"])
  })

  it("is limited, and leaves places for the others", async () => {
    const { hash, load } = counted()
    const many = Array.from({ length: 257 }, (_, at) => hash(`${at}`, "a"))
    expect(load().own).toEqual({ busy: 1, waiting: 256 })
    await expect(hash("late", "a")).rejects.toMatchObject({ id: "password.busy" })
    expect(await hash("other", "b")).toBe("other")
    await Promise.all(many)
    expect(load().own).toEqual({ busy: 0, waiting: 0 })
  })
})

it("releases its slot if hashing fails", async () => {
  const engine: HashEngine = { ...runtimeEngine, hash: () => Promise.reject(new Error("broken")) }
  const { hash } = createPasswordHasher(async () => engine, 1)
  await expect(hash("a")).rejects.toThrow("broken")
  await expect(hash("b")).rejects.toThrow("broken")
})
