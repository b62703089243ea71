// A folder of YAML makes a server what it describes, by the binary and over the public interface.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { run, temporaryFolder } from "../support/latchkey.ts"
import { visit } from "../support/visitor.ts"
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

/** The steps in short. */
const said = ({ steps }: Awaited<ReturnType<typeof apply>>): readonly string[] =>
  steps.map(
    ({ action, thing, fields }: { action: string; thing: string; fields: string[] }) =>
      `${action} ${thing}${fields.length === 0 ? "" : `: ${fields}`}`,
  )

const describe = (name: string, text: string) => writeFileSync(join(files, name), text)

const wiki = (scene: {
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

const globex = `
organizations:
  - name: Globex
    policies:
      lockout: { maxPasswordAttempts: 5 }
    users:
      - username: robot
        machine: { name: Robot }
        authorizations: []
`

test("a plan says what would be made, and makes nothing", async () => {
  describe("a.yaml", wiki({}))
  describe("b.yml", globex)
  const plan = await apply("--plan")
  expect(plan.code).toBe(3)
  expect(said(plan)).toEqual([
    "change policy passwordComplexity: hasSymbol",
    "create organisation Globex",
    "create policy lockout of organisation Globex: maxPasswordAttempts",
    "create project Wiki of organisation Acme",
    "create role editor of project Wiki of organisation Acme",
    "create role reader of project Wiki of organisation Acme",
    "create application Wiki web of project Wiki of organisation Acme",
    "create user eva of organisation Acme",
    "create authorization Wiki of user eva of organisation Acme",
    "create administrator organization of user eva of organisation Acme",
    "create user robot of organisation Globex",
  ])
  expect((await service.get("ListOrganizations")).result).toHaveLength(1)
})

test("what is described is there, people sign in, and a second time nothing is left", async () => {
  const done = await apply()
  expect(done.code).toBe(0)
  expect(said(done)).toHaveLength(11)
  const { once } = done.steps.find(({ thing }: { thing: string }) => /^application/.test(thing))
  const { applications } = await service.get("ListApplications", {
    filters: [{ nameFilter: { name: "Wiki web" } }],
  })
  expect(applications).toMatchObject([{ oidcConfiguration: { clientId: once.clientId } }])
  expect(once.clientSecret).toMatch(/^\S{40,}$/)

  const browser = visit()
  const loginName = "eva"
  const named = await browser.post(await browser.get(`${service.url}/ui/login`), { loginName })
  const end = await browser.post(named, { loginName, password })
  expect(end.text).not.toContain('type="password"')

  const again = await apply("--plan")
  expect(again).toMatchObject({ code: 0, steps: [], beyond: [] })
})

test("what differs is changed, and nothing else of it", async () => {
  const scene = { role: "Author", uri: "https://wiki.example.com/new", family: "Meier" }
  describe("a.yaml", wiki({ ...scene, roles: "editor, reader", length: 10 }))
  expect(said(await apply())).toEqual([
    "change policy passwordComplexity: minLength",
    "change role editor of project Wiki of organisation Acme: displayName",
    "change application Wiki web of project Wiki of organisation Acme: " +
      "oidcConfiguration.redirectUris",
    "change user eva of organisation Acme: human.profile",
    "change authorization Wiki of user eva of organisation Acme: roleKeys",
  ])
  expect(await apply("--plan")).toMatchObject({ code: 0, steps: [] })
})

test("what is there beside it stays, and is named", async () => {
  const { projects } = await service.get("ListProjects", {
    filters: [{ projectNameFilter: { projectName: "Wiki" } }],
  })
  const [{ projectId }] = projects
  const role = { projectId, roleKey: "guest", displayName: "Guest" }
  await service.get("core.project.v2.ProjectService/AddProjectRole", role)
  const beyond = ["role guest of project Wiki of organisation Acme"]
  expect(await apply("--plan")).toMatchObject({ code: 0, steps: [], beyond })
})

test("what the server refuses is said, with what was done before", async () => {
  const two = `
organizations:
  - name: Globex
    projects:
      - name: Shop
        applications:
          - { name: Good, apiConfiguration: { authMethodType: API_AUTH_METHOD_TYPE_BASIC } }
          - { name: Bad, oidcConfiguration: { redirectUris: [ "javascript:alert(1)" ] } }
`
  describe("b.yml", two)
  const broken = await apply()
  expect(broken.code).toBe(1)
  expect(said(broken)).toEqual([
    "create project Shop of organisation Globex",
    "create application Good of project Shop of organisation Globex",
  ])
  expect(broken.steps[1].once.clientSecret).toMatch(/^\S{40,}$/)
  expect(broken.error.message).toContain("CreateApplication: ")
  describe("b.yml", globex)
})

test.each([
  ["a name that is nothing", "users: []", `"users" is nothing that can be described`],
  ["a field that is none", "organizations: [ { name: Third, nome: x } ]", '"nome" is unknown'],
  ["no list", "organizations: { name: Acme }", "must be a list"],
  ["no name", "organizations: [ { } ]", "has no name"],
  ["the same twice", "organizations: [ { name: A }, { name: A } ]", "is described twice"],
  ["a policy that is none", "policies: { logins: {} }", "nothing that can be described"],
  ["no YAML", "a: [", "it is no YAML"],
  [
    "a project that is nowhere",
    "organizations: [ { name: A, users: [ { username: b, authorizations: [ { project: X }]}]}]",
    "there is no project X",
  ],
  ["a variable that is missing", "policies: { login: { $env: NO_SUCH } }", "no variable NO_SUCH"],
])("%s is refused before anything is written", async (_, text, message) => {
  describe("c.yaml", text)
  const { code, error } = await apply()
  describe("c.yaml", "")
  expect(code).toBe(1)
  expect(error.message).toContain(message)
})

test("a token goes to another machine over https alone", async () => {
  const elsewhere = await run(["apply", files, "--key", keyFile, "--server", "http://id.lan"])
  expect(elsewhere).toMatchObject({ code: 1 })
  expect(elsewhere.output).toContain("is not https")
})
