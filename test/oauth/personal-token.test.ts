import { timestampFromMs } from "@bufbuild/protobuf/wkt"
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest"
import { createOrganization } from "../../src/domain/org/commands.ts"
import * as org from "../../src/domain/org/index.ts"
import { removeMachineSecret } from "../../src/domain/service-account/machine-secret.ts"
import { removePersonalToken } from "../../src/domain/service-account/personal-token.ts"
import { removeServiceKey } from "../../src/domain/service-account/service-key.ts"
import { deactivateUser, removeUser } from "../../src/domain/user/index.ts"
import { ask } from "../support/ask.ts"
import * as userApi from "../support/user-modules.ts"
import { addRobot } from "./clients.ts"
import { apiCallerOf, openProvider, type Provider } from "./provider.ts"

const day = 86_400_000
const v2 = userApi.shares.filter(({ service }) => service.typeName.includes(".v2."))

let provider: Provider
let robot: Awaited<ReturnType<typeof addRobot>>
let orgId = ""
let made: { readonly tokenId: string; readonly token: string }
beforeAll(async () => {
  provider = await openProvider()
})
afterAll(() => provider.close())
beforeEach(async () => {
  orgId = provider.cx().ids.next()
  await createOrganization(provider.cx(), orgId, { name: `Org ${orgId}` })
  robot = await addRobot(provider, "bearer", orgId)
  const expirationDate = timestampFromMs(provider.clock.now() + day)
  const request = { userId: robot.userId, expirationDate }
  const cx = provider.cx({ outranks: () => true })
  made = await ask(v2, "addPersonalAccessToken", cx, request)
})

const userinfo = (token: string) =>
  provider.send("/oidc/v1/userinfo", { headers: { authorization: `Bearer ${token}` } })

test("a personal access token says at userinfo who its user is", async () => {
  const response = await userinfo(made.token)
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ sub: robot.userId, name: "Robot" })
})

test("a personal access token calls the management interface as its user", async () => {
  const { userId } = robot
  expect(await apiCallerOf(provider, made.token)).toMatchObject({ kind: "user", userId, orgId })
})

type End = (cx: ReturnType<Provider["cx"]>) => unknown
const ends: Readonly<Record<string, End>> = {
  "it is removed": (cx) => removePersonalToken(cx, robot.userId, made.tokenId),
  "it expires": () => provider.clock.advance(day),
  "its user is deactivated": (cx) => deactivateUser(cx, robot.userId),
  "its user is removed": (cx) => removeUser(cx, robot.userId),
  "the organisation is deactivated": (cx) => org.deactivateOrganization(cx, orgId),
}
test.each(Object.entries(ends))(
  "a personal access token is worth nothing once %s",
  async (_, end) => {
    expect((await userinfo(made.token)).status).toBe(200)
    await end(provider.cx())
    expect((await userinfo(made.token)).status).toBe(401)
    await expect(apiCallerOf(provider, made.token)).rejects.toThrow(/not valid/)
  },
)

test("a personal access token outlives the other credentials of its user", async () => {
  await removeMachineSecret(provider.cx(), robot.userId)
  await removeServiceKey(provider.cx(), robot.userId, robot.keyId)
  expect((await userinfo(made.token)).status).toBe(200)
})

test("a personal access token is good in its one spelling only", async () => {
  const { token } = made
  const flipped = token.replace(/.$/, (last) => (last === "A" ? "B" : "A"))
  for (const text of [token.slice(0, -1), `${token}A`, flipped, token.slice(13)]) {
    expect((await userinfo(text)).status, text).toBe(401)
  }
})
