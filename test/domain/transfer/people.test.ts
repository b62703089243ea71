import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { TOTP } from "otpauth"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { writeUsers } from "../../../src/boot/users/export.ts"
import { formats } from "../../../src/boot/users/format/formats.ts"
import { type ImportOptions, importUsers } from "../../../src/boot/users/import.ts"
import { formatNames, type Part, parts } from "../../../src/boot/users/names.ts"
import { userSchema } from "../../../src/boot/users/user.ts"
import { listRolesByOrg } from "../../../src/domain/authorization/index.ts"
import { createIdp } from "../../../src/domain/idp/index.ts"
import { addRoles } from "../../../src/domain/project/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { linksOf } from "../../../src/domain/user-model/links.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { createUserTransfer } from "../../../src/server/operator/users.ts"
import { openProvider, type Provider } from "../../oauth/provider.ts"
import { addLoginPageCaller, type CallAs } from "../../support/operation-caller.ts"

const folder = mkdtempSync(join(tmpdir(), "latchkey-people-"))
const fixture = (name: string) => join(import.meta.dirname, "people", name)
const password = "Old-horse-7-battery"

let provider: Provider
let call: CallAs
let transferer: ReturnType<typeof createUserTransfer>
beforeAll(async () => {
  provider = await openProvider()
  call = await addLoginPageCaller(provider)
  const { store, clock } = provider
  const ids = provider.cx().ids
  transferer = createUserTransfer({ store, clock, ids, call: (_, name) => asProcess(name) })
  await createIdp(provider.cx(), undefined, {
    id: "google",
    name: "Google",
    secret: "s3cret",
    settings: {
      kind: "oidc",
      issuer: "https://idp.example.com",
      clientId: "client",
      scopes: [],
      isIdTokenMapping: false,
      usePkce: true,
    },
    options: {
      isLinkingAllowed: true,
      isCreationAllowed: true,
      isAutoCreation: false,
      isAutoUpdate: false,
      autoLinking: "off",
    },
  })
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await provider.close()
})

const asProcess = (name: string) => provider.cx({ caller: { kind: "system", name } })

const defaultOptions: ImportOptions = {
  instance: undefined,
  orgId: undefined,
  projectId: undefined,
  dryRun: false,
  without: new Set<Part>(),
  providers: new Map(),
  trustsEmails: false,
}

async function importFile(format: string, file: string, options: Partial<ImportOptions> = {}) {
  const source = await formats[format]?.open(file)
  if (!source) throw new Error(`no format ${format}`)
  return importUsers(transferer, source, { ...defaultOptions, ...options })
}

const userByLoginName = (loginName: string) => {
  const id = findByLoginName(asProcess("test"), loginName) ?? ""
  const state = provider.store.state(provider.cx(), user, id)
  if (!("kind" in state) || state.kind !== "human") throw new Error(`no person ${loginName}`)
  return { id, ...state }
}

const signIn = (loginName: string, more: object = {}) => {
  const who = { user: { search: { case: "loginName", value: loginName } } }
  return call("session.v2.SessionService/CreateSession", {
    checks: { ...who, password: { password }, ...more },
  })
}

const codeOf = (secret: string) =>
  new TOTP({ secret }).generate({ timestamp: provider.clock.now() })
const annaSecret = "MFXG4YJNONSWG4TFOQWW6ZRNGIYC2YTZ"

/** The content of each file: users who can sign in, and rejected rows with their reasons. */
const files = [
  {
    format: "keycloak",
    file: "keycloak.json",
    taken: 4,
    passed: 1,
    people: { "anna.kc": annaSecret, "ben.kc": "", "cleo.kc": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP" },
    refused: [
      ["entry 6", "erin.kc", /an email address is required/],
      ["entry 7", "finn.kc", /the factor webauthn can't be imported; .*--without factors/],
      ["entry 8", "gwen.kc", /secretData or credentialData is invalid.*--without passwords/],
      ["entry 9", "hugo.kc", /email/],
      ["entry 10", "ida@kc.example", /username is missing or has the wrong type/],
      ["entry 11", "jack.kc", /the roles \(admin\) need a project: name it with --project/],
      ["entry 12", "kim.kc", /8 digits.*--without otp/],
    ],
  },
  {
    format: "auth0",
    file: "auth0.ndjson",
    taken: 4,
    passed: 0,
    people: {
      "anna@a0.example": "",
      "ben@a0.example": "",
      "cleo@a0.example": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP",
    },
    refused: [
      ["line 4", "", /the line is not valid JSON/],
      [
        "line 6",
        "erin@a0.example",
        /the hash algorithm hmac is not supported; .*--without passwords/,
      ],
      ["line 7", "finn@a0.example", /the factor phone can't be imported/],
      ["line 8", "", /the entry is not a user/],
      ["line 9", "gwen.kc", /an email address is required/],
    ],
  },
  {
    format: "authentik",
    file: "authentik.json",
    taken: 4,
    passed: 6,
    people: { "anna.ak": annaSecret, "ben.ak": "", "cleo.ak": "" },
    refused: [
      ["entry 8", "erin.ak", /the Django hasher md5 is not supported/],
      ["entry 9", "finn.ak", /an email address is required/],
      ["entry 10", "gwen.ak", /webauthndevice can't be imported/],
    ],
  },
  {
    format: "authelia",
    file: "authelia.yml",
    taken: 4,
    passed: 0,
    people: { "anna.al": "", "ben.al": "", "cleo.al": "" },
    refused: [
      ["user finn.al", "finn.al", /an email address is required/],
      ["user gwen.al", "gwen.al", /the entry is not a user/],
      ["user erin.al", "erin.al", /the password hash must be argon2.*--without passwords/],
      ["user hugo.al", "hugo.al", /too expensive to check.*--without passwords/],
    ],
  },
  {
    format: "okta",
    file: "okta.json",
    taken: 4,
    passed: 0,
    people: { "anna@ok.example": "", "ben@ok.example": "" },
    refused: [
      ["entry 6", "", /a user name or an email address is required/],
      ["entry 7", "", /a user name or an email address is required/],
      ["entry 5", "erin@ok.example", /too expensive to check/],
    ],
  },
  {
    format: "okta",
    file: "okta.csv",
    taken: 2,
    passed: 0,
    people: { "carl@ok.example": "" },
    refused: [
      ["row 4", "", /a user name or an email address is required/],
      ["row 5", "emil@ok.example", /md4.*--without passwords/],
    ],
  },
  {
    format: "csv",
    file: "people.csv",
    taken: 3,
    passed: 0,
    people: { "anna.csv": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP" },
    refused: [
      ["row 6", "dora.csv", /the row has a different number of fields/],
      ["row 7", "erin.csv", /email verified must be yes or no/],
      ["row 8", "finn.csv", /international number/],
      ["row 9", "gwen.csv", /base32.*--without otp/],
    ],
  },
] as const

const links = {
  providers: new Map([
    ["google-oauth2", "google"],
    ["github", ""],
  ]),
}

describe.each(files)(
  "people of $format in $file",
  ({ format, file, taken, passed, people, refused }) => {
    test("are imported, and rejected rows are reported with the reason", async () => {
      const dry = await importFile(format, fixture(file), { ...links, dryRun: true })
      const done = await importFile(format, fixture(file), links)
      expect(dry).toEqual(done)
      expect(done).toMatchObject({ taken, there: 0, passed })
      const sorted = (all: readonly { readonly at: string }[]) =>
        all.toSorted((a, b) => a.at.localeCompare(b.at))
      expect(sorted(done.refused)).toEqual(
        sorted(
          refused.map(([at, name, words]) => ({
            at,
            id: expect.any(String),
            message: expect.stringMatching(words),
            name: name === "" ? expect.any(String) : name,
          })),
        ),
      )
    })

    test("sign in with their previous password and code", async () => {
      for (const [loginName, secret] of Object.entries(people)) {
        const more = secret === "" ? {} : { totp: { code: codeOf(secret) } }
        const { sessionId } = await signIn(loginName, more)
        expect(sessionId).toBeTruthy()
      }
    })

    test("no change the second time", async () => {
      const before = provider.store.log.durable()
      expect(await importFile(format, fixture(file), links)).toMatchObject({
        taken: 0,
        there: taken,
      })
      expect(provider.store.log.durable()).toBe(before)
    })
  },
)

test("imported users have all their data", async () => {
  const anna = userByLoginName("anna.kc")
  expect(anna).toMatchObject({
    id: "5c1f0f1e-0000-4000-8000-000000000001",
    profile: { givenName: "Anna", familyName: "Alder", preferredLanguage: "de" },
    email: { address: "anna@kc.example", verified: true },
    phone: { number: "+41791234567", verified: false },
  })
  expect(linksOf(anna)).toMatchObject([
    { idpId: "google", externalId: "g-1", name: "anna@gmail.example" },
  ])
  expect(userByLoginName("dora.kc")).toMatchObject({ status: "inactive", password: null })
  expect(userByLoginName("cleo.kc").profile).toMatchObject({
    givenName: "Cleo",
    displayName: "Cleo",
  })
  expect(userByLoginName("anna.ak").profile).toMatchObject({
    givenName: "Anna van",
    familyName: "Alder",
  })
  expect(userByLoginName("cleo@ok.example").status).toBe("locked")
  // A spreadsheet formula is treated as any other name.
  expect(userByLoginName("=cmd|calc").profile).toMatchObject({
    givenName: "@SUM",
    familyName: "+1",
  })
  await expect(signIn("anna.kc", { totp: { code: "000000" } })).rejects.toThrow(
    "the code or key is invalid",
  )
})

test("roles are assigned on the named project, and unsupported data can be skipped", async () => {
  const cx = provider.cx()
  await addRoles(cx, provider.projectId, [{ key: "admin", displayName: "Admin", group: "" }])
  const how = {
    ...links,
    projectId: provider.projectId,
    without: new Set(["passwords", "factors"]),
  }
  const done = await importFile("keycloak", fixture("keycloak.json"), how as Partial<ImportOptions>)
  expect(done).toMatchObject({ taken: 3, there: 4 })
  expect(listRolesByOrg(cx, userByLoginName("jack.kc").id, provider.projectId)).toMatchObject([
    { keys: ["admin"] },
  ])
  expect(userByLoginName("gwen.kc").password).toBeNull()
})

test("an export can be imported unchanged, and has no spreadsheet formulas", async () => {
  const asked = { projectId: provider.projectId, withPasswords: true, withOtp: true }
  for (const format of ["csv", "json"] as const) {
    const file = join(folder, `people.${format}`)
    const { people } = await writeUsers(transferer, asked, { to: file, format })
    const text = readFileSync(file, "utf8")
    if (format === "csv") expect(text.match(/(^|,)"[=+\-@]/m)).toBeNull()
    const source = await formats[format]?.open(file)
    const read: unknown[] = []
    for await (const { value } of source?.entries() ?? []) read.push(source?.read(value))
    expect(read).toHaveLength(people)
    const { people: told } = await transferer.tellPeople({ ...asked })
    for (const [at, each] of told.entries()) expect(userSchema.parse(read[at])).toEqual(each)
    expect(await importFile(format, file, { ...links, projectId: provider.projectId })).toEqual({
      taken: 0,
      there: people,
      passed: 0,
      refused: [],
    })
  }
})

test.each([
  [
    "keycloak",
    '{"users": [{"username": "a", "email": "a@x.example"}, {',
    /is not valid JSON at or after entry 2/,
  ],
  ["keycloak", '{"users": [] } trailing', /is not valid JSON at or after entry 1/],
  ["json", Buffer.from("\ufeff{}", "utf16le"), /not UTF-8/],
  ["csv", Buffer.from("user name;email\nJ\xfcrg;j@x.example\n", "latin1"), /not UTF-8/],
  [
    "csv",
    "user name,shoe size\na,42\n",
    /unknown column "shoe size" in the first line; columns are id, user/,
  ],
  ["csv", "email,e-mail\na@x.example,b\n", /the column "email" more than once/],
  ["csv", 'user name,email\n"a,b@x.example\n', /is not valid CSV/],
  ["csv", `user name,email\n"${"a".repeat(1_100_000)}",b\n`, /is not valid CSV/],
  ["csv", "", /is empty/],
  ["authelia", "users:\n  a: [", /is not valid YAML/],
  ["authelia", yamlBomb(), /is not valid YAML: .*aliasing/],
  ["authelia", "[]", /does not contain "users"/],
])("a malformed or malicious %s file changes nothing", async (format, content, words) => {
  const file = join(folder, "broken")
  writeFileSync(file, content)
  const before = provider.store.log.durable()
  await expect(importFile(format, file)).rejects.toThrow(words)
  expect(provider.store.log.durable()).toBe(before)
})

function yamlBomb(): string {
  const levels = [..."bcdefghijk"].map((key, at) => {
    const before = `*${"abcdefghij"[at]}`
    return `${key}: &${key} [${Array(9).fill(before).join(",")}]`
  })
  return ["a: &a [x,x,x,x,x,x,x,x,x]", ...levels].join("\n")
}

test("only an invalid or too long line is rejected", async () => {
  const file = join(folder, "long.ndjson")
  const good = JSON.stringify({
    userName: "long-after",
    email: { value: "l@x.example", verified: true },
  })
  writeFileSync(file, `${good}\n{"userName":"${"a".repeat(1_100_000)}"}\n[1]\n`)
  const done = await importFile("json", file)
  expect(done).toMatchObject({ taken: 1, refused: [{ at: "line 2" }, { at: "line 3" }] })
})

test("the command line lists the formats and parts", () => {
  expect(Object.keys(formats)).toEqual(formatNames)
  expect(new Set(parts).size).toBe(parts.length)
})

test("a document can be one line of any length, and its entries are counted", async () => {
  const people = (from: number) =>
    Array.from({ length: 40 }, (_, at) => ({
      userName: `one-line-${from + at}`,
      email: { value: `one-line-${from + at}@x.example`, verified: true },
      metadata: { long: "x".repeat(40_000) },
    }))
  writeFileSync(join(folder, "array"), JSON.stringify(people(0)))
  writeFileSync(join(folder, "users"), JSON.stringify({ users: people(40), realm: "r" }))
  for (const name of ["array", "users"]) {
    expect(await importFile("json", join(folder, name))).toMatchObject({ taken: 40, refused: [] })
  }
  const large = { ...people(80)[0], metadata: { long: "x".repeat(1_100_000) } }
  writeFileSync(join(folder, "array"), JSON.stringify([large]))
  expect(await importFile("json", join(folder, "array"))).toMatchObject({
    refused: [
      {
        at: "entry 1",
        name: "one-line-80",
        message: expect.stringMatching("exceeds the maximum size of a user"),
      },
    ],
  })
})

test("only an invalid first line is rejected", async () => {
  const good = { userName: "behind", email: { value: "behind@x.example", verified: true } }
  writeFileSync(join(folder, "first"), `{"userName":\n${JSON.stringify(good)}\n`)
  expect(await importFile("json", join(folder, "first"))).toMatchObject({
    taken: 1,
    refused: [{ at: "line 1" }],
  })
})

test("an organization that isn't there keeps no session open", async () => {
  const file = join(folder, "nowhere")
  writeFileSync(file, JSON.stringify({ userName: "nowhere@x.example" }))
  for (let times = 0; times < 6; times++) {
    await expect(importFile("json", file, { orgId: "missing" })).rejects.toThrow(
      'organization "missing" not found',
    )
  }
})

test("Auth0 user metadata is separate from application metadata", async () => {
  const file = join(folder, "posing")
  const posing = { email: "posing@a0.example", user_metadata: { "app_metadata.role": "admin" } }
  writeFileSync(file, JSON.stringify([posing]))
  const words = expect.stringMatching(/looks like app_metadata.*--without metadata/)
  expect(await importFile("auth0", file)).toMatchObject({ taken: 0, refused: [{ message: words }] })
})

test("duplicate users that differ only in case are reported", async () => {
  const file = join(folder, "twins.csv")
  const rows = ["Twin.One@x.example", "other@x.example", "twin.one@X.example"]
  writeFileSync(file, ["user name,email", ...rows.map((each) => `${each},${each}`)].join("\n"))
  const { taken, there, refused } = await importFile("csv", file, { dryRun: true })
  expect({ taken, there }).toEqual({ taken: 2, there: 0 })
  expect(refused).toMatchObject([{ name: "twin.one@X.example", id: "people.twice" }])
})

test("a row of another format is reported and does not stop the import", async () => {
  const file = join(folder, "authentik-device.json")
  const person = { username: "dora", email: "dora@x.example", groups: [] }
  const rows = [
    { model: "authentik_core.user", pk: 1, fields: person },
    { model: "authentik_stages_authenticator_static.staticdevice", pk: 2, fields: { name: "x" } },
  ]
  writeFileSync(file, JSON.stringify(rows))
  const { taken, refused } = await importFile("authentik", file, { dryRun: true })
  expect(taken).toBe(1)
  expect(refused).toHaveLength(1)
})
