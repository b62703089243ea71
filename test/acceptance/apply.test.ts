// The binary applies a directory of YAML files to a server, through the public API.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { openHttpBrowser } from "../support/http-browser.ts"
import { run, temporaryFolder } from "../support/latchkey.ts"
import { openService, type Service } from "./service.ts"

const folder = temporaryFolder()
const files = join(folder.path, "files")
const keyFile = join(folder.path, "key.json")
const password = "Correct-horse-9"
let service: Service
beforeAll(async () => {
  service = await openService()
  mkdirSync(files)
  writeFileSync(keyFile, JSON.stringify(service.key))
  writeFileSync(join(files, "secret"), `${password}\n`)
})
afterAll(async () => {
  await service?.close()
  folder.remove()
})

async function apply(...more: readonly string[]) {
  const flags = ["--server", service.url, "--key", keyFile, "--json", ...more]
  const { code, output } = await run(["apply", files, ...flags])
  return { code, ...JSON.parse(output) }
}

/** A short form of the steps. */
const summarizeSteps = ({ steps }: Awaited<ReturnType<typeof apply>>): readonly string[] =>
  steps.map(
    ({ action, thing, fields }: { action: string; thing: string; fields: string[] }) =>
      `${action} ${thing}${fields.length === 0 ? "" : `: ${fields}`}`,
  )

const writeDescription = (name: string, text: string) => writeFileSync(join(files, name), text)

const wikiYaml = (scene: {
  readonly role?: string
  readonly uri?: string
  readonly roles?: string
  readonly family?: string
  readonly length?: number
}) => `
policies:
  passwordComplexity: { minLength: ${scene.length ?? 8}, hasSymbol: false }
organizations:
  - name: Acme
    projects:
      - name: Wiki
        authorizationRequired: true
        roles:
          - { key: editor, displayName: ${scene.role ?? "Editor"} }
          - { key: reader }
        applications:
          - name: Wiki web
            oidcConfiguration:
              redirectUris: [ "${scene.uri ?? "https://wiki.example.com/cb"}" ]
              responseTypes: [ OIDC_RESPONSE_TYPE_CODE ]
              grantTypes: [ OIDC_GRANT_TYPE_AUTHORIZATION_CODE ]
              applicationType: OIDC_APP_TYPE_WEB
              authMethodType: OIDC_AUTH_METHOD_TYPE_BASIC
              clockSkew: 0.5s
    users:
      - username: eva
        human:
          profile: { givenName: Eva, familyName: ${scene.family ?? "Muster"} }
          email: { email: eva@example.com, isVerified: true }
          password: { password: { $file: secret } }
        authorizations: [ { project: Wiki, roleKeys: [ ${scene.roles ?? "editor"} ] } ]
        administrator: [ { on: organization, roles: [ ORG_USER_MANAGER ] } ]
`

const globexYaml = `
organizations:
  - name: Globex
    policies:
      lockout: { maxPasswordAttempts: 5 }
    users:
      - username: robot
        machine: { name: Robot }
        authorizations: []
`

test("a plan lists what would be created, and creates nothing", async () => {
  writeDescription("a.yaml", wikiYaml({}))
  writeDescription("b.yml", globexYaml)
  const plan = await apply("--plan")
  expect(plan.code).toBe(3)
  expect(summarizeSteps(plan)).toEqual([
    "change policy passwordComplexity: hasSymbol",
    "create organization Globex",
    "create policy lockout of organization Globex: maxPasswordAttempts",
    "create project Wiki of organization Acme",
    "create role editor of project Wiki of organization Acme",
    "create role reader of project Wiki of organization Acme",
    "create application Wiki web of project Wiki of organization Acme",
    "create user eva of organization Acme",
    "create authorization Wiki of user eva of organization Acme",
    "create administrator organization of user eva of organization Acme",
    "create user robot of organization Globex",
  ])
  expect((await service.get("ListOrganizations")).result).toHaveLength(1)
})

test("creates what the files describe; a second run changes nothing", async () => {
  const done = await apply()
  expect(done.code).toBe(0)
  expect(summarizeSteps(done)).toHaveLength(11)
  const { once } = done.steps.find(({ thing }: { thing: string }) => /^application/.test(thing))
  const { applications } = await service.get("ListApplications", {
    filters: [{ nameFilter: { name: "Wiki web" } }],
  })
  expect(applications).toMatchObject([{ oidcConfiguration: { clientId: once.clientId } }])
  expect(once.clientSecret).toMatch(/^\S{40,}$/)

  const browser = openHttpBrowser()
  const loginName = "eva"
  const named = await browser.post(await browser.get(`${service.url}/ui/login`), { loginName })
  const end = await browser.post(named, { loginName, password })
  expect(end.text).not.toContain('type="password"')

  const again = await apply("--plan")
  expect(again).toMatchObject({ code: 0, steps: [], beyond: [] })
})

test("updates what differs, and nothing else", async () => {
  const scene = { role: "Author", uri: "https://wiki.example.com/new", family: "Meier" }
  writeDescription("a.yaml", wikiYaml({ ...scene, roles: "editor, reader", length: 10 }))
  expect(summarizeSteps(await apply())).toEqual([
    "change policy passwordComplexity: minLength",
    "change role editor of project Wiki of organization Acme: displayName",
    "change application Wiki web of project Wiki of organization Acme: " +
      "oidcConfiguration.redirectUris",
    "change user eva of organization Acme: human.profile",
    "change authorization Wiki of user eva of organization Acme: roleKeys",
  ])
  expect(await apply("--plan")).toMatchObject({ code: 0, steps: [] })
})

test("keeps and lists what the files don't describe", async () => {
  const { projects } = await service.get("ListProjects", {
    filters: [{ projectNameFilter: { projectName: "Wiki" } }],
  })
  const [{ projectId }] = projects
  const role = { projectId, roleKey: "guest", displayName: "Guest" }
  await service.get("core.project.v2.ProjectService/AddProjectRole", role)
  const beyond = ["role guest of project Wiki of organization Acme"]
  expect(await apply("--plan")).toMatchObject({ code: 0, steps: [], beyond })
})

test("reports what the server rejects, with the steps completed before", async () => {
  const two = `
organizations:
  - name: Globex
    projects:
      - name: Shop
        applications:
          - { name: Good, apiConfiguration: { authMethodType: API_AUTH_METHOD_TYPE_BASIC } }
          - { name: Bad, oidcConfiguration: { redirectUris: [ "javascript:alert(1)" ] } }
`
  writeDescription("b.yml", two)
  const broken = await apply()
  expect(broken.code).toBe(1)
  expect(summarizeSteps(broken)).toEqual([
    "create project Shop of organization Globex",
    "create application Good of project Shop of organization Globex",
  ])
  expect(broken.steps[1].once.clientSecret).toMatch(/^\S{40,}$/)
  expect(broken.error.message).toContain("CreateApplication: ")
  writeDescription("b.yml", globexYaml)
})

test.each([
  ["a name that is nothing", "users: []", 'unknown name "users"; expected organizations'],
  ["a field that is none", "organizations: [ { name: Third, nome: x } ]", '"nome" is unknown'],
  ["no list", "organizations: { name: Acme }", "must be a list"],
  ["no name", "organizations: [ { } ]", "name is required in every organization"],
  ["the same twice", "organizations: [ { name: A }, { name: A } ]", "is described twice"],
  ["a policy that is none", "policies: { logins: {} }", 'unknown name "logins"'],
  ["no YAML", "a: [", "invalid YAML"],
  [
    "a project that is nowhere",
    "organizations: [ { name: A, users: [ { username: b, authorizations: [ { project: X }]}]}]",
    "project X of organization A not found; check the authorization X of user b",
  ],
  [
    "a variable that is missing",
    "policies: { login: { $env: NO_SUCH } }",
    "the environment variable NO_SUCH is not set",
  ],
])("rejects %s before anything is written", async (_, text, message) => {
  writeDescription("c.yaml", text)
  const { code, error } = await apply()
  writeDescription("c.yaml", "")
  expect(code).toBe(1)
  expect(error.message).toContain(message)
})

test("sends a token to another host over https only", async () => {
  const elsewhere = await run(["apply", files, "--key", keyFile, "--server", "http://id.lan"])
  expect(elsewhere).toMatchObject({ code: 1 })
  expect(elsewhere.output).toContain("does not use https")
})
