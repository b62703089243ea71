import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { createOrganization } from "../../src/domain/org/commands.ts"
import * as org from "../../src/domain/org/index.ts"
import { removeMachineSecret } from "../../src/domain/service-account/machine-secret.ts"
import { removePersonalToken } from "../../src/domain/service-account/personal-token.ts"
import { removeServiceKey } from "../../src/domain/service-account/service-key.ts"
import { deactivateUser, removeUser } from "../../src/domain/user/index.ts"
import { callOperation } from "../support/call-operation.ts"
import * as userApi from "../support/user-modules.ts"
import { addServiceAccount } from "./clients.ts"
import { findApiCaller, openProvider, type Provider } from "./provider.ts"

const day = 86_400_000
const v2 = userApi.shares.filter(({ service }) => service.typeName.includes(".v2."))

let provider: Provider
let serviceAccount: Awaited<ReturnType<typeof addServiceAccount>>
let orgId = ""
let personalToken: { readonly tokenId: string; readonly token: string }
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())
beforeEach(async () => {
  orgId = provider.cx().ids.next()
  await createOrganization(provider.cx(), orgId, { name: `Org ${orgId}` })
  serviceAccount = await addServiceAccount(provider, "bearer", orgId)
  const expirationDate = timestampFromMs(provider.clock.now() + day)
  const request = { userId: serviceAccount.userId, expirationDate }
  const cx = provider.cx({ outranks: () => true })
  personalToken = await callOperation(v2, "addPersonalAccessToken", cx, request)
})

const userinfo = (token: string) =>
  provider.send("/oidc/v1/userinfo", { headers: { authorization: `Bearer ${token}` } })

test("userinfo returns the user of a personal access token", async () => {
  const response = await userinfo(personalToken.token)
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ sub: serviceAccount.userId, name: "Robot" })
})

test("a personal access token calls the management API as its user", async () => {
  const { userId } = serviceAccount
  expect(await findApiCaller(provider, personalToken.token)).toMatchObject({
    kind: "user",
    userId,
    orgId,
  })
})

type EndAction = (cx: ReturnType<Provider["cx"]>) => unknown
const ends: Readonly<Record<string, EndAction>> = {
  "it is removed": (cx) => removePersonalToken(cx, serviceAccount.userId, personalToken.tokenId),
  "it expires": () => provider.clock.advance(day),
  "its user is deactivated": (cx) => deactivateUser(cx, serviceAccount.userId),
  "its user is removed": (cx) => removeUser(cx, serviceAccount.userId),
  "the organisation is deactivated": (cx) => org.deactivateOrganization(cx, orgId),
}
test.each(Object.entries(ends))("a personal access token is invalid once %s", async (_, end) => {
  expect((await userinfo(personalToken.token)).status).toBe(200)
  await end(provider.cx())
  expect((await userinfo(personalToken.token)).status).toBe(401)
  await expect(findApiCaller(provider, personalToken.token)).rejects.toThrow(
    /the access token is invalid or has expired/,
  )
})

test("a personal access token outlives the other credentials of its user", async () => {
  await removeMachineSecret(provider.cx(), serviceAccount.userId)
  await removeServiceKey(provider.cx(), serviceAccount.userId, serviceAccount.keyId)
  expect((await userinfo(personalToken.token)).status).toBe(200)
})

test("a personal access token is valid in its exact spelling only", async () => {
  const { token } = personalToken
  const flipped = token.replace(/.$/, (last) => (last === "A" ? "B" : "A"))
  for (const text of [token.slice(0, -1), `${token}A`, flipped, token.slice(13)]) {
    expect((await userinfo(text)).status, text).toBe(401)
  }
})
