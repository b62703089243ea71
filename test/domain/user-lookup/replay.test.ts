import { expect, test } from "vitest"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { orgView } from "../../../src/domain/org/view.ts"
import { generateMachineSecret } from "../../../src/domain/service-account/machine-secret.ts"
import {
  createPersonalToken,
  removePersonalToken,
} from "../../../src/domain/service-account/personal-token.ts"
import { addServiceKey } from "../../../src/domain/service-account/service-key.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { lockUser, removeUser, updateUser } from "../../../src/domain/user/index.ts"
import { userView } from "../../../src/domain/user-lookup/view.ts"
import { neverExpires } from "../../../src/kernel/crypto/signing-key.ts"
import { statement } from "../../../src/store/index.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import { createAnna, createRobot, human, openUserWorld } from "../user/household.ts"

const users = statement("SELECT * FROM users WHERE instance = $instance ORDER BY id")
const keys = statement("SELECT * FROM user_keys WHERE instance = $instance ORDER BY key_id")
const tokens = statement("SELECT * FROM user_tokens WHERE instance = $instance ORDER BY id")
const rows = ({ store, cx }: TestEnvironment) =>
  [users, keys, tokens].map((query) => store.all(cx(), query))

test("replaying the log produces the existing rows, even after erasures", async () => {
  const world = await openUserWorld()
  const cx = world.cx()
  const code = { plain: "", sealed: "s", expires: 9, returned: false, urlTemplate: "" }
  await createAnna(cx, { email: { value: "a@example.com", verified: false, code } })
  await createUser(cx, "u2", human({ userName: "gone" }))
  await createRobot(cx)
  await createRobot(cx, { userName: "scrap" }, "m2")
  for (const id of ["m1", "m2"]) {
    const key = { keyId: `k-${id}`, publicKey: "pem", expires: cx.clock.now() + 9 }
    await addServiceKey(cx, id, key)
    await generateMachineSecret(cx, id)
    const made = await createPersonalToken(cx, id, neverExpires)
    await createPersonalToken(cx, id, neverExpires)
    await removePersonalToken(cx, id, made.id)
  }
  for (const hash of ["h1", "h2"]) await setPassword(cx, "u1", { hash, changeRequired: true })
  await updateUser(cx, "u1", {
    userName: "anne",
    human: {
      profile: { nickName: "A", gender: "female" },
      email: { value: "b@example.com", verified: true },
      phone: { value: "+41791234567", verified: true },
    },
  })
  await updateUser(cx, "m1", { machine: { accessTokenType: "jwt" } })
  await lockUser(cx, "u1")
  await removeUser(cx, "u2")
  await removeUser(cx, "m2")

  const live = rows(world)
  expect(live).toMatchObject([
    [
      { id: "m1", has_secret: 1 },
      { id: "u1", user_name: "anne", has_secret: 0 },
    ],
    [{ user_id: "m1" }],
    [{ user_id: "m1" }],
  ])
  const again = await world.reopen([orgView, { ...userView, hash: "changed" }])
  expect(rows(again)).toEqual(live)
  await again.close()
})
