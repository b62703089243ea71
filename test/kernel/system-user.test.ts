import { beforeAll, expect, test } from "vitest"
import { parseConfig } from "../../src/kernel/config.ts"
import { createSigningPair } from "../../src/kernel/crypto/signing-key.ts"

let key = ""
let secret = ""
beforeAll(async () => {
  const pair = await createSigningPair()
  key = pair.publicKey
  secret = pair.privateKey
})

const fromFile = (system_users: unknown) =>
  parseConfig({ flags: {}, env: {}, file: { system_users }, filePath: "latchkey.toml" }).systemUsers

test("system users are tables in the file, and owners by default", () => {
  const users = fromFile([
    { name: "ops", public_key: key },
    { name: "eyes", public_key: key, roles: ["SYSTEM_OWNER_VIEWER"] },
  ])
  expect(users).toMatchObject([
    { name: "ops", roles: ["SYSTEM_OWNER"] },
    { name: "eyes", roles: ["SYSTEM_OWNER_VIEWER"] },
  ])
})

test("the environment has them as JSON, and there is no flag", () => {
  const env = { LATCHKEY_SYSTEM_USERS: JSON.stringify([{ name: "ops", public_key: key }]) }
  expect(parseConfig({ flags: {}, env, file: {} }).systemUsers).toMatchObject([{ name: "ops" }])
  expect(() => parseConfig({ flags: { "--system-users": "[]" }, env: {}, file: {} })).toThrow(
    "--system-users is not allowed; use LATCHKEY_SYSTEM_USERS",
  )
})

test.each<[string, (key: string, secret: string) => unknown, string]>([
  ["no list", () => ({ name: "ops" }), "must be a list of tables"],
  ["no JSON", () => "ops", "must be a list of tables"],
  ["a key that is private", (_, secret) => [{ name: "ops", public_key: secret }], "private key"],
  ["a key that is none", () => [{ name: "ops", public_key: "x" }], "public key in PEM"],
  [
    "an address for a name",
    (key) => [{ name: "https://x", public_key: key }],
    "an invalid value for name in table 1",
  ],
  ["no name", (key) => [{ public_key: key }], "an invalid value for name in table 1"],
  [
    "a role of an instance",
    (key) => [{ name: "ops", public_key: key, roles: ["IAM_OWNER"] }],
    "an invalid value for roles in table 1",
  ],
  [
    "no role",
    (key) => [{ name: "ops", public_key: key, roles: [] }],
    "an invalid value for roles in table 1",
  ],
  ["an unknown field", (key) => [{ name: "o", public_key: key, rolls: [] }], "must be a list"],
  [
    "one name twice",
    (key) => [
      { name: "ops", public_key: key },
      { name: "ops", public_key: key },
    ],
    "contains ops twice",
  ],
])("rejects %s without repeating the value", (_, input, message) => {
  const read = () => fromFile(input(key, secret))
  expect(read).toThrow(message)
  expect(read).toThrow(/^system_users in latchkey\.toml /)
  expect(read).not.toThrow(secret.slice(40, 80))
})
