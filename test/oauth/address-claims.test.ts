import { afterAll, beforeAll, expect, test } from "vitest"
import { createOrganization } from "../../src/domain/org/commands.ts"
import { createProject } from "../../src/domain/project/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import {
  idTokenClaims,
  introspectionClaims,
  userinfoClaims,
} from "../../src/oauth/token/claims/claims.ts"
import { issuer, type NewClient, openProvider, type Provider } from "./provider.ts"

/**
 * The project foreign belongs to a second organization, which has verified the addresses of a user.
 */
let provider: Provider
let client: NewClient
let foreign: NewClient
beforeAll(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  await createOrganization(cx, "org2", { name: "Globex" })
  await createProject(cx, "shop", { orgId: provider.setup.orgId, name: "shop" })
  await createProject(cx, "foreign", { orgId: "org2", name: "foreign" })
  client = await provider.addClient({}, "shop")
  foreign = await provider.addClient({}, "foreign")
  const boss = { kind: "user", userId: "boss", orgId: "org2", clientId: "console" } as const
  await createUser(provider.cx({ caller: boss }), "prepared", {
    kind: "human",
    orgId: "org2",
    userName: "prepared",
    profile: { givenName: "C", familyName: "Eo" },
    email: { value: "ceo@corp.test", verified: true },
    phone: { value: "+41791234567", verified: true },
  })
})
afterAll(() => provider.close())

const verified = { email_verified: true, phone_number_verified: true }
const unverified = { email_verified: false, phone_number_verified: false }

/** The claims in each place with a client's token for an audience. */
const places = {
  id_token: (clientId: string, ...audience: string[]) =>
    idTokenClaims(provider.cx(), { ...claimsInput(clientId, audience), withUserClaims: true }),
  userinfo: (clientId: string, ...audience: string[]) =>
    userinfoClaims(provider.cx(), claimsInput(clientId, audience)),
} as const
const claimsInput = (clientId: string, audience: readonly string[]) => ({
  userId: "prepared",
  clientId,
  audience: [clientId, ...audience],
  scopes: ["openid", "email", "phone"],
})

test.each(["id_token", "userinfo"] as const)(
  "an address verified by an organization is verified for its own applications: %s",
  (name) => {
    const at = places[name]
    expect(at(foreign.id)).toMatchObject(verified)
    expect(at(client.id)).toMatchObject(unverified)
    // Our own API is in many audiences, and treats no address as verified.
    expect(at(foreign.id, "foreign", provider.ownProjectId, issuer)).toMatchObject(verified)
    // With a token for it, an application of the other organization also reads userinfo.
    expect(at(foreign.id, "foreign", "shop")).toMatchObject(unverified)
    expect(at(foreign.id, client.id)).toMatchObject(unverified)
    expect(at(client.id, "shop", "foreign")).toMatchObject(unverified)
  },
)

test("at introspection an address is verified according to the caller", () => {
  const what = claimsInput(foreign.id, ["foreign", "shop"])
  expect(introspectionClaims(provider.cx(), what, "foreign")).toMatchObject(verified)
  expect(introspectionClaims(provider.cx(), what, "shop")).toMatchObject(unverified)
})
