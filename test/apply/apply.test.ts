// Which requests detect differences, and which values are rejected without a request.
import type { JsonObject } from "@bufbuild/protobuf"
import { expect, test } from "vitest"
import type { CallApi } from "../../src/apply/api-client.ts"
import { apply } from "../../src/apply/apply.ts"
import { Fault } from "../../src/kernel/fault.ts"

/** A server with an organization that has ten thousand people in it; notes what it is asked. */
function fakeServer() {
  const asked: (readonly [string, JsonObject])[] = []
  const call: CallApi = async ({ name }, request) => {
    asked.push([name, request])
    if (name === "ListOrganizations") return { result: [{ id: "1", name: "Acme" }] }
    if (name !== "ListUsers") throw new Error(`${name} is not expected`)
    const named = JSON.stringify(request).match(/(?<="userName":")\w+/g) ?? []
    return { result: named.map((username) => ({ userId: username, username, machine: {} })) }
  }
  return { asked, call }
}

const documents = (users: readonly JsonObject[]) => [
  { file: "a.yaml", content: { organizations: [{ name: "Acme", users: [...users] }] } },
]

test("users are searched by name; not all are listed", async () => {
  const { asked, call } = fakeServer()
  const people = Array.from({ length: 120 }, (_, at) => ({ username: `u${at}`, machine: {} }))
  const planned = await apply(call, documents(people), { isPlan: true })
  expect(planned).toEqual({ steps: [], undescribed: [] })
  expect(asked.map(([name]) => name)).toEqual(["ListOrganizations", ...Array(3).fill("ListUsers")])
})

test("an application keeps the client ID and the secret from the file", async () => {
  const asked: JsonObject[] = []
  const clientId = "shop"
  const oidcConfiguration = { clientId, clientSecret: "Chosen-0123456789-abcdefghijklmn" }
  const described = (oidc: JsonObject) => {
    const applications = [{ name: "Shop", oidcConfiguration: oidc }]
    const projects = [{ name: "Web", applications }]
    return [{ file: "a.yaml", content: { organizations: [{ name: "Acme", projects }] } }]
  }
  const project = { projectId: "2", organizationId: "1", name: "Web" }
  const answering =
    (applications: JsonObject[]): CallApi =>
    async ({ name }, request) => {
      if (name === "ListOrganizations") return { result: [{ id: "1", name: "Acme" }] }
      if (name === "ListProjects") return { projects: [project] }
      if (name === "ListApplications") return { applications }
      if (name === "CreateApplication") asked.push(request)
      return { applicationId: "3", oidcConfiguration: { clientId: "shop" } }
    }
  const made = await apply(answering([]), described(oidcConfiguration), { isPlan: false })
  const sent = { ...oidcConfiguration, idTokenUserinfoAssertion: true }
  expect(asked).toEqual([{ projectId: "2", name: "Shop", oidcConfiguration: sent }])
  // The server never returns a secret from the file.
  expect(made.steps).toMatchObject([{ once: { clientId: "shop" } }])
  expect(JSON.stringify(made)).not.toContain("Chosen-")

  const there = answering([
    { projectId: "2", applicationId: "3", name: "Shop", oidcConfiguration: { clientId } },
  ])
  const again = await apply(there, described(oidcConfiguration), { isPlan: false })
  expect(again.steps).toEqual([])
  const other = described({ ...oidcConfiguration, clientId: "store" })
  await expect(apply(there, other, { isPlan: false })).rejects.toThrow(
    /application Shop.*: client_id can't be changed/,
  )
  expect(asked).toHaveLength(1)
})

test("a user without a name is rejected with a clear message", async () => {
  const { call } = fakeServer()
  const work = apply(call, documents([{ machine: { name: "R" } }]), { isPlan: true })
  await expect(work).rejects.toThrow(
    "a.yaml: username is required in every user of organization Acme",
  )
})

test("an error contains the name and the expected format, never the value", async () => {
  const secret = 73512345
  const wrongly = (content: JsonObject) =>
    apply(fakeServer().call, [{ file: "a.yaml", content }], { isPlan: true }).then(
      () => "",
      (fault: Error) => fault.message,
    )
  const provider = (fields: JsonObject) => ({ providers: [{ name: "Head", oidc: fields }] })
  const user = (fields: JsonObject) => documents([{ username: "eva", ...fields }])[0]?.content ?? {}
  for (const [content, why] of [
    [provider({ clientSecret: secret }), /client_secret: expected string$/],
    [provider({ scopes: ["openid", secret] }), /scopes: list item #2: expected string$/],
    [provider({ scopes: `${secret}` }), /scopes: expected Array$/],
    [provider({ isIdTokenMapping: `${secret}, got x` }), /mapping: expected boolean$/],
    [user({ machine: { name: "R", accessTokenType: `${secret}` } }), /the value is invalid$/],
    [user({ machine: `key "${secret}" is unknown` }), /the value is invalid$/],
    [user({ machine: { nam: `${secret}` } }), /key "nam" is unknown$/],
  ] as const) {
    const said = await wrongly(content)
    expect(said).toMatch(why)
    expect(said).toMatch(/^a.yaml: (provider Head|user eva of organization Acme): cannot read \w/)
    expect(said).not.toContain(`${secret}`)
  }
})

test("a different spelling of an allowed domain is no change", async () => {
  const options = { allowedDomains: ["example.com", "xn--bcher-kva.example"] }
  const idp = { id: "7", name: "Head", config: { oidc: { clientId: "c" }, options } }
  const call: CallApi = async ({ name }) => {
    if (name === "ListProviders") return { result: [idp] }
    return name === "GetProviderByID" ? { idp } : {}
  }
  const planned = (allowedDomains: string[]) => {
    const provider = { name: "Head", oidc: { clientId: "c" }, providerOptions: { allowedDomains } }
    return apply(call, [{ file: "a.yaml", content: { providers: [provider] } }], { isPlan: true })
  }
  expect((await planned(["BÜCHER.example", "Example.com", "example.com"])).steps).toEqual([])
  expect((await planned(["example.com"])).steps).toMatchObject([
    { thing: "provider Head", fields: ["providerOptions.allowedDomains"] },
  ])
})

test("an error lists what the file must confirm; with the confirmation the update is sent", async () => {
  const asked: JsonObject[] = []
  const subject = "eva/email//1/ada"
  const there = { user: { id: "eva" }, organization: { id: "1" }, roles: ["ORG_USER_MANAGER"] }
  const call: CallApi = async ({ name }, request) => {
    if (name === "ListOrganizations") return { result: [{ id: "1", name: "Acme" }] }
    if (name === "ListUsers") {
      return { result: [{ userId: "eva", username: "eva", human: {} }] }
    }
    if (name === "ListAdministrators") return { administrators: [there] }
    asked.push(request)
    if (Array.isArray(request.confirmedCredentials)) return {}
    throw new Fault("failed_precondition", "member.credentials_unconfirmed", "confirm these", {
      preconditions: [{ type: "email", subject, description: "created by the user ada" }],
    })
  }
  const applied = (more: JsonObject) => {
    const administrator = [{ on: "organization", roles: ["ORG_OWNER"], ...more }]
    return apply(call, documents([{ username: "eva", administrator }]), { isPlan: false })
  }
  const { fault: refused } = await applied({})
  expect(refused?.message).toBe(
    "confirm these: email: created by the user ada; to confirm them, add " +
      `confirmedCredentials: ["${subject}"] to the file`,
  )
  const confirmedCredentials = [subject]
  expect(await applied({ confirmedCredentials })).not.toHaveProperty("fault")
  expect(asked.at(-1)).toMatchObject({ roles: ["ORG_OWNER"], confirmedCredentials })
})

test("a new application has the profile in its ID tokens unless the file sets this", async () => {
  const asked: (readonly [string, JsonObject])[] = []
  const oidcConfiguration = { redirectUris: ["a:/cb"], idTokenUserinfoAssertion: false }
  const there = { applicationId: "3", projectId: "2", name: "Old", oidcConfiguration }
  const call: CallApi = async ({ name }, request) => {
    asked.push([name, request])
    if (name === "ListOrganizations") return { result: [{ id: "1", name: "Acme" }] }
    if (name === "ListProjects")
      return { projects: [{ projectId: "2", organizationId: "1", name: "Wiki" }] }
    if (name === "ListApplications") return { applications: [there] }
    return { applicationId: "4" }
  }
  const oidc = { redirectUris: ["a:/cb"] }
  const applications = [
    { name: "Old", oidcConfiguration: oidc },
    { name: "New", oidcConfiguration: oidc },
    { name: "Bare", oidcConfiguration: { ...oidc, idTokenUserinfoAssertion: false } },
    { name: "Snake", oidc_configuration: { ...oidc, id_token_userinfo_assertion: false } },
    { name: "Spelled", oidc_configuration: oidc },
    { name: "API", apiConfiguration: {} },
  ]
  const projects = [{ name: "Wiki", applications }]
  const content = { organizations: [{ name: "Acme", projects }] }
  await apply(call, [{ file: "a.yaml", content }], { isPlan: false })
  const sent = asked.flatMap(([name, request]) =>
    /^(Create|Update)/.test(name) ? [[name, request]] : [],
  )
  const created = (name: string, configuration: JsonObject) => [
    "CreateApplication",
    { projectId: "2", name, ...configuration },
  ]
  expect(sent).toEqual([
    created("New", { oidcConfiguration: { ...oidc, idTokenUserinfoAssertion: true } }),
    created("Bare", { oidcConfiguration: { ...oidc, idTokenUserinfoAssertion: false } }),
    created("Snake", { oidc_configuration: { ...oidc, id_token_userinfo_assertion: false } }),
    created("Spelled", { oidc_configuration: { ...oidc, idTokenUserinfoAssertion: true } }),
    created("API", { apiConfiguration: {} }),
  ])
})

test("a new sign-out URI is sent with its permission", async () => {
  const asked: JsonObject[] = []
  const there = {
    clientId: "shop",
    backChannelLogoutUri: "http://nas.lan:5000/out",
    backChannelLogoutPrivateNetwork: true,
  }
  const project = { projectId: "2", organizationId: "1", name: "Web" }
  const call: CallApi = async ({ name }, request) => {
    if (name === "ListOrganizations") return { result: [{ id: "1", name: "Acme" }] }
    if (name === "ListProjects") return { projects: [project] }
    if (name === "UpdateApplication") asked.push(request)
    const ids = { projectId: "2", applicationId: "3" }
    return { applications: [{ ...ids, name: "Shop", oidcConfiguration: there }] }
  }
  const described = (oidcConfiguration: JsonObject) => {
    const projects = [{ name: "Web", applications: [{ name: "Shop", oidcConfiguration }] }]
    return [{ file: "a.yaml", content: { organizations: [{ name: "Acme", projects }] } }]
  }
  const moved = {
    backChannelLogoutUri: "http://nas.lan:5001/out",
    backChannelLogoutPrivateNetwork: true,
  }
  const { steps } = await apply(call, described(moved), { isPlan: false })
  expect(steps).toMatchObject([{ fields: ["oidcConfiguration.backChannelLogoutUri"] }])
  const ids = { projectId: "2", applicationId: "3" }
  expect(asked).toEqual([{ ...ids, oidcConfiguration: moved }])
  // Other changes need no permission.
  const renamed = { ...there, additionalOrigins: ["https://shop.example.com"] }
  await apply(call, described(renamed), { isPlan: false })
  const { additionalOrigins } = renamed
  expect(asked.at(1)).toEqual({ ...ids, oidcConfiguration: { additionalOrigins } })
})

test("the token contents of an application change as the file defines", async () => {
  const asked: JsonObject[] = []
  const shown = { idTokenClientId: true, idTokenProjectAudience: true }
  const there = {
    applicationId: "3",
    projectId: "2",
    name: "Wiki",
    oidcConfiguration: shown,
  }
  const call: CallApi = async ({ name }, request) => {
    if (name === "ListOrganizations") return { result: [{ id: "1", name: "Acme" }] }
    if (name === "ListProjects")
      return { projects: [{ projectId: "2", organizationId: "1", name: "Web" }] }
    if (name === "ListApplications") return { applications: [there] }
    asked.push(request)
    return {}
  }
  const applied = (
    oidcConfiguration: JsonObject,
    described = { oidcConfiguration } as JsonObject,
  ) => {
    const projects = [{ name: "Web", applications: [{ name: "Wiki", ...described }] }]
    const content = { organizations: [{ name: "Acme", projects }] }
    return apply(call, [{ file: "a.yaml", content }], { isPlan: false })
  }
  await applied({ idTokenProjectAudience: true })
  expect(asked).toEqual([])
  const stated = { idTokenClientId: false, groupsClaim: "GROUPS_CLAIM_GROUPS" }
  await applied(stated)
  expect(asked).toMatchObject([{ applicationId: "3", oidcConfiguration: stated }])
  const spelled = { oidc_configuration: { id_token_client_id: false } }
  await applied({}, spelled)
  expect(asked.at(1)).toMatchObject({ oidcConfiguration: { idTokenClientId: false } })
  // A setting that stays off is no change.
  await applied({ idTokenRoleAssertion: false })
  expect(asked).toHaveLength(2)
})

test("the scopes of an API are sent with its method, and only if they differ", async () => {
  const asked: JsonObject[] = []
  const authMethodType = "API_AUTH_METHOD_TYPE_PRIVATE_KEY_JWT"
  const scopes = [{ scope: "read:orders", name: "Read orders" }, { scope: "write:orders" }]
  const there = { clientId: "orders", authMethodType, scopes: { scopes } }
  const project = { projectId: "2", organizationId: "1", name: "Web" }
  const call: CallApi = async ({ name }, request) => {
    if (name === "ListOrganizations") return { result: [{ id: "1", name: "Acme" }] }
    if (name === "ListProjects") return { projects: [project] }
    if (name === "UpdateApplication") asked.push(request)
    const ids = { projectId: "2", applicationId: "3" }
    return { applications: [{ ...ids, name: "Orders", apiConfiguration: there }] }
  }
  const applied = (listed: readonly JsonObject[]) => {
    const apiConfiguration = { scopes: { scopes: [...listed] } }
    const projects = [{ name: "Web", applications: [{ name: "Orders", apiConfiguration }] }]
    const content = { organizations: [{ name: "Acme", projects }] }
    return apply(call, [{ file: "a.yaml", content }], { isPlan: false })
  }
  // The same values in another order and with the fields that a response omits.
  const same = [
    { description: "", name: "", scope: "write:orders" },
    { name: "Read orders", scope: "read:orders" },
  ]
  expect((await applied(same)).steps).toEqual([])
  const fewer = [{ scope: "read:orders", name: "Read" }]
  expect((await applied(fewer)).steps).toMatchObject([{ fields: ["apiConfiguration.scopes"] }])
  const apiConfiguration = { authMethodType, scopes: { scopes: fewer } }
  expect(asked).toEqual([{ projectId: "2", applicationId: "3", apiConfiguration }])
})

test("a setting that is false in the file is turned off, and not sent if it is off already", async () => {
  const asked: JsonObject[] = []
  let there: JsonObject = { clientId: "shop", plainOauth: true, developmentMode: true }
  const project = { projectId: "2", organizationId: "1", name: "Web" }
  const call: CallApi = async ({ name }, request) => {
    if (name === "ListOrganizations") return { result: [{ id: "1", name: "Acme" }] }
    if (name === "ListProjects") return { projects: [project] }
    if (name === "UpdateApplication") asked.push(request)
    const ids = { projectId: "2", applicationId: "3" }
    return { applications: [{ ...ids, name: "Shop", oidcConfiguration: there }] }
  }
  const applied = (oidcConfiguration: JsonObject) => {
    const projects = [{ name: "Web", applications: [{ name: "Shop", oidcConfiguration }] }]
    const content = { organizations: [{ name: "Acme", projects }] }
    return apply(call, [{ file: "a.yaml", content }], { isPlan: false })
  }
  const off = { plain_oauth: false, developmentMode: true }
  expect((await applied(off)).steps).toMatchObject([{ fields: ["oidcConfiguration.plainOauth"] }])
  const ids = { projectId: "2", applicationId: "3" }
  expect(asked).toEqual([{ ...ids, oidcConfiguration: { plainOauth: false } }])
  there = { clientId: "shop", developmentMode: true }
  expect((await applied(off)).steps).toEqual([])
})

test("the policies of a file require a second factor of managers", async () => {
  const asked: JsonObject[] = []
  const call: CallApi = async ({ name }, request) => {
    if (name === "GetLoginPolicy") return { policy: { allowUsernamePassword: true } }
    if (name === "UpdateLoginPolicy") asked.push(request)
    return {}
  }
  const content = { policies: { login: { forceMfaManagers: true } } }
  const done = await apply(call, [{ file: "a.yaml", content }], { isPlan: false })
  expect(done.steps).toHaveLength(1)
  expect(asked).toMatchObject([{ forceMfaManagers: true, allowUsernamePassword: true }])
})

test("the access of an application is updated from the file", async () => {
  const asked: JsonObject[] = []
  const project = { projectId: "2", organizationId: "1", name: "Web" }
  const ids = { projectId: "2", applicationId: "3" }
  let there: JsonObject = {
    rule: "APPLICATION_ACCESS_RULE_EVERYONE",
    secondFactorRequired: true,
    sessionMaxAge: "0s",
    allowedNetworks: {},
  }
  const call: CallApi = async ({ name }, request) => {
    if (name === "ListOrganizations") return { result: [{ id: "1", name: "Acme" }] }
    if (name === "ListProjects") return { projects: [project] }
    if (name === "UpdateApplication") asked.push(request)
    return { applications: [{ ...ids, name: "Photos", access: there, apiConfiguration: {} }] }
  }
  const applied = (access: JsonObject) => {
    const projects = [{ name: "Web", applications: [{ name: "Photos", access }] }]
    const content = { organizations: [{ name: "Acme", projects }] }
    return apply(call, [{ file: "a.yaml", content }], { isPlan: false })
  }
  const described = {
    rule: "APPLICATION_ACCESS_RULE_ASSIGNED",
    secondFactorRequired: false,
    sessionMaxAge: "3600s",
    allowedNetworks: { cidrs: ["10.0.0.0/8"] },
  }
  await applied(described)
  expect(asked).toEqual([{ ...ids, access: described }])
  there = described
  expect((await applied(described)).steps).toEqual([])
  expect((await applied({ rule: described.rule })).steps).toEqual([])
})
