import { describe, expect, it } from "vitest"
import {
  type Engine,
  hashPassword,
  loadEngine,
  passwordsOf,
  runtimeEngine,
  verifyNothing,
  verifyPassword,
} from "../../../src/domain/credential/password.ts"

it("hashes with argon2id at the written cost, with a salt of its own each time", async () => {
  const hashed = await hashPassword("correct horse")
  expect(hashed).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(await verifyPassword(hashed, "correct horse")).toBe(true)
  expect(await verifyPassword(hashed, "correct horsf")).toBe(false)
  expect(await hashPassword("correct horse")).not.toBe(hashed)
})

it("reads with either library what the other one hashed", async () => {
  const native = await loadEngine()
  expect(native.name).toBe("@node-rs/argon2")
  expect(await runtimeEngine.verify(await native.hash("secret"), "secret")).toBe(true)
  expect(await native.verify(await runtimeEngine.hash("secret"), "secret")).toBe(true)
  expect(await runtimeEngine.hash("secret")).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
})

it("counts every byte of a long password, and refuses an empty or an endless one", async () => {
  const long = "x".repeat(1023)
  const hashed = await hashPassword(`${long}a`)
  expect(await verifyPassword(hashed, `${long}b`)).toBe(false)
  await expect(hashPassword(`${long}ab`)).rejects.toThrow(/longer than 1024 bytes/)
  await expect(hashPassword("")).rejects.toThrow(/empty/)
  expect(await verifyPassword(hashed, `${long}ab`)).toBe(false)
})

it("accepts a password however the keyboard composes it (NIST SP 800-63B §5.1.1.2)", async () => {
  const hashed = await hashPassword("pa\u0308sswo\u0308rd\ufb01")
  expect(await verifyPassword(hashed, "p\u00e4ssw\u00f6rdfi")).toBe(true)
})

it("does the same work for an account that does not exist", async () => {
  const asked: string[] = []
  const engine: Engine = {
    ...runtimeEngine,
    verify: async (hashed) => {
      asked.push(hashed.replace(/[^$]+\$[^$]+$/, ""))
      return true
    },
  }
  const passwords = passwordsOf(async () => engine, 1)
  await passwords.verify(await runtimeEngine.hash("secret"), "secret")
  expect(await passwords.verifyNothing("secret")).toBe(false)
  expect(asked[1]).toBe(asked[0])
  // Both libraries accept the stand-in as a hash: it is computed, not refused.
  expect(await verifyNothing("secret")).toBe(false)
  await expect(passwordsOf(async () => runtimeEngine, 1).verifyNothing("x")).resolves.toBe(false)
})

it("hashes no more at once than it has lanes, in order, and bounds who waits", async () => {
  const open: (() => void)[] = []
  const done: string[] = []
  let most = 0
  const engine: Engine = {
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
  const { hash } = passwordsOf(async () => engine, 2)
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

  /** Checks end as soon as they may, those of foreign hashes when they are told to. */
  function held() {
    const open: (() => void)[] = []
    const begun: string[] = []
    const engine: Engine = {
      name: "held",
      hash: async (plain) => plain,
      verify: async (hashed) => {
        begun.push(hashed)
        if (hashed !== foreign) return false
        await new Promise<void>((resolve) => open.push(resolve))
        return true
      },
    }
    return { ...passwordsOf(async () => engine, 1), open, begun }
  }

  it("takes no turn of those who have one of ours", async () => {
    const { verify, open, begun } = held()
    const check = verify(foreign, "x")
    await expect.poll(() => open.length).toBe(1)
    open[0]?.()
    expect(await check).toBe(true)
    expect(begun).toEqual([foreign])
  })

  it("holds up nobody else, however many wait for one, and how many may is bounded", async () => {
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

  it("goes before those of accounts that failed more, and takes the place of one", async () => {
    const { verify, open } = held()
    const tried = () => verify(foreign, "x", { failures: 2 })
    const flood = Array.from({ length: 33 }, () => tried().catch(({ id }) => id))
    await expect.poll(() => open.length).toBe(1)
    await expect(tried()).rejects.toMatchObject({ id: "password.busy" })
    const person = verify(foreign, "x", { failures: 1 })
    for (let index = 0; index < 33; index++) {
      await expect.poll(() => open.length).toBe(index + 1)
      open[index]?.()
      // Next to the one that was being looked at.
      if (index === 1) expect(await person).toBe(true)
    }
    expect((await Promise.all(flood)).filter((end) => end !== true)).toEqual(["password.busy"])
  })
})

it.each([
  ["native", loadEngine],
  ["runtime", async () => runtimeEngine],
] as const)(
  "takes a hash that the %s library refuses for nobody's, and says why",
  async (_, load) => {
    const passwords = passwordsOf(load, 1)
    const causes: unknown[] = []
    for (const salt of ["c2FsdA", "____________"]) {
      for (const cost of ["m=19456,t=2,p=1", "m=4096,t=1,p=1"]) {
        const hash = `$argon2id$v=19$${cost}$${salt}$RdescudvJCsgt3ub+b27Jq0o7k9NPvXEoQX0bUvzVvE`
        const how = { refused: (cause: unknown) => causes.push(cause) }
        expect(await passwords.verify(hash, "x", how)).toBe(false)
      }
    }
    expect(causes.map(String)).toEqual(Array.from({ length: 4 }, () => expect.stringMatching(/./)))
    expect(await passwords.verify(await passwords.hash("x"), "x")).toBe(true)
  },
)

describe("a line of those who wait", () => {
  function counted() {
    const done: string[] = []
    const engine: Engine = {
      ...runtimeEngine,
      hash: async (plain) => {
        done.push(plain)
        return plain
      },
    }
    return { ...passwordsOf(async () => engine, 1), done }
  }

  it("takes turns with the others, however long it is", async () => {
    const { hash, done } = counted()
    const many = ["a1", "a2", "a3", "a4", "a5"].map((plain) => hash(plain, "a"))
    const others = [hash("b1", "b"), hash("c1"), hash("b2", "b")]
    await Promise.all([...many, ...others])
    expect(done).toEqual(["a1", "a2", "b1", "c1", "a3", "b2", "a4", "a5"])
  })

  it("is bounded, and leaves the others their places", async () => {
    const { hash, load } = counted()
    const many = Array.from({ length: 257 }, (_, at) => hash(`${at}`, "a"))
    expect(load().own).toEqual({ busy: 1, waiting: 256 })
    await expect(hash("late", "a")).rejects.toMatchObject({ id: "password.busy" })
    expect(await hash("other", "b")).toBe("other")
    await Promise.all(many)
    expect(load().own).toEqual({ busy: 0, waiting: 0 })
  })
})

it("frees its lane when hashing fails", async () => {
  const engine: Engine = { ...runtimeEngine, hash: () => Promise.reject(new Error("broken")) }
  const { hash } = passwordsOf(async () => engine, 1)
  await expect(hash("a")).rejects.toThrow("broken")
  await expect(hash("b")).rejects.toThrow("broken")
})
