import { afterEach, beforeEach, expect, test } from "vitest"
import { findClient, isValidSecret } from "../../../src/domain/app/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"

let estate: Tenant
beforeEach(async () => {
  estate = await openTenant()
  const own = { organizationId: "org1", projectId: "px", name: "Own" }
  await estate.as("manager", "createProject", own)
})
afterEach(() => estate.close())

const webConfig = { redirectUris: ["https://app.example.com/callback"] }

const createApplication = (kind: string, value: object, more: object = {}) =>
  estate.as("manager", "createApplication", {
    projectId: "px",
    applicationId: "a1",
    name: "One",
    applicationType: { case: kind, value },
    ...more,
  })

const getApplication = async () =>
  (await estate.as("manager", "getApplication", { applicationId: "a1" })).application

const a1 = { applicationId: "a1", projectId: "px" }
const updateApplication = (kind: string, value: object) =>
  estate.as("manager", "updateApplication", { ...a1, applicationType: { case: kind, value } })

const isSecretValid = (clientId: string, secret: string) => {
  const client = findClient(estate.cx(), clientId)
  return client !== undefined && isValidSecret(estate.cx(), client.appId, { ...client, secret })
}

test("an OIDC application starts with the code flow and a secret that is shown once", async () => {
  const { applicationType } = await createApplication("oidcConfiguration", webConfig)
  const { clientId, clientSecret, nonCompliant } = applicationType.value
  expect(clientSecret).toMatch(/^[\w-]{64}$/)
  expect(nonCompliant).toBe(false)
  expect(isSecretValid(clientId, clientSecret)).toBe(true)
  expect(isSecretValid(clientId, `${clientSecret}A`)).toBe(false)

  const application = await getApplication()
  expect(application).toMatchObject({
    name: "One",
    projectId: "px",
    type: 1,
    state: 1,
    configuration: {
      case: "oidcConfiguration",
      value: { clientId, responseTypes: [1], grantTypes: [0], allowedOrigins: expect.any(Array) },
    },
  })
  const kept = JSON.stringify(await estate.store.log.read(0, 1000))
  expect(kept).not.toContain(clientSecret)
})

test("both spellings of a kind are accepted, and type must match", async () => {
  await createApplication("oidc", webConfig, { type: 1 })
  expect((await getApplication()).type).toBe(1)
  await createApplication("api", {}, { applicationId: "a2" })
  await expect(
    createApplication("api", {}, { applicationId: "a3", type: 1 }),
  ).rejects.toMatchObject({
    id: "app.type_contradicts",
  })
  const none = estate.as("manager", "createApplication", { projectId: "px", name: "None" })
  await expect(none).rejects.toMatchObject({ id: "app.kind_missing" })
})

test("clients without a secret get none and can't set one", async () => {
  const { applicationType } = await createApplication("oidc", {
    ...webConfig,
    applicationType: 1,
    authMethodType: 2,
  })
  expect(applicationType.value.clientSecret).toBe("")
  expect(isSecretValid(applicationType.value.clientId, "")).toBe(false)
  await expect(estate.as("manager", "generateClientSecret", a1)).rejects.toMatchObject({
    id: "app.no_secret",
  })
})

const hashes = async () => {
  const events = await estate.store.log.read(0, 1000)
  return events.filter(({ private: secret }) => JSON.stringify(secret ?? "").includes("hashed"))
}

test("a new secret revokes the old one and erases its hash", async () => {
  const { applicationType } = await createApplication("oidc", webConfig)
  const { clientId, clientSecret: old } = applicationType.value
  const { clientSecret } = await estate.as("manager", "generateClientSecret", a1)
  expect([isSecretValid(clientId, old), isSecretValid(clientId, clientSecret)]).toEqual([
    false,
    true,
  ])
  expect(await hashes()).toHaveLength(1)
})

test("a method without a secret revokes the secret permanently", async () => {
  const { applicationType } = await createApplication("oidc", webConfig)
  const { clientId, clientSecret } = applicationType.value
  await updateApplication("oidcConfiguration", { authMethodType: 3 })
  await updateApplication("oidcConfiguration", { authMethodType: 0 })
  expect(isSecretValid(clientId, clientSecret)).toBe(false)
  expect(await hashes()).toHaveLength(0)
})

test("the secret of an API is revoked with its method, too", async () => {
  const { applicationType } = await createApplication("api", {})
  const { clientId, clientSecret } = applicationType.value
  expect(isSecretValid(clientId, clientSecret)).toBe(true)
  await updateApplication("apiConfiguration", { authMethodType: 1 })
  expect(isSecretValid(clientId, clientSecret)).toBe(false)
  expect((await getApplication()).configuration.value).toMatchObject({ authMethodType: 1 })
  await expect(updateApplication("oidcConfiguration", {})).rejects.toMatchObject({
    id: "app.kind_differs",
  })
})

test("only the given fields change", async () => {
  await createApplication("oidc", {
    ...webConfig,
    developmentMode: true,
    clockSkew: { seconds: 2n, nanos: 0 },
  })
  await updateApplication("oidcConfiguration", { accessTokenType: 1 })
  await estate.as("manager", "updateApplication", { ...a1, name: "Renamed" })
  expect(await getApplication()).toMatchObject({
    name: "Renamed",
    configuration: {
      value: {
        ...webConfig,
        developmentMode: true,
        accessTokenType: 1,
        clockSkew: { seconds: 2n },
      },
    },
  })
})

const invalidRedirectUris = [
  ["/callback", "must be absolute"],
  ["https://app.example.com/#part", "must not have a fragment"],
  ["javascript:alert(1)", "must not have a scheme that browsers execute"],
  ["data:text/html,x", "must not have a scheme that browsers execute"],
  ["https://*.example.com/callback", "can have wildcards in development mode only"],
  ["https://app.example.com/a b", "must be absolute"],
] as const
test.each(invalidRedirectUris)("RFC 6749 §3.1.2: %s can't be a redirect URI", async (uri, rule) => {
  const tried = createApplication("oidc", { redirectUris: [uri] })
  const said = (field: string) => ({
    id: `app.${field}_invalid`,
    message: expect.stringContaining(`${field} ${rule}`),
  })
  await expect(tried).rejects.toMatchObject(said("redirect_uris"))
  const after = createApplication("oidc", { ...webConfig, postLogoutRedirectUris: [uri] })
  await expect(after).rejects.toMatchObject(said("post_logout_redirect_uris"))
})

test("wildcards require development mode, even if that is turned off later", async () => {
  await createApplication("oidc", {
    redirectUris: ["https://*.example.com/callback"],
    developmentMode: true,
  })
  const off = updateApplication("oidcConfiguration", { developmentMode: false })
  await expect(off).rejects.toMatchObject({ id: "app.redirect_uris_invalid" })
})

test("rejects a clock skew of more than five seconds", async () => {
  const tried = createApplication("oidc", { ...webConfig, clockSkew: { seconds: 6n, nanos: 0 } })
  await expect(tried).rejects.toMatchObject({ id: "app.clock_skew_invalid" })
})

const lanConfig = { redirectUris: ["http://grafana.lan:3000/login/generic_oauth"] }
const problems: readonly (readonly [string, object, boolean])[] = [
  ["redirect_uris.missing", {}, true],
  ["redirect_uris.custom_scheme", { redirectUris: ["com.example.app:/callback"] }, false],
  ["redirect_uris.http", { redirectUris: ["http://app.example.com/callback"] }, true],
  [
    "redirect_uris.http",
    { redirectUris: ["http://app.example.com/callback"], developmentMode: true },
    false,
  ],
  ["redirect_uris.http_private", lanConfig, true],
  ["redirect_uris.http_private_allowed", { ...lanConfig, privateNetworkHttp: true }, false],
  ["redirect_uris.http_loopback", { redirectUris: ["http://127.0.0.1:3000/callback"] }, false],
  ["response_types.without_grant", { ...webConfig, responseTypes: [1, 2] }, false],
  ["response_types.without_grant", { ...webConfig, responseTypes: [2] }, true],
  ["grant_types.implicit", { ...webConfig, grantTypes: [0, 1] }, false],
  ["grant_types.refresh_without_code", { ...webConfig, grantTypes: [2] }, false],
  ["auth_method.public_client", { ...webConfig, applicationType: 1 }, false],
  ["development_mode", { ...webConfig, developmentMode: true }, false],
]
test.each(problems)("%s of %o blocks sign-in: %s", async (key, config, refusesSignIn) => {
  const { applicationType } = await createApplication("oidc", config)
  const { nonCompliant, complianceProblems } = applicationType.value
  expect(nonCompliant).toBe(true)
  expect(complianceProblems).toContainEqual(expect.objectContaining({ key, refusesSignIn }))
  expect((await getApplication()).configuration.value.complianceProblems).toEqual(
    complianceProblems.map((each: object) => expect.objectContaining(each)),
  )
})

test("native applications can use the loopback interface and custom schemes", async () => {
  const { applicationType } = await createApplication("oidc", {
    applicationType: 2,
    authMethodType: 2,
    redirectUris: ["http://127.0.0.1/callback", "com.example.app:/callback"],
  })
  expect(applicationType.value.complianceProblems).toEqual([])
})

test("client IDs and names of service accounts share one namespace", async () => {
  const { applicationType } = await createApplication("oidc", webConfig)
  const { clientId } = applicationType.value
  const robot = createUser(estate.cx(), "robot", {
    kind: "machine",
    orgId: "org1",
    userName: clientId,
    name: "Robot",
    accessTokenType: "bearer",
  })
  await expect(robot).rejects.toMatchObject({ code: "already_exists" })
  await estate.as("manager", "deleteApplication", a1)
  expect(findClient(estate.cx(), clientId)).toBeUndefined()
})

test("project IDs are in that namespace, too", async () => {
  const { applicationType } = await createApplication("oidc", webConfig)
  const { clientId } = applicationType.value
  const add = (projectId: string) =>
    estate.as("manager", "createProject", { organizationId: "org1", projectId, name: "One" })
  await expect(add(clientId)).rejects.toMatchObject({
    code: "already_exists",
    id: "project.id_is_client",
  })
  await add("p1")
  const machine = { kind: "machine", orgId: "org1", name: "R", accessTokenType: "bearer" } as const
  const robot = (id: string, userName: string) =>
    createUser(estate.cx(), id, { ...machine, userName })
  await expect(robot("p1", "robot")).rejects.toMatchObject({ code: "already_exists" })
  await expect(robot("robot", "p1")).rejects.toMatchObject({ code: "already_exists" })
  await robot("r1", "r2")
  for (const id of ["r1", "r2"]) {
    await expect(add(id)).rejects.toMatchObject({ code: "already_exists" })
  }
  await estate.as("manager", "deleteProject", { projectId: "p1" })
  await robot("robot", "p1")
})

test("issuers are in that namespace, too: a web address can't be a name", async () => {
  for (const address of ["https://id.example.com", "HTTP://localhost:8080", "https:x"]) {
    const named = { organizationId: "org1", projectId: address, name: "One" }
    const refused = { code: "invalid_argument", id: "client.id_is_address" }
    await expect(estate.as("manager", "createProject", named)).rejects.toMatchObject(refused)
    const robot = { kind: "machine", orgId: "org1", name: "R", accessTokenType: "bearer" } as const
    const withId = createUser(estate.cx(), address, { ...robot, userName: "robot-x" })
    await expect(withId).rejects.toMatchObject(refused)
    const withName = createUser(estate.cx(), "r9", { ...robot, userName: address })
    await expect(withName).rejects.toMatchObject(refused)
  }
})

test("a service account's name is not an application's client id", async () => {
  await createUser(estate.cx(), "robot", {
    kind: "machine",
    orgId: "org1",
    userName: "robot",
    name: "Robot",
    accessTokenType: "bearer",
  })
  expect(findClient(estate.cx(), "robot")).toBeUndefined()
  expect(findClient(estate.cx(), "console-client")?.appId).toBe("console")
})

test("the console can't be deactivated or deleted", async () => {
  const console = { applicationId: "console", projectId: "own" }
  for (const name of ["deactivateApplication", "deleteApplication"]) {
    await expect(estate.as("owner", name, console)).rejects.toMatchObject({
      id: "app.is_console",
    })
  }
})

test("an application can be deactivated and activated repeatedly", async () => {
  await createApplication("oidc", webConfig)
  for (const name of ["deactivateApplication", "deactivateApplication"]) {
    await estate.as("manager", name, a1)
    expect((await getApplication()).state).toBe(2)
  }
  await estate.as("manager", "reactivateApplication", a1)
  expect((await getApplication()).state).toBe(1)
})

test("a wrong project or an inaccessible application returns not found", async () => {
  await createApplication("oidc", webConfig)
  const wrong = { applicationId: "a1", projectId: "p9" }
  expect(() => estate.as("manager", "deleteApplication", wrong)).toThrow("application not found")
  for (const name of ["updateApplication", "deleteApplication", "generateClientSecret"]) {
    expect(() => estate.as("stranger", name, a1)).toThrow("application not found")
  }
  expect(() => estate.as("stranger", "getApplication", a1)).toThrow("application not found")
  expect((await getApplication()).state).toBe(1)
})

test("finds applications by project, name, state, type, and client ID", async () => {
  await createApplication("oidc", webConfig)
  await createApplication("api", {}, { applicationId: "a2", name: "Two" })
  await estate.as("manager", "deactivateApplication", { ...a1, applicationId: "a2" })
  const ids = async (kind: string, value: unknown) => {
    const filters = [{ filter: { case: kind, value } }]
    const found = await estate.as("manager", "listApplications", { filters })
    const list = found.applications.map((each: any) => each.applicationId)
    expect(found.pagination.totalResult).toBe(BigInt(list.length))
    return list.sort()
  }
  expect(await ids("projectIdFilter", { projectId: "px" })).toEqual(["a1", "a2"])
  expect(await ids("projectIdFilter", { projectId: "own" })).toEqual(["console"])
  expect(await ids("projectIdFilter", { projectId: "p9" })).toEqual([])
  expect(await ids("nameFilter", { name: "tw", method: 3 })).toEqual(["a2"])
  expect(await ids("stateFilter", 2)).toEqual(["a2"])
  expect(await ids("typeFilter", 2)).toEqual(["a2"])
  expect(await ids("clientIdFilter", { clientId: "console-client" })).toEqual(["console"])
  expect(await ids("entityIdFilter", { entityId: "x" })).toEqual([])
  expect(await ids("internalFilter", true)).toEqual(["console"])
  expect(await ids("internalFilter", false)).toEqual(["a1", "a2"])
  expect((await estate.as("stranger", "listApplications")).applications).toEqual([])
})
