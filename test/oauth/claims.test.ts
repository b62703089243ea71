import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { type OidcConfig, updateApplication } from "../../src/domain/app/index.ts"
import {
  addAuthorization,
  deactivateAuthorization,
  updateAuthorization,
} from "../../src/domain/authorization/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import {
  addDomain,
  deactivateOrganization,
  org,
  setPrimaryDomain,
} from "../../src/domain/org/index.ts"
import {
  addRoles,
  createProject,
  deactivateProject,
  type ProjectInput,
  removeRole,
  updateProject,
} from "../../src/domain/project/index.ts"
import { setMetadata } from "../../src/domain/user/index.ts"
import {
  accessTokenClaims,
  type ClaimsContext,
  idTokenClaims,
  introspectionClaims,
  supportedClaims,
  userinfoClaims,
} from "../../src/oauth/token/claims/claims.ts"
import { orgRestriction } from "../../src/oauth/token/scope.ts"
import { addServiceAccount, encodeBasic } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

/**
 * Two organizations. The first has the projects shop (with the client) and stock, the second has
 * foreign; pat, of the first, has roles on all three.
 */
let provider: Provider
let client: NewClient
let pat: string
let home: string
beforeAll(async () => {
  provider = await openProvider()
  const cx = provider.cx()
  home = provider.setup.orgId
  await createOrganization(cx, "org2", { name: "Globex" })
  pat = await provider.addPerson("pat")
  for (const [id, orgId] of [
    ["shop", home],
    ["stock", home],
    ["foreign", "org2"],
  ] as const) {
    await createProject(cx, id, { orgId, name: id })
    const roles = ["admin", "editor"].map((key) => ({ key, displayName: key }))
    await addRoles(cx, id, roles)
    const roleKeys = id === "shop" ? ["editor", "admin"] : ["editor"]
    const given = { userId: pat, projectId: id, orgId, roleKeys }
    await provider.store.transact(cx, (tx) => addAuthorization(tx, `u-${id}`, given))
  }
  client = await provider.addClient({ genericRolesClaim: true }, "shop")
})
afterAll(() => provider.close())

const settings = { projectRoleAssertion: false, groupsClaim: "off" } as const
const assertions = { idTokenRoleAssertion: false, accessTokenRoleAssertion: false } as const
afterEach(async () => {
  await updateProject(provider.cx(), "shop", settings)
  await updateApplication(provider.cx(), client.appId, { oidc: assertions })
})

const domainOf = (orgId: string) => provider.store.state(provider.cx(), org, orgId).primaryDomain

const input = (scopes: readonly string[], more: Partial<ClaimsContext> = {}): ClaimsContext => ({
  userId: pat,
  clientId: client.id,
  audience: [client.id, "shop", "stock", "foreign"],
  scopes,
  ...more,
})

const sources = {
  id_token: (context: ClaimsContext) => idTokenClaims(provider.cx(), context),
  "access token": (context: ClaimsContext) => accessTokenClaims(provider.cx(), context),
  userinfo: (context: ClaimsContext) => userinfoClaims(provider.cx(), context),
  introspection: (context: ClaimsContext) => introspectionClaims(provider.cx(), context, "shop"),
} as const
type Source = keyof typeof sources
const everywhere: readonly Source[] = ["id_token", "access token", "userinfo", "introspection"]

const own = "urn:core:iam:org:project:roles"
const rolesOf = (project: string) => `urn:core:iam:org:project:${project}:roles`
const roleScope = (key: string) => `urn:core:iam:org:project:role:${key}`

/** All role claims, without the domains, which another test covers. */
function rolesIn(claims: Readonly<Record<string, unknown>>) {
  const named = Object.entries(claims).filter(([name]) => name.endsWith(":roles"))
  return Object.fromEntries(named.map(([name, roles]) => [name, Object.keys(Object(roles))]))
}

describe("roles", () => {
  const shop = { [own]: ["editor", "admin"], [rolesOf("shop")]: ["editor", "admin"] }
  const shopAndStock = { ...shop, [rolesOf("stock")]: ["editor"] }
  const cases: readonly (readonly [string, readonly string[], object])[] = [
    ["no scope", ["openid", "profile", "email"], {}],
    ["the scope of one's project", [own], shop],
    ["the scope of all projects", ["urn:core:iam:org:projects:roles"], shopAndStock],
    [
      "one role",
      [roleScope("editor")],
      { [own]: ["editor"], [rolesOf("shop")]: ["editor"], [rolesOf("stock")]: ["editor"] },
    ],
    [
      "a role that only one project gives",
      [roleScope("admin")],
      { [own]: ["admin"], [rolesOf("shop")]: ["admin"] },
    ],
    ["two roles", [roleScope("admin"), roleScope("editor")], shopAndStock],
    ["a role that is nobody's", [roleScope("root")], {}],
    [
      "one role and all",
      [roleScope("admin"), own, "urn:core:iam:org:projects:roles"],
      shopAndStock,
    ],
  ]
  for (const place of everywhere) {
    test.each(cases)(`in the ${place}: %s`, (_, scopes, expected) => {
      expect(rolesIn(sources[place](input(scopes)))).toEqual(expected)
    })
  }

  test("contain the granting organization, by ID and primary domain", () => {
    const claims = userinfoClaims(provider.cx(), input([own]))
    expect(claims[own]).toEqual({
      admin: { [home]: domainOf(home) },
      editor: { [home]: domainOf(home) },
    })
  })

  test("are limited to the organizations that the scopes name", () => {
    const only = (...ids: readonly string[]) =>
      rolesIn(
        userinfoClaims(
          provider.cx(),
          input([own, ...ids.map((id) => `urn:core:iam:org:roles:id:${id}`)]),
        ),
      )
    expect(only("org2")).toEqual({})
    expect(only("absent")).toEqual({})
    expect(only("org2", home)).toEqual(shop)
  })

  const settingsOf: readonly (readonly [
    string,
    Partial<OidcConfig>,
    Partial<ProjectInput>,
    readonly Source[],
  ])[] = [
    ["id_token_role_assertion", { idTokenRoleAssertion: true }, {}, ["id_token"]],
    ["access_token_role_assertion", { accessTokenRoleAssertion: true }, {}, ["access token"]],
    ["project_role_assertion", {}, { projectRoleAssertion: true }, ["userinfo", "introspection"]],
  ]
  test.each(settingsOf)("are included without a scope by %s", async (_, oidc, change, where) => {
    await updateApplication(provider.cx(), client.appId, { oidc })
    await updateProject(provider.cx(), "shop", change)
    for (const place of everywhere) {
      const expected = where.includes(place) ? shopAndStock : {}
      expect([place, rolesIn(sources[place](input(["openid"])))]).toEqual([place, expected])
    }
  })

  test("on another organization's project are returned to the user only", async () => {
    const all = ["urn:core:iam:org:projects:roles"]
    for (const place of everywhere) {
      expect(rolesIn(sources[place](input(all)))).not.toHaveProperty([rolesOf("foreign")])
    }
    const selfTold = input(all, { clientId: pat, audience: ["foreign"] })
    expect(rolesIn(accessTokenClaims(provider.cx(), selfTold))).toEqual({
      [rolesOf("foreign")]: ["editor"],
    })
    // The client ID of a service account is its name.
    const robot = await addServiceAccount(provider)
    const given = { userId: robot.userId, projectId: "foreign", orgId: "org2", roleKeys: ["admin"] }
    await provider.store.transact(provider.cx(), (tx) => addAuthorization(tx, "u-robot", given))
    const named = input(all, { userId: robot.userId, clientId: robot.id, audience: ["foreign"] })
    expect(rolesIn(accessTokenClaims(provider.cx(), named))).toEqual({
      [rolesOf("foreign")]: ["admin"],
    })
    expect(rolesIn(introspectionClaims(provider.cx(), input(all), "foreign"))).toEqual({
      [own]: ["editor"],
      [rolesOf("foreign")]: ["editor"],
    })
  })

  test("on projects outside the audience are omitted", () => {
    const claims = userinfoClaims(
      provider.cx(),
      input(["urn:core:iam:org:projects:roles"], { audience: [client.id] }),
    )
    expect(rolesIn(claims)).toEqual(shop)
  })

  test("belong to the same instance", async () => {
    const other = provider.cx({ instance: "i2" })
    expect(userinfoClaims(other, input([own, "urn:core:iam:org:projects:roles"]))).toEqual({
      sub: pat,
    })
  })

  describe("change", () => {
    let id: string
    let somebody: string
    beforeEach(async () => {
      somebody = await provider.addPerson(`somebody-${provider.cx().ids.next()}`)
      id = provider.cx().ids.next()
      const given = { userId: somebody, projectId: "shop", orgId: home, roleKeys: ["editor"] }
      await provider.store.transact(provider.cx(), (tx) => addAuthorization(tx, id, given))
    })
    const told1 = () => rolesIn(userinfoClaims(provider.cx(), input([own], { userId: somebody })))

    test("immediately with the authorization", async () => {
      expect(told1()).toEqual({ [own]: ["editor"], [rolesOf("shop")]: ["editor"] })
      await deactivateAuthorization(provider.cx(), id)
      expect(told1()).toEqual({})
    })

    test("immediately with the project's roles, permanently", async () => {
      const guest = [{ key: "guest", displayName: "Guest" }]
      await addRoles(provider.cx(), "shop", guest)
      await updateAuthorization(provider.cx(), id, ["guest"])
      expect(told1()).toEqual({ [own]: ["guest"], [rolesOf("shop")]: ["guest"] })
      await removeRole(provider.cx(), "shop", "guest")
      expect(told1()).toEqual({})
      await addRoles(provider.cx(), "shop", guest)
      expect(told1()).toEqual({})
      await removeRole(provider.cx(), "shop", "guest")
    })
  })

  test("of a deactivated project are omitted", async () => {
    await createProject(provider.cx(), "stopped", { orgId: home, name: "Stopped" })
    await addRoles(provider.cx(), "stopped", [{ key: "admin", displayName: "Admin" }])
    const given = { userId: pat, projectId: "stopped", orgId: home, roleKeys: ["admin"] }
    await provider.store.transact(provider.cx(), (tx) => addAuthorization(tx, "u-stopped", given))
    const all = input(["urn:core:iam:org:projects:roles"], { audience: ["stopped"] })
    const seen = () => rolesIn(userinfoClaims(provider.cx(), all))
    expect(seen()).toHaveProperty([rolesOf("stopped")])
    await deactivateProject(provider.cx(), "stopped")
    expect(seen()).not.toHaveProperty([rolesOf("stopped")])
  })

  test("can have the names of built-in object members", async () => {
    await createProject(provider.cx(), "odd", { orgId: home, name: "Odd", groupsClaim: "groups" })
    const keys = ["__proto__", "constructor", "7"]
    await addRoles(
      provider.cx(),
      "odd",
      keys.map((key) => ({ key, displayName: key })),
    )
    const given = { userId: pat, projectId: "odd", orgId: home, roleKeys: keys }
    await provider.store.transact(provider.cx(), (tx) => addAuthorization(tx, "u-odd", given))
    const claims = introspectionClaims(provider.cx(), input([own], { audience: ["odd"] }), "odd")
    const said = JSON.parse(JSON.stringify(claims))
    expect(Object.keys(said[own]).toSorted()).toEqual(keys.toSorted())
    expect(said.groups).toEqual(keys)
  })
})

describe("the flat list of roles", () => {
  test.each(["groups", "roles"] as const)("is named %s everywhere", async (groupsClaim) => {
    await updateProject(provider.cx(), "shop", { groupsClaim })
    for (const place of everywhere) {
      const { groups, roles } = sources[place](input(["openid"]))
      const list = ["editor", "admin"]
      expect([groups, roles]).toEqual(
        groupsClaim === "groups" ? [list, undefined] : [undefined, list],
      )
    }
  })

  test("is empty for users without roles, and absent if it is off", async () => {
    const stranger = { userId: provider.setup.ownerId }
    expect(userinfoClaims(provider.cx(), input(["openid"]))).not.toHaveProperty("groups")
    await updateProject(provider.cx(), "shop", { groupsClaim: "groups" })
    expect(userinfoClaims(provider.cx(), input(["openid"], stranger)).groups).toEqual([])
  })

  test("is not in tokens of another project's clients", async () => {
    await updateProject(provider.cx(), "shop", { groupsClaim: "groups" })
    const other = await provider.addClient({}, "stock")
    const claims = userinfoClaims(provider.cx(), input(["openid"], { clientId: other.id }))
    expect(claims).not.toHaveProperty("groups")
  })
})

describe("the user's organization", () => {
  const owner = "urn:core:iam:user:resourceowner"
  const whole = () => ({
    [`${owner}:id`]: home,
    [`${owner}:name`]: "Example",
    [`${owner}:primary_domain`]: domainOf(home),
  })
  const inPlace = (source: Source, scopes: readonly string[]) => {
    const { sub: _, ...claims } = sources[source](input(scopes))
    return claims
  }

  test.each(everywhere)("is included in the %s if requested", (location) => {
    expect(inPlace(location, [owner])).toEqual(whole())
    expect(inPlace(location, [`urn:core:iam:org:id:${home}`])).toEqual({
      ...whole(),
      "urn:core:iam:org:id": home,
    })
    expect(inPlace(location, [`urn:core:iam:org:domain:primary:${domainOf(home)}`])).toEqual({
      "urn:core:iam:org:domain:primary": domainOf(home),
    })
  })

  test("is identified by a verified domain, not by an unverified one", async () => {
    const proven = domainOf(home)
    const cx = provider.cx()
    await addDomain(cx, home, { domain: "trusted.example", isUsed: () => false })
    await setPrimaryDomain(cx, home, "trusted.example")
    expect(domainOf(home)).toBe("trusted.example")
    const byDomain = (domain: string) => `urn:core:iam:org:domain:primary:${domain}`
    for (const place of everywhere) {
      expect(inPlace(place, [owner])).toEqual({ ...whole(), [`${owner}:primary_domain`]: proven })
      expect(inPlace(place, [byDomain("trusted.example")])).toEqual({})
    }
    await setPrimaryDomain(cx, home, proven)
  })

  test("is never that of another organization", () => {
    for (const place of everywhere) {
      expect(inPlace(place, ["urn:core:iam:org:id:org2"])).toEqual(whole())
      expect(inPlace(place, [`urn:core:iam:org:domain:primary:${domainOf("org2")}`])).toEqual({})
    }
  })

  test("restricts which users can sign in", () => {
    const restriction = (...scopes: readonly string[]) => orgRestriction(provider.cx(), scopes)
    const domain = `urn:core:iam:org:domain:primary:${domainOf(home)}`
    expect(restriction("openid", owner)).toBeUndefined()
    expect(restriction("urn:core:iam:org:id:org2")).toBe("org2")
    expect(restriction(domain)).toBe(home)
    expect(
      restriction(domain.toUpperCase().replace(/^.*:PRIMARY:/, domain.replace(/[^:]*$/, ""))),
    ).toBe(home)
    expect(restriction(domain, `urn:core:iam:org:id:${home}`)).toBe(home)
    expect(restriction(domain, "urn:core:iam:org:id:org2")).toBe("")
    expect(restriction("urn:core:iam:org:domain:primary:absent.example.com")).toBe("")
  })
})

describe("metadata", () => {
  const scope = "urn:core:iam:user:metadata"
  const note = async (values: Readonly<Record<string, Uint8Array>>) => {
    const id = await provider.addPerson(`noted-${provider.cx().ids.next()}`)
    const entries = Object.entries(values).map(([key, value]) => ({ key, value }))
    if (entries.length > 0) await setMetadata(provider.cx(), id, entries)
    return { userId: id }
  }

  test("is included everywhere in base64url without padding, if requested", async () => {
    const noted = await note({ plan: new TextEncoder().encode("gold?>"), raw: Uint8Array.of(255) })
    for (const place of everywhere) {
      expect(sources[place](input([scope], noted))[scope]).toEqual({ plan: "Z29sZD8-", raw: "_w" })
      expect(sources[place](input(["openid", "profile"], noted))).not.toHaveProperty([scope])
      expect(sources[place](input([scope], await note({})))).not.toHaveProperty([scope])
    }
  })

  test("that is too large for a header is in no token, and complete at userinfo", async () => {
    const noted = await note({ small: new Uint8Array(1), large: new Uint8Array(4000) })
    for (const place of everywhere) {
      const isToken = place === "id_token" || place === "access token"
      const keys = Object.keys(Object(sources[place](input([scope], noted))[scope]))
      expect([place, keys]).toEqual([place, isToken ? [] : ["large", "small"]])
    }
  })
})

describe("standard claims", () => {
  const names = (scopes: readonly string[], more: Partial<ClaimsContext> = {}) =>
    Object.keys(userinfoClaims(provider.cx(), input(scopes, more))).toSorted()

  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["openid", ["sub"]],
    ["profile", ["family_name", "given_name", "name", "preferred_username", "sub", "updated_at"]],
    ["email", ["email", "email_verified", "sub"]],
    ["phone", ["sub"]],
    ["address", ["sub"]],
    ["offline_access", ["sub"]],
    ["urn:core:iam:org:idp:id:7", ["sub"]],
  ]
  test.each(cases)("%s gives %j at userinfo", (scope, expected) => {
    expect(names([scope])).toEqual(expected)
  })

  test("are in the id_token only where the application asserts them", () => {
    const scopes = ["openid", "profile", "email"]
    expect(idTokenClaims(provider.cx(), input(scopes))).toEqual({})
    const asserted = idTokenClaims(provider.cx(), { ...input(scopes), withUserClaims: true })
    expect(asserted).toMatchObject({ email: "pat@example.org", given_name: "Pat" })
    expect(accessTokenClaims(provider.cx(), input(scopes))).toEqual({})
  })

  test("can be requested one by one; unknown ones and other users' are omitted", () => {
    expect(names(["openid"], { requested: ["email", "gender", "sub", "root"] })).toEqual([
      "email",
      "sub",
    ])
    const single = input(["openid"], { requested: ["given_name"] })
    expect(idTokenClaims(provider.cx(), single)).toEqual({ given_name: "Pat" })
    expect(supportedClaims(["email", "email", "root", "__proto__", "name"])).toEqual([
      "name",
      "email",
    ])
  })

  test("name the user at introspection where the profile is granted", () => {
    const at = (scopes: readonly string[]) =>
      introspectionClaims(provider.cx(), input(scopes), "shop")
    expect(at(["openid", "profile"])).toMatchObject({ username: "pat", name: "Pat Person" })
    expect(at(["openid"])).toEqual({})
    expect(introspectionClaims(provider.cx(), input(["openid"]), "absent")).toEqual({})
  })
})

describe("a sign-in", () => {
  const tokens = async (scope: string, oidc: Partial<OidcConfig> = {}) => {
    const app = await provider.addClient({ tokenType: "jwt", ...oidc }, "shop")
    const end = await browserOf(provider).signIn(authorizePath(app.id, { scope }), "pat")
    const { code = "" } = responseOf(end)
    return sendTokenRequest(provider, codeFields(code), `${app.id}:${app.secret}`)
  }
  const payload = (token: unknown) =>
    JSON.parse(Buffer.from(String(token).split(".")[1] ?? "", "base64url").toString())

  test("includes the requested claims in all its tokens", async () => {
    const scope = `openid email ${own} urn:core:iam:user:resourceowner unknown`
    const { answer } = await tokens(scope)
    expect(answer.scope).toBe(`openid email ${own} urn:core:iam:user:resourceowner`)
    for (const claims of [payload(answer.id_token), payload(answer.access_token)]) {
      expect(claims).toMatchObject({
        sub: pat,
        [rolesOf("shop")]: { admin: { [home]: domainOf(home) } },
        "urn:core:iam:user:resourceowner:id": home,
      })
      expect(claims).not.toHaveProperty("email")
    }
    const headers = { authorization: `Bearer ${answer.access_token}` }
    const info = await (await provider.send("/oidc/v1/userinfo", { headers })).json()
    expect(info).toMatchObject({ email: "pat@example.org", [rolesOf("shop")]: { editor: {} } })
  })

  test("grants offline_access only to clients that can use refresh tokens", async () => {
    expect((await tokens("openid offline_access")).answer.scope).toBe("openid")
    const oidc = { grantTypes: ["authorization_code", "refresh_token"] } as const
    expect((await tokens("openid offline_access", oidc)).answer.scope).toContain("offline_access")
  })

  test("of another organization's user fails if the scope requires a different one", async () => {
    const scope = "openid urn:core:iam:org:id:org2"
    const end = await browserOf(provider).signIn(authorizePath(client.id, { scope }), "pat")
    expect(end.path).not.toContain("code=")
    const robot = await addServiceAccount(provider)
    const ask = async (expected: string) => {
      const fields = { grant_type: "client_credentials", scope: expected }
      const { status, answer } = await sendTokenRequest(
        provider,
        fields,
        encodeBasic(robot.id, robot.secret),
      )
      return [status, answer.error]
    }
    expect(await ask(scope)).toEqual([400, "invalid_grant"])
    expect(await ask(`openid urn:core:iam:org:id:${home}`)).toEqual([200, undefined])
  })
})

test("no claims are returned for a user whose organization or account was deleted", async () => {
  await deactivateOrganization(provider.cx(), "org2")
  expect(orgRestriction(provider.cx(), ["urn:core:iam:org:id:org2"])).toBe("org2")
  expect(userinfoClaims(provider.cx(), input(["profile"], { userId: "absent" }))).toEqual({
    sub: "absent",
  })
})
