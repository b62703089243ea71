import { afterEach, beforeEach, expect, test } from "vitest"
import { findClient, isSecret } from "../../../src/domain/app/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { type Estate, openEstate } from "../../support/estate.ts"

let estate: Estate
beforeEach(async () => {
  estate = await openEstate()
  const own = { organizationId: "org1", projectId: "px", name: "Own" }
  await estate.as("manager", "createProject", own)
})
afterEach(() => estate.close())

const web = { redirectUris: ["https://app.example.com/callback"] }

const made = (kind: string, value: object, more: object = {}) =>
  estate.as("manager", "createApplication", {
    projectId: "px",
    applicationId: "a1",
    name: "One",
    applicationType: { case: kind, value },
    ...more,
  })

const shown = async () =>
  (await estate.as("manager", "getApplication", { applicationId: "a1" })).application

const named = { applicationId: "a1", projectId: "px" }
const changed = (kind: string, value: object) =>
  estate.as("manager", "updateApplication", { ...named, applicationType: { case: kind, value } })

const fits = (clientId: string, secret: string) => {
  const client = findClient(estate.cx(), clientId)
  return client !== undefined && isSecret(estate.cx(), client.appId, { ...client, secret })
}

test("an OIDC application begins with the code flow and a secret that is shown once", async () => {
  const { applicationType } = await made("oidcConfiguration", web)
  const { clientId, clientSecret, nonCompliant } = applicationType.value
  expect(clientSecret).toMatch(/^[\w-]{64}$/)
  expect(nonCompliant).toBe(false)
  expect(fits(clientId, clientSecret)).toBe(true)
  expect(fits(clientId, `${clientSecret}A`)).toBe(false)

  const application = await shown()
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

test("both spellings of a kind count, and type must agree", async () => {
  await made("oidc", web, { type: 1 })
  expect((await shown()).type).toBe(1)
  await made("api", {}, { applicationId: "a2" })
  await expect(made("api", {}, { applicationId: "a3", type: 1 })).rejects.toMatchObject({
    id: "app.type_contradicts",
  })
  const none = estate.as("manager", "createApplication", { projectId: "px", name: "None" })
  await expect(none).rejects.toMatchObject({ id: "app.kind_missing" })
})

test("clients without a secret get none, and can't be given one", async () => {
  const { applicationType } = await made("oidc", { ...web, applicationType: 1, authMethodType: 2 })
  expect(applicationType.value.clientSecret).toBe("")
  expect(fits(applicationType.value.clientId, "")).toBe(false)
  await expect(estate.as("manager", "generateClientSecret", named)).rejects.toMatchObject({
    id: "app.no_secret",
  })
})

const hashes = async () => {
  const events = await estate.store.log.read(0, 1000)
  return events.filter(({ private: secret }) => JSON.stringify(secret ?? "").includes("hashed"))
}

test("a new secret voids the old one, and its hash is erased", async () => {
  const { applicationType } = await made("oidc", web)
  const { clientId, clientSecret: old } = applicationType.value
  const { clientSecret } = await estate.as("manager", "generateClientSecret", named)
  expect([fits(clientId, old), fits(clientId, clientSecret)]).toEqual([false, true])
  expect(await hashes()).toHaveLength(1)
})

test("a method without a secret voids the secret for good", async () => {
  const { applicationType } = await made("oidc", web)
  const { clientId, clientSecret } = applicationType.value
  await changed("oidcConfiguration", { authMethodType: 3 })
  await changed("oidcConfiguration", { authMethodType: 0 })
  expect(fits(clientId, clientSecret)).toBe(false)
  expect(await hashes()).toHaveLength(0)
})

test("the secret of an API goes with its method likewise", async () => {
  const { applicationType } = await made("api", {})
  const { clientId, clientSecret } = applicationType.value
  expect(fits(clientId, clientSecret)).toBe(true)
  await changed("apiConfiguration", { authMethodType: 1 })
  expect(fits(clientId, clientSecret)).toBe(false)
  expect((await shown()).configuration.value).toMatchObject({ authMethodType: 1 })
  await expect(changed("oidcConfiguration", {})).rejects.toMatchObject({ id: "app.kind_differs" })
})

test("only what is given changes", async () => {
  await made("oidc", { ...web, developmentMode: true, clockSkew: { seconds: 2n, nanos: 0 } })
  await changed("oidcConfiguration", { accessTokenType: 1 })
  await estate.as("manager", "updateApplication", { ...named, name: "Renamed" })
  expect(await shown()).toMatchObject({
    name: "Renamed",
    configuration: {
      value: { ...web, developmentMode: true, accessTokenType: 1, clockSkew: { seconds: 2n } },
    },
  })
})

const refusedUris = [
  "/callback",
  "https://app.example.com/#part",
  "javascript:alert(1)",
  "data:text/html,x",
  "https://*.example.com/callback",
  "https://app.example.com/a b",
]
test.each(refusedUris)("RFC 6749 §3.1.2: %s can't be a redirect URI", async (uri) => {
  const tried = made("oidc", { redirectUris: [uri] })
  const said = (field: string) => ({
    id: `app.${field}_invalid`,
    message: expect.stringMatching(new RegExp(`^${field} m`)),
  })
  await expect(tried).rejects.toMatchObject(said("redirect_uris"))
  const after = made("oidc", { ...web, postLogoutRedirectUris: [uri] })
  await expect(after).rejects.toMatchObject(said("post_logout_redirect_uris"))
})

test("wildcards are for development mode, also when that is turned off later", async () => {
  await made("oidc", { redirectUris: ["https://*.example.com/callback"], developmentMode: true })
  const off = changed("oidcConfiguration", { developmentMode: false })
  await expect(off).rejects.toMatchObject({ id: "app.redirect_uris_invalid" })
})

test("a clock skew of more than five seconds is refused", async () => {
  const tried = made("oidc", { ...web, clockSkew: { seconds: 6n, nanos: 0 } })
  await expect(tried).rejects.toMatchObject({ id: "app.clock_skew_invalid" })
})

const lan = { redirectUris: ["http://grafana.lan:3000/login/generic_oauth"] }
const problems: readonly (readonly [string, object, boolean])[] = [
  ["redirect_uris.missing", {}, true],
  ["redirect_uris.custom_scheme", { redirectUris: ["com.example.app:/callback"] }, false],
  ["redirect_uris.http", { redirectUris: ["http://app.example.com/callback"] }, true],
  [
    "redirect_uris.http",
    { redirectUris: ["http://app.example.com/callback"], developmentMode: true },
    false,
  ],
  ["redirect_uris.http_private", lan, true],
  ["redirect_uris.http_private_allowed", { ...lan, privateNetworkHttp: true }, false],
  ["redirect_uris.http_loopback", { redirectUris: ["http://127.0.0.1:3000/callback"] }, false],
  ["response_types.without_grant", { ...web, responseTypes: [1, 2] }, false],
  ["response_types.without_grant", { ...web, responseTypes: [2] }, true],
  ["grant_types.implicit", { ...web, grantTypes: [0, 1] }, false],
  ["grant_types.refresh_without_code", { ...web, grantTypes: [2] }, false],
  ["auth_method.public_client", { ...web, applicationType: 1 }, false],
  ["development_mode", { ...web, developmentMode: true }, false],
]
test.each(problems)("%s of %o refuses sign-in: %s", async (key, config, refusesSignIn) => {
  const { applicationType } = await made("oidc", config)
  const { nonCompliant, complianceProblems } = applicationType.value
  expect(nonCompliant).toBe(true)
  expect(complianceProblems).toContainEqual(expect.objectContaining({ key, refusesSignIn }))
  expect((await shown()).configuration.value.complianceProblems).toEqual(
    complianceProblems.map((each: object) => expect.objectContaining(each)),
  )
})

test("native applications may use the loopback interface and schemes of their own", async () => {
  const { applicationType } = await made("oidc", {
    applicationType: 2,
    authMethodType: 2,
    redirectUris: ["http://127.0.0.1/callback", "com.example.app:/callback"],
  })
  expect(applicationType.value.complianceProblems).toEqual([])
})

test("client ids and the names of service users are one namespace", async () => {
  const { applicationType } = await made("oidc", web)
  const { clientId } = applicationType.value
  const robot = createUser(estate.cx(), "robot", {
    kind: "machine",
    orgId: "org1",
    userName: clientId,
    name: "Robot",
    accessTokenType: "bearer",
  })
  await expect(robot).rejects.toMatchObject({ code: "already_exists" })
  await estate.as("manager", "deleteApplication", named)
  expect(findClient(estate.cx(), clientId)).toBeUndefined()
})

test("ids of projects are in that namespace, too", async () => {
  const { applicationType } = await made("oidc", web)
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

test("issuers are in that namespace, too: nobody takes a web address", async () => {
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

test("a service user's name is not an application's client id", async () => {
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

test("the console can't be stopped or removed", async () => {
  const console = { applicationId: "console", projectId: "own" }
  for (const name of ["deactivateApplication", "deleteApplication"]) {
    await expect(estate.as("owner", name, console)).rejects.toMatchObject({
      id: "app.is_console",
    })
  }
})

test("an application is stopped and started, each as often as one likes", async () => {
  await made("oidc", web)
  for (const name of ["deactivateApplication", "deactivateApplication"]) {
    await estate.as("manager", name, named)
    expect((await shown()).state).toBe(2)
  }
  await estate.as("manager", "reactivateApplication", named)
  expect((await shown()).state).toBe(1)
})

test("a wrong project, or somebody else's application, answers like an absent one", async () => {
  await made("oidc", web)
  const wrong = { applicationId: "a1", projectId: "p9" }
  expect(() => estate.as("manager", "deleteApplication", wrong)).toThrow("no such application")
  for (const name of ["updateApplication", "deleteApplication", "generateClientSecret"]) {
    expect(() => estate.as("stranger", name, named)).toThrow("there is no such application")
  }
  expect(() => estate.as("stranger", "getApplication", named)).toThrow("no such application")
  expect((await shown()).state).toBe(1)
})

test("applications are found by project, name, state, type and client id", async () => {
  await made("oidc", web)
  await made("api", {}, { applicationId: "a2", name: "Two" })
  await estate.as("manager", "deactivateApplication", { ...named, applicationId: "a2" })
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
