// The binary applies identity providers of every kind from a directory of YAML files.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { idpForms } from "../support/idps.ts"
import { run, temporaryFolder } from "../support/latchkey.ts"
import { openService, type Service } from "./service.ts"

const folder = temporaryFolder()
const files = join(folder.path, "files")
const keyFile = join(folder.path, "key.json")
const plantedSecret = "planted-5ecret"
let service: Service
beforeAll(async () => {
  service = await openService()
  mkdirSync(files)
  writeFileSync(keyFile, JSON.stringify(service.key))
})
afterAll(async () => {
  await service?.close()
  folder.remove()
})

/** The type names used in the files, by kind. */
const typeNames: Readonly<Record<string, string>> = {
  GenericOAuth: "oauth",
  GenericOIDC: "oidc",
  JWT: "jwt",
  LDAP: "ldap",
  SAML: "saml",
  AzureAD: "azureAd",
  Google: "google",
  Apple: "apple",
  GitHub: "github",
  GitHubEnterpriseServer: "githubEs",
  GitLab: "gitlab",
  GitLabSelfHosted: "gitlabSelfHosted",
}

/** Every kind of provider as the v1 requests define it, with its secrets in files. */
const providerDescriptions = (more: object = {}) =>
  idpForms.map(({ name, body }) => {
    const { name: _, metadataXml, privateKey, ...rest } = body
    const bytes = (value: unknown) => Buffer.from(String(value), "base64").toString()
    if (privateKey) writeFileSync(join(files, "apple.pem"), bytes(privateKey))
    const own = {
      ...rest,
      ...("clientSecret" in body && { clientSecret: { $env: "PLANTED" } }),
      ...("bindPassword" in body && { bindPassword: { $env: "PLANTED" } }),
      ...(metadataXml && { metadataXml: bytes(metadataXml) }),
      ...(privateKey && { privateKey: { $file: "apple.pem" } }),
    }
    return { name: `My ${name}`, [typeNames[name] ?? ""]: own, ...more }
  })

const writeDescription = (content: object) =>
  writeFileSync(join(files, "a.yaml"), JSON.stringify({ ...content }))

async function apply(...more: readonly string[]) {
  const flags = ["--server", service.url, "--key", keyFile, "--json", ...more]
  const { code, output } = await run(["apply", files, ...flags], {
    env: { PLANTED: plantedSecret },
  })
  expect(output).not.toContain(plantedSecret)
  expect(output).not.toContain("PRIVATE KEY")
  const { steps = [], ...rest } = JSON.parse(output)
  const said = steps.map(
    ({ action, thing, fields }: { action: string; thing: string; fields: string[] }) =>
      `${action} ${thing}${fields.length === 0 ? "" : `: ${fields}`}`,
  )
  return { code, said, ...rest }
}

const admin = (name: string, request: object = {}) =>
  service.get(`core.admin.v1.AdminService/${name}`, request)

const fullDescription = () => ({
  providers: providerDescriptions({ signIn: true }),
  organizations: [
    {
      name: "Globex",
      policies: { login: { allowRegister: false } },
      providers: providerDescriptions(),
    },
  ],
})

test("a plan lists every kind, also for an organization that does not exist yet", async () => {
  writeDescription(fullDescription())
  const { code, said } = await apply("--plan")
  expect(code).toBe(3)
  for (const { name } of idpForms) {
    expect(said).toContain(`create provider My ${name}`)
    expect(said).toContain(`change provider My ${name}: signIn`)
    expect(said).toContain(`create provider My ${name} of organization Globex`)
  }
  expect((await admin("ListProviders")).result).toBeUndefined()
})

test("creates the providers and offers them; a second run changes nothing", async () => {
  expect(await apply()).toMatchObject({ code: 0 })
  const { result } = await admin("ListProviders", { query: { limit: 50 } })
  expect(result).toHaveLength(idpForms.length)
  const oidc = result.find(({ name }: { name: string }) => name === "My GenericOIDC")
  expect(oidc.config.oidc).toMatchObject({ issuer: "https://idp.example.com", clientId: "client" })
  expect((await admin("ListLoginPolicyIDPs")).result).toHaveLength(idpForms.length)
  expect(await apply("--plan")).toMatchObject({
    code: 0,
    said: [],
    beyond: ["organization Acme"],
  })
})

test("updates what differs, and keeps what the files don't describe", async () => {
  const [first] = fullDescription().providers.filter((each) => "oidc" in each)
  const oidc = { issuer: "https://other.example.com", clientSecret: { $env: "PLANTED" } }
  const options = { isAutoCreation: true, autoLinking: "AUTO_LINKING_OPTION_UNSPECIFIED" }
  writeDescription({
    providers: [{ name: first?.name, oidc, providerOptions: options, signIn: false }],
  })
  const done = await apply()
  expect(done.said).toEqual([
    "change provider My GenericOIDC: issuer,providerOptions.isAutoCreation",
    "change provider My GenericOIDC: signIn",
  ])
  expect(done.beyond).toHaveLength(idpForms.length - 1)
  const { result } = await admin("ListProviders", {
    queries: [{ idpNameQuery: { name: "My GenericOIDC" } }],
  })
  expect(result[0].config).toMatchObject({
    options: { isAutoCreation: true },
    oidc: { issuer: "https://other.example.com", clientId: "client" },
  })
  expect((await apply("--plan")).said).toEqual([])
})

test("sends a changed secret only if requested", async () => {
  expect((await apply("--secrets")).said).toEqual(["change provider My GenericOIDC: clientSecret"])
  expect((await apply("--secrets", "--plan")).code).toBe(3)
})

test.each([
  [
    "two kinds",
    { name: "X", oidc: {}, jwt: {} },
    "the provider X must have exactly one of: oidc, oauth",
  ],
  [
    "a kind that is none",
    { name: "X", facebook: {} },
    'unknown name "facebook"; expected name or signIn',
  ],
  [
    "a field that is none",
    { name: "X", google: { clientID: "a" } },
    'unknown name "clientID"; expected clientId',
  ],
  ["no name", { google: {} }, "the name of a provider is required"],
  ["another kind than is there", { name: "My Google", jwt: {} }, "exists with another kind"],
  [
    "a secret that is missing",
    { name: "X", jwt: { issuer: { $env: "NONE" } } },
    "the environment variable NONE is not set",
  ],
])("rejects %s before anything is written", async (_, provider, message) => {
  writeDescription({ providers: [provider], organizations: [{ name: "Initech" }] })
  const { code, error } = await apply()
  expect(code).toBe(1)
  expect(error.message).toContain(message)
})
