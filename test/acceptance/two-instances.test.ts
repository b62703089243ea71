import { getOption } from "@bufbuild/protobuf"
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest"
import { grpcHost, instanceAt } from "../../src/domain/instance/index.ts"
import { type Access, access } from "../../src/gen/core/options_pb.ts"
import { assertionOf } from "../support/latchkey.ts"
import { form, openPair, type Pair, type Side } from "./estate.ts"
import { bearer, methods, pathOf, personOf } from "./service.ts"

// The compiled binary embeds these files; a test runner would run them.
vi.mock("../../src/gen/ui-assets.ts", () => ({
  uiAssets: {},
  uiEntry: { css: "/ui/assets/kit.css", pageJs: "/ui/assets/page.js", icon: "/ui/mark.svg" },
}))

type Step = readonly [name: string, request: object]

const org = { organizationId: "org" }
const project = { projectId: "project" }
const app = { applicationId: "app", projectId: "project" }
const older = { appId: "app", projectId: "project" }
const api = { ...app, applicationId: "api" }
const granted = { ...project, grantedOrganizationId: "guest" }
const grantResource = { projectGrant: { ...project, organizationId: "guest" } }
const user = { userId: "user" }
/** Somebody's name ends in it, so that it must be proven. */
const usedDomain = { domain: "used.example", type: "DOMAIN_VALIDATION_TYPE_DNS" }
const robot = { userId: "robot" }
const seat = { ...user, resource: org }
const expirationDate = "2099-01-01T00:00:00Z"
const helper = { key: "HELPER", level: "ROLE_LEVEL_ORGANIZATION" }
const newPassword = { password: "Correct-horse-8-battery" }
const callback = { redirectUris: ["https://app.example.com/callback"] }
const lifetimes = {
  accessTokenLifetime: "600s",
  idTokenLifetime: "600s",
  refreshTokenIdleExpiration: "600s",
  refreshTokenExpiration: "900s",
}
const admin = (name: string) => `core.admin.v1.AdminService/${name}`
const auth = (name: string) => `core.auth.v1.AuthService/${name}`
const management = (name: string) => `core.management.v1.ManagementService/${name}`
const webKeys = (name: string) => `core.resources.webkey.v3alpha.CoreWebKeys/${name}`

/** What both instances have, with the same ids and their own names. */
const furniture = (name: string): readonly Step[] => [
  ["AddOrganization", { ...org, name: `Org ${name}` }],
  [
    "CreateUser",
    {
      ...{ ...org, ...user, username: "user@used.example" },
      human: personOf(`Person ${name}`.replace(" ", "-")),
    },
  ],
  ["CreateUser", { ...org, ...robot, username: "robot", machine: { name: `Robot ${name}` } }],
  ["AddKey", { ...robot, expirationDate }],
  ["CreateProject", { ...org, ...project, name: `Project ${name}` }],
  ["CreateApplication", { ...app, name: `App ${name}`, oidcConfiguration: callback }],
  ["CreateAdministrator", { ...seat, roles: ["ORG_OWNER"] }],
  ["CreateWebKey", { ed25519: {} }],
  ["CreateProject", { ...org, projectId: "second", name: `Project ${name} again` }],
  ["AddProjectRole", { ...project, roleKey: "editor", displayName: `Role ${name}` }],
  ["CreateAuthorization", { ...org, ...project, ...robot, roleKeys: ["editor"] }],
  ["SetUserMetadata", { ...robot, metadata: [{ key: `Metadata ${name}`, value: "eA==" }] }],
  ["AddKey", { ...robot, expirationDate }],
  ["AddPersonalAccessToken", { ...robot, expirationDate }],
  ["AddPersonalAccessToken", { ...robot, expirationDate }],
  ["CreateApplicationKey", app],
  ["CreateApplicationKey", app],
  ["CreateApplication", { ...api, name: `API ${name}`, apiConfiguration: {} }],
  ["AddOrganization", { organizationId: "guest", name: `Org ${name} guest` }],
  ["CreateProjectGrant", { ...granted, roleKeys: ["editor"] }],
  ["CreateAdministrator", { ...robot, resource: grantResource, roles: ["PROJECT_GRANT_OWNER"] }],
  ["ListAdministrators", { filters: [{ resource: grantResource }] }],
  ["CreateRole", { ...helper, displayName: `Role ${name} too`, permissions: ["user.read"] }],
  ["CreateGroup", { ...org, id: "group", name: `Group ${name}` }],
  ["AddOrganizationDomain", { ...org, domain: "shared.example" }],
  ["ListOrganizations", { queries: [{ defaultQuery: {} }] }],
]

const looks: readonly Step[] = [
  ...["system", "admin", "auth", "management"].map((family): Step => {
    const service = `${family[0]?.toUpperCase()}${family.slice(1)}Service`
    return [`core.${family}.v1.${service}/Healthz`, {}]
  }),
  ["core.admin.v1.AdminService/GetMyInstance", {}],
  ["core.admin.v1.AdminService/ListInstanceDomains", {}],
  ...["GetOIDCSettings", "GetRestrictions", "GetSecurityPolicy"].map(
    (name): Step => [admin(name), {}],
  ),
  ...["GetSecuritySettings", "ListRefusedRequests"].map((name): Step => [name, {}]),
  [auth("GetMyUser"), {}],
  ...[
    "ListMyUserSessions",
    "ListMyMetadata",
    "ListMyRefreshTokens",
    "ListMyAuthFactors",
    "ListMyCorePermissions",
    "ListMyMemberships",
  ].map((name): Step => [auth(name), {}]),
  ["core.auth.v1.AuthService/ListMyProjectOrgs", {}],
  ["GetInstance", {}],
  ...["ListCustomDomains", "ListTrustedDomains"].map((name): Step => [name, {}]),
  ["GetInstanceFeatures", { inheritance: true }],
  ["GetOrganizationFeatures", org],
  ["GetUserFeatures", user],
  ...["GetIAM", "GetOIDCInformation"].map((name): Step => [management(name), {}]),
  [management("GetOIDCInformation"), {}],
  [management("GetMyOrg"), {}],
  [management("GetUserByID"), { id: "user" }],
  [management("GetUserByLoginNameGlobal"), { loginName: "robot" }],
  [management("GetProjectByID"), { id: "project" }],
  [management("ListProjects"), {}],
  ["ListOrganizations", {}],
  ["ListOrganizationDomains", org],
  ["ListOrganizationMetadata", org],
  [management("GetOrgByDomainGlobal"), { domain: "shared.example" }],
  [management("ListOrgMemberRoles"), {}],
  [admin("ListIAMMemberRoles"), {}],
  ["GetUserByID", user],
  ["ListUsers", {}],
  ["ListKeys", {}],
  ["GetProject", project],
  ["ListProjects", {}],
  ["GetApplication", { applicationId: "app" }],
  ["ListApplications", {}],
  ["ListClientSecrets", app],
  ["ListApplicationKeys", {}],
  [management("ListAppKeys"), older],
  ["ListPersonalAccessTokens", {}],
  [management("ListPersonalAccessTokens"), robot],
  [management("ListMachineKeys"), robot],
  ["ListAdministrators", {}],
  ["ListRoles", {}],
  [management("ListUserChanges"), { userId: "user" }],
  [management("ListOrgChanges"), {}],
  [management("ListProjectChanges"), project],
  [management("ListAppChanges"), older],
  ["core.auth.v1.AuthService/ListMyUserChanges", {}],
  ["GetGroup", { id: "group" }],
  ["ListGroups", {}],
  ["ListProjectRoles", project],
  [management("ListProjectRoles"), project],
  ["ListAuthorizations", {}],
  ["ListProjectGrants", {}],
  [management("ListGrantedProjects"), {}],
  [management("ListProjectMemberRoles"), {}],
  [management("ListProjectGrantMemberRoles"), {}],
  ["ListUserMetadata", robot],
  ["ListWebKeys", {}],
  [webKeys("ListWebKeys"), {}],
]

/** Every operation that changes something, in an order in which each one can. */
const changes = (webKeyId: string, id: string, homeId: string): readonly Step[] => [
  ["AddOrganizationDomain", { organizationId: homeId, domain: "home.example" }],
  [admin("SetDefaultOrg"), { orgId: "guest" }],
  [admin("SetDefaultOrg"), { orgId: homeId }],
  ["UpdateOrganization", { ...org, name: "Other" }],
  ["DeactivateOrganization", org],
  ["ActivateOrganization", org],
  ["SetOrganizationMetadata", { ...org, metadata: [{ key: "plan", value: "eA==" }] }],
  ["DeleteOrganizationMetadata", { ...org, keys: ["plan"] }],
  ["AddOrganizationDomain", { ...org, domain: "example.org" }],
  ["DeleteOrganizationDomain", { ...org, domain: "example.org" }],
  ["AddOrganizationDomain", { organizationId: "guest", domain: "used.example" }],
  ["GenerateOrganizationDomainValidation", { organizationId: "guest", ...usedDomain }],
  ["UpdateUser", { ...user, human: { profile: { givenName: "Other" } } }],
  ...["CreateInviteCode", "ResendInviteCode"].map((name): Step => [name, user]),
  ["SetPassword", { ...user, newPassword }],
  [
    "AddHumanUser",
    { userId: "human", organization: { orgId: "org" }, ...personOf("Human"), username: "human" },
  ],
  ["UpdateHumanUser", { userId: "human", username: "older" }],
  ["SetEmail", { ...user, email: "new@example.com" }],
  ...["SendEmailCode", "ResendEmailCode"].map((name): Step => [name, user]),
  ["SetPhone", { ...user, phone: "+41791234567" }],
  ...["ResendPhoneCode", "RemovePhone"].map((name): Step => [name, user]),
  [auth("UpdateMyUserName"), { userName: "renamed" }],
  [auth("RevokeAllMyRefreshTokens"), {}],
  ["DeactivateUser", user],
  ["ReactivateUser", user],
  ["LockUser", user],
  ["UnlockUser", user],
  ["UpdateProject", { ...project, name: "Other" }],
  ["DeactivateProject", project],
  ["ActivateProject", project],
  [management("UpdateProject"), { id: "project", name: "Older" }],
  [management("DeactivateProject"), { id: "project" }],
  [management("ReactivateProject"), { id: "project" }],
  [management("AddProject"), { name: "New" }],
  ["UpdateApplication", { ...app, name: "Other" }],
  ["DeactivateApplication", app],
  ["ReactivateApplication", app],
  ["UpdateAdministrator", { ...seat, roles: ["ORG_OWNER_VIEWER"] }],
  ["DeleteAdministrator", seat],
  ["ActivateWebKey", { id: webKeyId }],
  [webKeys("CreateWebKey"), { key: { ed25519: {} } }],
  [webKeys("ActivateWebKey"), { id: webKeyId }],
  ["CreateWebKey", { ed25519: {} }],
  [admin("AddOIDCSettings"), lifetimes],
  [admin("UpdateOIDCSettings"), { ...lifetimes, idTokenLifetime: "60s" }],
  ["UpdateInstance", { instanceName: "Other" }],
  ["AddTrustedDomain", { trustedDomain: "trusted.example" }],
  ["RemoveTrustedDomain", { trustedDomain: "trusted.example" }],
  ["SetInstanceFeatures", { userSchema: true }],
  ["ResetInstanceFeatures", {}],
  ...["SetOrganizationFeatures", "ResetOrganizationFeatures"].map((name): Step => [name, org]),
  ...["SetUserFeatures", "ResetUserFeatures"].map((name): Step => [name, user]),
  [admin("ActivateFeatureLoginDefaultOrg"), {}],
  [admin("SetRestrictions"), { allowedLanguages: { list: ["de"] } }],
  [admin("SetSecurityPolicy"), { enableImpersonation: true }],
  ["SetSecuritySettings", { embeddedIframe: { allowedOrigins: [] } }],
  ["UpdateRole", { key: "HELPER", displayName: "Other" }],
  ["DeleteRole", { key: "HELPER" }],
  ["UpdateGroup", { id: "group", name: "Other" }],
  ["DeleteGroup", { id: "group" }],
  ["UpdateProjectGrant", { ...granted, roleKeys: [] }],
  ["DeactivateProjectGrant", granted],
  ["ActivateProjectGrant", granted],
  ["DeleteProjectGrant", granted],
  ["UpdateAuthorization", { id, roleKeys: [] }],
  ["DeactivateAuthorization", { id }],
  ["ActivateAuthorization", { id }],
  ["DeleteAuthorization", { id }],
  ["UpdateProjectRole", { ...project, roleKey: "editor", displayName: "Other" }],
  ["RemoveProjectRole", { ...project, roleKey: "editor" }],
  [management("AddProjectRole"), { ...project, roleKey: "a/b", displayName: "Slash" }],
  [management("BulkAddProjectRoles"), { ...project, roles: [{ key: "c", displayName: "C" }] }],
  [management("UpdateProjectRole"), { ...project, roleKey: "a/b", displayName: "Other" }],
  [management("RemoveProjectRole"), { ...project, roleKey: "a/b" }],
  ["DeleteUserMetadata", { ...robot, keys: ["Metadata one"] }],
  ["DeleteUser", user],
  ["DeleteApplication", app],
  ["DeleteProject", project],
  [management("RemoveProject"), { id: "second" }],
  ["DeleteOrganization", { organizationId: "guest" }],
]

const code = { code: "AAAAAA" }
const wrong = { ...user, verificationCode: "AAAAAA" }

/** What is refused for want of the right code, or to a service user, and with which status. */
const refusals: readonly (readonly [...Step, status: number])[] = [
  ["VerifyOrganizationDomain", { ...org, domain: "absent.example" }, 404],
  [management("SetPrimaryOrgDomain"), { domain: "absent.example" }, 404],
  ["VerifyEmail", wrong, 400],
  ["VerifyPhone", wrong, 400],
  ["VerifyInviteCode", wrong, 400],
  [auth("GetMyMetadata"), { key: "absent" }, 404],
  [auth("RevokeMyRefreshToken"), { id: "absent" }, 404],
  [auth("RemoveMyUser"), {}, 403],
  [auth("GetMyProfile"), {}, 400],
  [auth("GetMyEmail"), {}, 400],
  [auth("GetMyPhone"), {}, 400],
  [auth("UpdateMyProfile"), { firstName: "A", lastName: "B" }, 400],
  [auth("SetMyEmail"), { email: "new@example.com" }, 400],
  [auth("SetMyPhone"), { phone: "+41791234567" }, 400],
  [auth("ResendMyEmailVerification"), {}, 400],
  [auth("ResendMyPhoneVerification"), {}, 400],
  [auth("VerifyMyEmail"), code, 400],
  [auth("VerifyMyPhone"), code, 400],
  [auth("RemoveMyPhone"), {}, 400],
]

/** What looks at a grant by its own id, which none but its administrators' list tells. */
const grantLooks = (grantId: string): readonly Step[] => [
  [management("GetGrantedProjectByID"), { ...project, grantId }],
  [management("ListGrantedProjectRoles"), { ...project, grantId }],
  [management("ListProjectGrantChanges"), { ...project, grantId }],
]

type Credentials = {
  readonly keyIds: readonly string[]
  readonly tokenIds: readonly string[]
  readonly appKeyIds: readonly string[]
}

/** The same of what service users and applications prove themselves with. */
const credentialChanges = ({ keyIds, tokenIds, appKeyIds }: Credentials): readonly Step[] => {
  const [[keyId, otherKeyId], [tokenId, otherTokenId]] = [keyIds, tokenIds]
  const [appKeyId, otherAppKeyId] = appKeyIds
  return [
    [management("GetMachineKeyByIDs"), { ...robot, keyId }],
    [management("RemoveMachineKey"), { ...robot, keyId }],
    [management("AddMachineKey"), { ...robot, type: "KEY_TYPE_JSON" }],
    ["RemoveKey", { ...robot, keyId: otherKeyId }],
    [management("GetPersonalAccessTokenByIDs"), { ...robot, tokenId }],
    [management("RemovePersonalAccessToken"), { ...robot, tokenId }],
    [management("AddPersonalAccessToken"), robot],
    ["RemovePersonalAccessToken", { ...robot, tokenId: otherTokenId }],
    ["AddSecret", robot],
    ["RemoveSecret", robot],
    [management("GenerateMachineSecret"), robot],
    [management("RemoveMachineSecret"), robot],
    ["GetApplicationKey", { keyId: appKeyId }],
    ["DeleteApplicationKey", { ...app, keyId: appKeyId }],
    [management("GetAppKey"), { ...older, keyId: otherAppKeyId }],
    [management("RemoveAppKey"), { ...older, keyId: otherAppKeyId }],
    [management("AddAppKey"), { ...older, type: "KEY_TYPE_JSON" }],
    ["GenerateClientSecret", app],
    ["RemoveClientSecret", { ...app, secretId: "0" }],
    [management("RegenerateOIDCClientSecret"), older],
    [management("RegenerateAPIClientSecret"), { ...older, appId: "api" }],
  ]
}

let pair: Pair
let tokens: Readonly<Record<"one" | "two", string>>
const made: Record<string, readonly unknown[]> = {}

beforeAll(async () => {
  pair = await openPair()
  tokens = { one: await pair.one.token(), two: await pair.two.token() }
  for (const name of ["one", "two"] as const) {
    made[name] = await play(pair[name], furniture(name), tokens[name])
  }
})
afterAll(() => pair?.close())

/** Takes the steps, each of which must succeed. */
async function play(side: Side, steps: readonly Step[], token: string): Promise<readonly any[]> {
  const answers: unknown[] = []
  for (const [name, request] of steps) {
    const { status, body } = await side.call(name, request, token)
    if (status !== 200) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`)
    answers.push(body)
  }
  return answers
}

const created = (name: string, index: number): any => made[name]?.[index]

/** The organisation that the instance began with. */
const home = (name: string): string =>
  created(
    name,
    furniture("").findIndex(([step]) => step === "ListOrganizations"),
  ).result[0].id

describe("of two instances with equal ids everywhere", () => {
  test("the ids really are equal, and the names are not", () => {
    const { one, two } = pair
    const idsOf = ({ key, orgId, ownerId }: Side) => [key.userId, key.keyId, orgId, ownerId]
    expect(idsOf(one)).toEqual(idsOf(two))
    expect(created("one", 3).keyId).toBe(created("two", 3).keyId)
    const clientOf = (name: string) => created(name, 5).oidcConfiguration.clientId
    expect(clientOf("one")).toBe(clientOf("two"))
    expect(created("one", 7).id).toBe(created("two", 7).id)
  })

  test("none shows what is the other's, whatever is asked", async () => {
    for (const [mine, others] of [
      ["one", "two"],
      ["two", "one"],
    ] as const) {
      const text = JSON.stringify(await play(pair[mine], looks, tokens[mine]))
      expect(text).toContain(`App ${mine}`)
      for (const word of [
        "App",
        "Org",
        "Project",
        "Robot",
        "Organisation",
        "Role",
        "Metadata",
        "Group",
      ]) {
        expect(text).not.toContain(`${word} ${others}`)
      }
      expect(text).not.toContain(`${others}.example.com`)
      expect(text).not.toContain(`Person-${others}`)
    }
  })

  test("a token of one opens no operation of the other, opaque or signed", async () => {
    const before = [pair.one.rows(), pair.two.rows()]
    const machine = { accessTokenType: "ACCESS_TOKEN_TYPE_JWT" }
    for (const [mine, others] of [
      ["one", "two"],
      ["two", "one"],
    ] as const) {
      for (const method of methods.filter(({ name }) => name !== "Healthz")) {
        const { status } = await pair[others].call(pathOf(method).slice(1), {}, tokens[mine])
        expect([method.name, status]).toEqual([method.name, 401])
      }
      const headers = bearer(tokens[mine])
      expect((await pair[others].send("/oidc/v1/userinfo", { headers })).status).toBe(401)
    }
    expect([pair.one.rows(), pair.two.rows()]).toEqual(before)

    const { userId } = pair.one.key
    await play(pair.one, [["UpdateUser", { userId, machine }]], tokens.one)
    const signed = await pair.one.token()
    expect(signed.split(".")).toHaveLength(3)
    expect((await pair.one.call("ListUsers", {}, signed)).status).toBe(200)
    expect((await pair.two.call("ListUsers", {}, signed)).status).toBe(401)
  })

  test("a key of one signs in at one only, even for the other's address", async () => {
    const { one, two } = pair
    const scope = "openid"
    for (const issuer of [one.url, two.url]) {
      const assertion = await assertionOf(issuer, one.key)
      const sent = { method: "POST", body: form(assertion, scope) }
      expect((await two.send("/oauth/v2/token", sent)).body.error).toBe("invalid_grant")
    }
  })

  test("gRPC finds each by its name, whatever port was dialled, and no other", () => {
    const asked = ["one.example.com:8081", "TWO.example.com:443", "one.example.com"]
    expect(asked.map((authority) => grpcHost(pair.store, authority))).toEqual([
      "one.example.com",
      "two.example.com",
      "one.example.com",
    ])
    for (const other of ["one.example.com.evil.com:8081", "example.com:8081", "", "%", ":8081"]) {
      expect(instanceAt(pair.store, grpcHost(pair.store, other))).toBeUndefined()
    }
  })

  test("each publishes its own keys under its own address", async () => {
    const { one, two } = pair
    for (const side of [one, two]) {
      const { body } = await side.send("/.well-known/openid-configuration")
      expect(body.issuer).toBe(side.url)
    }
    const keysOf = async (side: Side) => (await side.send("/oauth/v2/keys")).body.keys
    const [mine, others] = [await keysOf(one), await keysOf(two)]
    const kids = (keys: readonly any[]) => keys.map(({ kid }) => kid).sort()
    expect(kids(mine)).toEqual(kids(others))
    const material = (keys: readonly any[]) => keys.map(({ n, x }) => n ?? x)
    expect(material(mine).filter((each) => material(others).includes(each))).toEqual([])
  })

  test("what is refused in one leaves the other as it was", async () => {
    const before = pair.two.rows()
    for (const [name, request, status] of refusals) {
      const refused = await pair.one.call(name, request, tokens.one)
      expect([name, refused.status]).toEqual([name, status])
    }
    expect(pair.two.rows()).toEqual(before)
  })

  test("whatever is changed in one, not a row of the other is", async () => {
    const before = { one: pair.one.rows(), two: pair.two.rows() }
    expect(Object.values(before.two).flat().length).toBeGreaterThan(50)
    const ids = (field: string, ...at: readonly number[]) =>
      at.map((index): string => created("one", index)[field])
    const credentials = {
      keyIds: ids("keyId", 3, 12),
      tokenIds: ids("tokenId", 13, 14),
      appKeyIds: ids("keyId", 15, 16),
    }
    const steps = [
      ...credentialChanges(credentials),
      ...grantLooks(created("one", 21).administrators[0].projectGrant.id),
      ...changes(created("one", 7).id, created("one", 10).id, home("one")),
    ]
    const answers = await play(pair.one, steps, tokens.one)
    expect(JSON.stringify(answers)).not.toContain("two")
    expect(pair.two.rows()).toEqual(before.two)
    expect(pair.one.rows()).not.toEqual(before.one)
    await play(pair.two, looks, tokens.two)
  })

  test("every operation was tried", () => {
    const none = credentialChanges({ keyIds: [], tokenIds: [], appKeyIds: [] })
    const steps = [...furniture(""), ...looks, ...none, ...grantLooks(""), ...changes("", "", "")]
    const deleted: readonly Step[] = [
      ["DeleteWebKey", {}],
      [webKeys("DeleteWebKey"), {}],
    ]
    const tried = new Set([...steps, ...refusals, ...deleted].map(([name]) => name))
    // What the system alone may do is tried in system.test.ts.
    const isSystems = ({ permission, system }: Access) => system && !permission
    const missing = methods.filter((method) => {
      const isTried = tried.has(pathOf(method).slice(1)) || tried.has(method.name)
      return !isTried && !isSystems(getOption(method, access))
    })
    expect(missing.map(pathOf)).toEqual([])
  })

  test("deleting in one what has the other's id deletes nothing of the other's", async () => {
    const { keys } = (await pair.two.send("/oauth/v2/keys")).body
    const before = pair.two.rows()
    const [listed] = await play(pair.one, [["ListWebKeys", {}]], tokens.one)
    const idle = listed.webKeys.filter(({ state }: any) => state !== "STATE_ACTIVE")
    const [first, second] = idle.map(({ id }: any) => id)
    const deletions: readonly Step[] = [
      ["DeleteWebKey", { id: first }],
      [webKeys("DeleteWebKey"), { id: second }],
    ]
    await play(pair.one, deletions, tokens.one)
    const left = (await pair.one.send("/oauth/v2/keys")).body.keys
    expect(left).toHaveLength(listed.webKeys.length - 2)
    expect(pair.two.rows()).toEqual(before)
    expect((await pair.two.send("/oauth/v2/keys")).body.keys).toEqual(keys)
  })
})
