// New passwords must be neither common nor recently used by the user.
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import {
  checkPassword,
  createPassword,
  preparePasswordChange,
  setPassword,
} from "../../../src/domain/credential/commands.ts"
import { isCommonPassword } from "../../../src/domain/credential/guessable-password.ts"
import { importPassword } from "../../../src/domain/credential/new-password.ts"
import { changePolicy } from "../../../src/domain/policy/commands.ts"
import { passwordComplexity } from "../../../src/domain/policy/index.ts"
import { removeUser } from "../../../src/domain/user/index.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import { createAnna, openUserWorld } from "../user/household.ts"

test.each([
  "123456",
  "Password",
  "P@ssw0rd",
  "Password1!",
  "Welcome1!",
  "QWERTY-99",
  "Dragon2026!",
  "ｐａｓｓｗｏｒｄ",
  "letmein_1",
])("%s is common", async (plain) => expect(await isCommonPassword(plain)).toBe(true))

test.each([
  "Correct-Horse-7",
  "dragon8391742",
  "Tr0ub4dor&3",
  "abc-73910",
  "Grüße an alle",
  "!!!!!!!!1",
])("%s is not common", async (plain) => expect(await isCommonPassword(plain)).toBe(false))

test("a common password is rejected whatever else it contains", async () => {
  const made = createPassword("Password1!", { names: [] })
  await expect(made).rejects.toMatchObject({ id: "user.password_common" })
})

describe("a previous password", () => {
  let world: TestEnvironment
  beforeEach(async () => {
    world = await openUserWorld()
    await createAnna(world.cx(), {
      password: await createPassword("Horse-number-0", { names: [] }),
    })
  })
  afterEach(() => world.close())

  const say = (reuseCount: number) =>
    changePolicy(world.cx(), undefined, {
      policy: passwordComplexity,
      apply: () => ({ reuseCount }),
    })
  const choose = async (count: number) => {
    const wanted = { plain: `Horse-number-${count}`, changeRequired: false }
    const holds = () => true
    await setPassword(
      world.cx(),
      "u1",
      await preparePasswordChange(world.cx({ holds }), "u1", { password: wanted }),
    )
  }
  const reused = { id: "user.password_reused" }
  const kept = () => {
    const state = world.store.state(world.cx(), user, "u1")
    return "kind" in state && state.kind === "human" ? (state.password?.earlier ?? []) : []
  }

  test("can be reused without a policy, and no history is stored", async () => {
    await choose(1)
    await choose(0)
    expect(kept()).toEqual([])
  })

  test("can't be reused within the policy's number, even after rehashing", async () => {
    await say(3)
    await expect(choose(0)).rejects.toMatchObject(reused)
    for (const count of [1, 2]) await choose(count)
    expect(kept()).toHaveLength(2)
    for (const count of [0, 1, 2]) await expect(choose(count)).rejects.toMatchObject(reused)
    await choose(3)
    await choose(0)
    await expect(choose(3)).rejects.toMatchObject(reused)
    await say(1)
    await choose(4)
    expect(kept()).toEqual([])
    await expect(choose(4)).rejects.toMatchObject(reused)
  })

  test("is recognized from an imported hash, even after that was replaced", async () => {
    await say(5)
    await choose(1)
    const bcrypt = await Bun.password.hash("Imported-horse-9", { algorithm: "bcrypt", cost: 4 })
    await setPassword(world.cx(), "u1", { ...importPassword(bcrypt, false), historyCount: 4 })
    expect(await checkPassword(world.cx(), "u1", "Imported-horse-9")).toBe("ok")
    expect(kept()).toHaveLength(2)
    for (const count of [0, 1]) await expect(choose(count)).rejects.toMatchObject(reused)
  })

  test("is removed with the user", async () => {
    await say(5)
    await choose(1)
    const [hash = ""] = kept()
    const inLog = async () =>
      JSON.stringify((await world.store.log.read(0, 1000)).map(({ private: secret }) => secret))
    expect(await inLog()).toContain(hash)
    await removeUser(world.cx(), "u1")
    expect(await inLog()).not.toContain(hash)
  })
})
