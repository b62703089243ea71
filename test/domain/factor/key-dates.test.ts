// The registration and last use of a key, as its user and an administrator read them.
import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, expect, test } from "vitest"
import { factorChecks } from "../../../src/domain/factor/check.ts"
import { beginKey, finishKey } from "../../../src/domain/factor/key/key.ts"
import { challengeKey } from "../../../src/domain/factor/key/webauthn-check.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { createKey } from "../../support/authenticator.ts"
import { humanInput, openTenant, type Tenant } from "../../support/tenant.ts"

const userId = "ada"
const origin = "https://id.example.com"
const hour = 3_600_000

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  await createUser(estate.cx(), userId, humanInput("ada", "org1"))
})
afterEach(() => estate.close())

const byUser = (name: string, request: object = {}): Promise<any> =>
  estate.as("nobody", name, request, {
    cx: { caller: { kind: "user", userId, orgId: "org1", clientId: "console" } },
  })
const byManager = (name: string): Promise<any> => estate.as("manager", name, { userId })

/** The same key in every list; `u2f` is listed among other factors. */
async function listKeys(kind: "passkey" | "u2f") {
  const [mine, theirs] =
    kind === "passkey"
      ? [await byUser("listMyPasswordless"), await byManager("listPasskeys")]
      : [await byUser("listMyAuthFactors"), await byManager("listAuthenticationFactors")]
  const keyOf = (each: any) => (kind === "passkey" ? each : each.type.value)
  return [mine, theirs].flatMap(({ result }) => result.map(keyOf))
}

async function register(kind: "passkey" | "u2f") {
  const { tokenId, options } = await beginKey(estate.cx(), userId, { kind })
  const key = createKey(options, { origin })
  const finished = { kind, tokenId, credential: key.creation, name: "Key" }
  await finishKey(estate.cx(), userId, finished)
  return key
}

test.each(["passkey", "u2f"] as const)("dates of a %s", async (kind) => {
  const key = await register(kind)
  const creationDate = timestampFromMs(estate.clock.now())
  const fresh = await listKeys(kind)
  expect(fresh).toMatchObject([{ creationDate }, { creationDate }])
  expect(fresh.map(({ lastUsedDate }) => lastUsedDate)).toEqual([undefined, undefined])
  estate.clock.advance(2 * hour)
  const cx = estate.cx()
  const { options, challenge } = challengeKey(cx, { userId, userVerification: "required" })
  const given = JSON.stringify(key.assertion(options, { origin }))
  await estate.step(await factorChecks.webauthn(cx, { userId, given, challenge }))
  const dates = { creationDate, lastUsedDate: timestampFromMs(estate.clock.now()) }
  expect(await listKeys(kind)).toMatchObject([dates, dates])
})
