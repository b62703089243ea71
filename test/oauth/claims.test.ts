import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { changeApplication, type OidcConfig } from "../../src/domain/app/index.ts"
import {
  addAuthorization,
  changeAuthorization,
  deactivateAuthorization,
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
  changeProject,
  createProject,
  deactivateProject,
  type ProjectInput,
  removeRole,
} from "../../src/domain/project/index.ts"
import { setMetadata } from "../../src/domain/user/index.ts"
import {
  accessTokenClaims,
  claimsAsked,
  idTokenClaims,
  introspectionClaims,
  type Told,
  userinfoClaims,
} from "../../src/oauth/token/claims/claims.ts"
import { orgRestriction } from "../../src/oauth/token/scope.ts"
import { addRobot, basicOf } from "./clients.ts"
import {
  answerOf,
  askToken,
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
} from "./provider.ts"

/**
 * Two organisations. The first has the projects shop (with the client) and stock, the second has
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
  await changeProject(provider.cx(), "shop", settings)
  await changeApplication(provider.cx(), client.appId, { oidc: assertions })
})

const domainOf = (orgId: string) => provider.store.state(provider.cx(), org, orgId).primaryDomain

const told = (scopes: readonly string[], more: Partial<Told> = {}): Told => ({
  userId: pat,
  clientId: client.id,
  audience: [client.id, "shop", "stock", "foreign"],
  scopes,
  ...more,
})

const places = {
  id_token: (what: Told) => idTokenClaims(provider.cx(), what),
  "access token": (what: Told) => accessTokenClaims(provider.cx(), what),
  userinfo: (what: Told) => userinfoClaims(provider.cx(), what),
  introspection: (what: Told) => introspectionClaims(provider.cx(), what, "shop"),
} as const
type Place = keyof typeof places
const everywhere: readonly Place[] = ["id_token", "access token", "userinfo", "introspection"]

const own = "urn:core:iam:org:project:roles"
const of = (project: string) => `urn:core:iam:org:project:${project}:roles`
const role = (key: string) => `urn:core:iam:org:project:role:${key}`

/** Everything of roles that is told, with the organisations' domains left to another test. */
function rolesIn(claims: Readonly<Record<string, unknown>>) {
  const named = Object.entries(claims).filter(([name]) => name.endsWith(":roles"))
  return Object.fromEntries(named.map(([name, roles]) => [name, Object.keys(Object(roles))]))
}

describe("roles", () => {
  const shop = { [own]: ["editor", "admin"], [of("shop")]: ["editor", "admin"] }
  const shopAndStock = { ...shop, [of("stock")]: ["editor"] }
  const cases: readonly (readonly [string, readonly string[], object])[] = [
    ["no scope", ["openid", "profile", "email"], {}],
    ["the scope of one's project", [own], shop],
    ["the scope of all projects", ["urn:core:iam:org:projects:roles"], shopAndStock],
    [
      "one role",
      [role("editor")],
      { [own]: ["editor"], [of("shop")]: ["editor"], [of("stock")]: ["editor"] },
    ],
    [
      "a role that only one project gives",
      [role("admin")],
      { [own]: ["admin"], [of("shop")]: ["admin"] },
    ],
    ["two roles", [role("admin"), role("editor")], shopAndStock],
    ["a role that is nobody's", [role("root")], {}],
    ["one role and all", [role("admin"), own, "urn:core:iam:org:projects:roles"], shopAndStock],
  ]
  for (const place of everywhere) {
    test.each(cases)(`in the ${place}: %s`, (_, scopes, expected) => {
      expect(rolesIn(places[place](told(scopes)))).toEqual(expected)
    })
  }

  test("say which organisation gives them, by its id and primary domain", () => {
    const claims = userinfoClaims(provider.cx(), told([own]))
    expect(claims[own]).toEqual({
      admin: { [home]: domainOf(home) },
      editor: { [home]: domainOf(home) },
    })
  })

  test("are narrowed to the organisations that the scopes name", () => {
    const only = (...ids: readonly string[]) =>
      rolesIn(
        userinfoClaims(
          provider.cx(),
          told([own, ...ids.map((id) => `urn:core:iam:org:roles:id:${id}`)]),
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
    readonly Place[],
  ])[] = [
    ["id_token_role_assertion", { idTokenRoleAssertion: true }, {}, ["id_token"]],
    ["access_token_role_assertion", { accessTokenRoleAssertion: true }, {}, ["access token"]],
    ["project_role_assertion", {}, { projectRoleAssertion: true }, ["userinfo", "introspection"]],
  ]
  test.each(settingsOf)("are told without a scope by %s", async (_, oidc, change, where) => {
    await changeApplication(provider.cx(), client.appId, { oidc })
    await changeProject(provider.cx(), "shop", change)
    for (const place of everywhere) {
      const expected = where.includes(place) ? shopAndStock : {}
      expect([place, rolesIn(places[place](told(["openid"])))]).toEqual([place, expected])
    }
  })

  test("on another organisation's project are told to nobody but the user themself", async () => {
    const all = ["urn:core:iam:org:projects:roles"]
    for (const place of everywhere) {
      expect(rolesIn(places[place](told(all)))).not.toHaveProperty([of("foreign")])
    }
    const selfTold = told(all, { clientId: pat, audience: ["foreign"] })
    expect(rolesIn(accessTokenClaims(provider.cx(), selfTold))).toEqual({
      [of("foreign")]: ["editor"],
    })
    // A service user's client id is its name.
    const robot = await addRobot(provider)
    const given = { userId: robot.userId, projectId: "foreign", orgId: "org2", roleKeys: ["admin"] }
    await provider.store.transact(provider.cx(), (tx) => addAuthorization(tx, "u-robot", given))
    const named = told(all, { userId: robot.userId, clientId: robot.id, audience: ["foreign"] })
    expect(rolesIn(accessTokenClaims(provider.cx(), named))).toEqual({ [of("foreign")]: ["admin"] })
    expect(rolesIn(introspectionClaims(provider.cx(), told(all), "foreign"))).toEqual({
      [own]: ["editor"],
      [of("foreign")]: ["editor"],
    })
  })

  test("on projects that are not in the audience are not told", () => {
    const claims = userinfoClaims(
      provider.cx(),
      told(["urn:core:iam:org:projects:roles"], { audience: [client.id] }),
    )
    expect(rolesIn(claims)).toEqual(shop)
  })

  test("are of one's own instance alone", async () => {
    const other = provider.cx({ instance: "i2" })
    expect(userinfoClaims(other, told([own, "urn:core:iam:org:projects:roles"]))).toEqual({
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
    const told1 = () => rolesIn(userinfoClaims(provider.cx(), told([own], { userId: somebody })))

    test("at once with the authorization", async () => {
      expect(told1()).toEqual({ [own]: ["editor"], [of("shop")]: ["editor"] })
      await deactivateAuthorization(provider.cx(), id)
      expect(told1()).toEqual({})
    })

    test("at once with the project's roles, for good", async () => {
      const guest = [{ key: "guest", displayName: "Guest" }]
      await addRoles(provider.cx(), "shop", guest)
      await changeAuthorization(provider.cx(), id, ["guest"])
      expect(told1()).toEqual({ [own]: ["guest"], [of("shop")]: ["guest"] })
      await removeRole(provider.cx(), "shop", "guest")
      expect(told1()).toEqual({})
      await addRoles(provider.cx(), "shop", guest)
      expect(told1()).toEqual({})
      await removeRole(provider.cx(), "shop", "guest")
    })
  })

  test("of a project that is stopped are not told", async () => {
    await createProject(provider.cx(), "stopped", { orgId: home, name: "Stopped" })
    await addRoles(provider.cx(), "stopped", [{ key: "admin", displayName: "Admin" }])
    const given = { userId: pat, projectId: "stopped", orgId: home, roleKeys: ["admin"] }
    await provider.store.transact(provider.cx(), (tx) => addAuthorization(tx, "u-stopped", given))
    const all = told(["urn:core:iam:org:projects:roles"], { audience: ["stopped"] })
    const seen = () => rolesIn(userinfoClaims(provider.cx(), all))
    expect(seen()).toHaveProperty([of("stopped")])
    await deactivateProject(provider.cx(), "stopped")
    expect(seen()).not.toHaveProperty([of("stopped")])
  })

  test("may be named like what every object has", async () => {
    await createProject(provider.cx(), "odd", { orgId: home, name: "Odd", groupsClaim: "groups" })
    const keys = ["__proto__", "constructor", "7"]
    await addRoles(
      provider.cx(),
      "odd",
      keys.map((key) => ({ key, displayName: key })),
    )
    const given = { userId: pat, projectId: "odd", orgId: home, roleKeys: keys }
    await provider.store.transact(provider.cx(), (tx) => addAuthorization(tx, "u-odd", given))
    const claims = introspectionClaims(provider.cx(), told([own], { audience: ["odd"] }), "odd")
    const said = JSON.parse(JSON.stringify(claims))
    expect(Object.keys(said[own]).toSorted()).toEqual(keys.toSorted())
    expect(said.groups).toEqual(keys)
  })
})

describe("the flat list of roles", () => {
  test.each(["groups", "roles"] as const)("is called %s everywhere", async (groupsClaim) => {
    await changeProject(provider.cx(), "shop", { groupsClaim })
    for (const place of everywhere) {
      const { groups, roles } = places[place](told(["openid"]))
      const list = ["editor", "admin"]
      expect([groups, roles]).toEqual(
        groupsClaim === "groups" ? [list, undefined] : [undefined, list],
      )
    }
  })

  test("is empty for who has none, and absent where it is off", async () => {
    const stranger = { userId: provider.setup.ownerId }
    expect(userinfoClaims(provider.cx(), told(["openid"]))).not.toHaveProperty("groups")
    await changeProject(provider.cx(), "shop", { groupsClaim: "groups" })
    expect(userinfoClaims(provider.cx(), told(["openid"], stranger)).groups).toEqual([])
  })

  test("is not for tokens of another project's clients", async () => {
    await changeProject(provider.cx(), "shop", { groupsClaim: "groups" })
    const other = await provider.addClient({}, "stock")
    const claims = userinfoClaims(provider.cx(), told(["openid"], { clientId: other.id }))
    expect(claims).not.toHaveProperty("groups")
  })
})

describe("the user's organisation", () => {
  const owner = "urn:core:iam:user:resourceowner"
  const whole = () => ({
    [`${owner}:id`]: home,
    [`${owner}:name`]: "Example",
    [`${owner}:primary_domain`]: domainOf(home),
  })
  const inPlace = (place: Place, scopes: readonly string[]) => {
    const { sub: _, ...claims } = places[place](told(scopes))
    return claims
  }

  test.each(everywhere)("is told in the %s where it is asked for", (place) => {
    expect(inPlace(place, [owner])).toEqual(whole())
    expect(inPlace(place, [`urn:core:iam:org:id:${home}`])).toEqual({
      ...whole(),
      "urn:core:iam:org:id": home,
    })
    expect(inPlace(place, [`urn:core:iam:org:domain:primary:${domainOf(home)}`])).toEqual({
      "urn:core:iam:org:domain:primary": domainOf(home),
    })
  })

  test("is told by a domain that is proven, not by one that was taken on trust", async () => {
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

  test("is never said to be another", () => {
    for (const place of everywhere) {
      expect(inPlace(place, ["urn:core:iam:org:id:org2"])).toEqual(whole())
      expect(inPlace(place, [`urn:core:iam:org:domain:primary:${domainOf("org2")}`])).toEqual({})
    }
  })

  test("restricts who may sign in", () => {
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

  test("is told everywhere in base64url without padding, where it is asked for", async () => {
    const noted = await note({ plan: new TextEncoder().encode("gold?>"), raw: Uint8Array.of(255) })
    for (const place of everywhere) {
      expect(places[place](told([scope], noted))[scope]).toEqual({ plan: "Z29sZD8-", raw: "_w" })
      expect(places[place](told(["openid", "profile"], noted))).not.toHaveProperty([scope])
      expect(places[place](told([scope], await note({})))).not.toHaveProperty([scope])
    }
  })

  test("that is too much for a header is in no token, and whole at userinfo", async () => {
    const noted = await note({ small: new Uint8Array(1), large: new Uint8Array(4000) })
    for (const place of everywhere) {
      const isToken = place === "id_token" || place === "access token"
      const keys = Object.keys(Object(places[place](told([scope], noted))[scope]))
      expect([place, keys]).toEqual([place, isToken ? [] : ["large", "small"]])
    }
  })
})

describe("standard claims", () => {
  const names = (scopes: readonly string[], more: Partial<Told> = {}) =>
    Object.keys(userinfoClaims(provider.cx(), told(scopes, more))).toSorted()

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
    expect(idTokenClaims(provider.cx(), told(scopes))).toEqual({})
    const asserted = idTokenClaims(provider.cx(), { ...told(scopes), withUserClaims: true })
    expect(asserted).toMatchObject({ email: "pat@example.org", given_name: "Pat" })
    expect(accessTokenClaims(provider.cx(), told(scopes))).toEqual({})
  })

  test("may be asked for one by one; nobody else's or unknown ones are not", () => {
    expect(names(["openid"], { requested: ["email", "gender", "sub", "root"] })).toEqual([
      "email",
      "sub",
    ])
    const single = told(["openid"], { requested: ["given_name"] })
    expect(idTokenClaims(provider.cx(), single)).toEqual({ given_name: "Pat" })
    expect(claimsAsked(["email", "email", "root", "__proto__", "name"])).toEqual(["name", "email"])
  })

  test("name the user at introspection where the profile is granted", () => {
    const at = (scopes: readonly string[]) =>
      introspectionClaims(provider.cx(), told(scopes), "shop")
    expect(at(["openid", "profile"])).toMatchObject({ username: "pat", name: "Pat Person" })
    expect(at(["openid"])).toEqual({})
    expect(introspectionClaims(provider.cx(), told(["openid"]), "absent")).toEqual({})
  })
})

describe("a sign-in", () => {
  const tokens = async (scope: string, oidc: Partial<OidcConfig> = {}) => {
    const app = await provider.addClient({ tokenType: "jwt", ...oidc }, "shop")
    const end = await browserOf(provider).signIn(authorizePath(app.id, { scope }), "pat")
    const { code = "" } = answerOf(end)
    return askToken(provider, codeFields(code), `${app.id}:${app.secret}`)
  }
  const payload = (token: unknown) =>
    JSON.parse(Buffer.from(String(token).split(".")[1] ?? "", "base64url").toString())

  test("carries what was asked for in all its tokens", async () => {
    const scope = `openid email ${own} urn:core:iam:user:resourceowner unknown`
    const { answer } = await tokens(scope)
    expect(answer.scope).toBe(`openid email ${own} urn:core:iam:user:resourceowner`)
    for (const claims of [payload(answer.id_token), payload(answer.access_token)]) {
      expect(claims).toMatchObject({
        sub: pat,
        [of("shop")]: { admin: { [home]: domainOf(home) } },
        "urn:core:iam:user:resourceowner:id": home,
      })
      expect(claims).not.toHaveProperty("email")
    }
    const headers = { authorization: `Bearer ${answer.access_token}` }
    const info = await (await provider.send("/oidc/v1/userinfo", { headers })).json()
    expect(info).toMatchObject({ email: "pat@example.org", [of("shop")]: { editor: {} } })
  })

  test("grants offline_access only to who may have refresh tokens", async () => {
    expect((await tokens("openid offline_access")).answer.scope).toBe("openid")
    const oidc = { grantTypes: ["authorization_code", "refresh_token"] } as const
    expect((await tokens("openid offline_access", oidc)).answer.scope).toContain("offline_access")
  })

  test("of a user of elsewhere comes to nothing where the scope is for others", async () => {
    const scope = "openid urn:core:iam:org:id:org2"
    const end = await browserOf(provider).signIn(authorizePath(client.id, { scope }), "pat")
    expect(end.path).not.toContain("code=")
    const robot = await addRobot(provider)
    const ask = async (wanted: string) => {
      const fields = { grant_type: "client_credentials", scope: wanted }
      const { status, answer } = await askToken(provider, fields, basicOf(robot.id, robot.secret))
      return [status, answer.error]
    }
    expect(await ask(scope)).toEqual([400, "invalid_grant"])
    expect(await ask(`openid urn:core:iam:org:id:${home}`)).toEqual([200, undefined])
  })
})

test("nothing is told of a user whose organisation or account is gone, by the chain", async () => {
  await deactivateOrganization(provider.cx(), "org2")
  expect(orgRestriction(provider.cx(), ["urn:core:iam:org:id:org2"])).toBe("org2")
  expect(userinfoClaims(provider.cx(), told(["profile"], { userId: "absent" }))).toEqual({
    sub: "absent",
  })
})
