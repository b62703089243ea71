// When a key was added and last used, as its user and an administrator read it.
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { factorChecks } from "../../../src/domain/factor/check.ts"
import { beginKey, finishKey } from "../../../src/domain/factor/key/key.ts"
import { challengeKey } from "../../../src/domain/factor/key/webauthn-check.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { makeKey } from "../../support/authenticator.ts"
import { type Estate, openEstate, person } from "../../support/estate.ts"

const userId = "ada"
const origin = "https://id.example.com"
const hour = 3_600_000

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
  await createUser(estate.cx(), userId, person("ada", "org1"))
})
afterEach(() => estate.close())

const byUser = (name: string, request: object = {}): Promise<any> =>
  estate.as("nobody", name, request, {
    cx: { caller: { kind: "user", userId, orgId: "org1", clientId: "console" } },
  })
const byManager = (name: string): Promise<any> => estate.as("manager", name, { userId })

/** The same key in every list; `u2f` is named among other factors. */
async function listed(kind: "passkey" | "u2f") {
  const [mine, theirs] =
    kind === "passkey"
      ? [await byUser("listMyPasswordless"), await byManager("listPasskeys")]
      : [await byUser("listMyAuthFactors"), await byManager("listAuthenticationFactors")]
  const keyOf = (each: any) => (kind === "passkey" ? each : each.type.value)
  return [mine, theirs].flatMap(({ result }) => result.map(keyOf))
}

async function register(kind: "passkey" | "u2f") {
  const { tokenId, options } = await beginKey(estate.cx(), userId, { kind })
  const key = makeKey(options, { origin })
  const finished = { kind, tokenId, credential: key.creation, name: "Key" }
  await finishKey(estate.cx(), userId, finished)
  return key
}

test.each(["passkey", "u2f"] as const)("of a %s", async (kind) => {
  const key = await register(kind)
  const creationDate = timestampFromMs(estate.clock.now())
  const fresh = await listed(kind)
  expect(fresh).toMatchObject([{ creationDate }, { creationDate }])
  expect(fresh.map(({ lastUsedDate }) => lastUsedDate)).toEqual([undefined, undefined])
  estate.clock.advance(2 * hour)
  const cx = estate.cx()
  const { options, challenge } = challengeKey(cx, { userId, userVerification: "required" })
  const given = JSON.stringify(key.assertion(options, { origin }))
  await estate.step(await factorChecks.webauthn(cx, { userId, given, challenge }))
  const dates = { creationDate, lastUsedDate: timestampFromMs(estate.clock.now()) }
  expect(await listed(kind)).toMatchObject([dates, dates])
})
