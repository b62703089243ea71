import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { TOTP } from "otpauth"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { formats } from "../../../src/boot/people/format/list.ts"
import { formatNames, type Part, parts } from "../../../src/boot/people/names.ts"
import { person } from "../../../src/boot/people/person.ts"
import { type How, takePeople } from "../../../src/boot/people/take.ts"
import { writePeople } from "../../../src/boot/people/tell.ts"
import { rolesHeld } from "../../../src/domain/authorization/index.ts"
import { addIdp } from "../../../src/domain/idp/index.ts"
import { addRoles } from "../../../src/domain/project/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { linksOf } from "../../../src/domain/user-model/links.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { peopleCarrierOf } from "../../../src/server/operator/people.ts"
import { openProvider, type Provider } from "../../oauth/provider.ts"
import { type Calling, openLoginPage } from "../../support/login-page.ts"

const folder = mkdtempSync(join(tmpdir(), "latchkey-people-"))
const fixture = (name: string) => join(import.meta.dirname, "people", name)
const password = "Old-horse-7-battery"

let provider: Provider
let call: Calling
let carrier: ReturnType<typeof peopleCarrierOf>
beforeAll(async () => {
  provider = await openProvider()
  call = await openLoginPage(provider)
  const { store, clock } = provider
  const ids = provider.cx().ids
  carrier = peopleCarrierOf({ store, clock, ids, call: (_, name) => ofProcess(name) })
  await addIdp(provider.cx(), undefined, {
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

const ofProcess = (name: string) => provider.cx({ caller: { kind: "system", name } })

const plainly: How = {
  instance: undefined,
  orgId: undefined,
  projectId: undefined,
  dryRun: false,
  without: new Set<Part>(),
  providers: new Map(),
  trustsEmails: false,
}

async function take(format: string, file: string, how: Partial<How> = {}) {
  const source = await formats[format]?.open(file)
  if (!source) throw new Error(`no format ${format}`)
  return takePeople(carrier, source, { ...plainly, ...how })
}

const named = (loginName: string) => {
  const id = findByLoginName(ofProcess("test"), loginName) ?? ""
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
const annas = "MFXG4YJNONSWG4TFOQWW6ZRNGIYC2YTZ"

/** What each file has: who signs in as before, and which rows are refused, by which words. */
const files = [
  {
    format: "keycloak",
    file: "keycloak.json",
    taken: 4,
    passed: 1,
    people: { "anna.kc": annas, "ben.kc": "", "cleo.kc": "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP" },
    refused: [
      ["entry 6", "erin.kc", /no e-mail address/],
      ["entry 7", "finn.kc", /factor of the kind webauthn stays behind; .*--without factors/],
      ["entry 8", "gwen.kc", /can't be read.*--without passwords/],
      ["entry 9", "hugo.kc", /email/],
      ["entry 10", "ida@kc.example", /username is missing or of another kind/],
      ["entry 11", "jack.kc", /roles of no project \(admin\): name it with --project/],
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
      ["line 4", "", /this is no JSON/],
      ["line 6", "erin@a0.example", /hashes by hmac aren't understood; .*--without passwords/],
      ["line 7", "finn@a0.example", /kind phone stays behind/],
      ["line 8", "", /this is no person/],
      ["line 9", "gwen.kc", /no e-mail address/],
    ],
  },
  {
    format: "authentik",
    file: "authentik.json",
    taken: 4,
    passed: 6,
    people: { "anna.ak": annas, "ben.ak": "", "cleo.ak": "" },
    refused: [
      ["entry 8", "erin.ak", /Django's md5 isn't understood/],
      ["entry 9", "finn.ak", /no e-mail address/],
      ["entry 10", "gwen.ak", /webauthndevice stays behind/],
    ],
  },
  {
    format: "authelia",
    file: "authelia.yml",
    taken: 4,
    passed: 0,
    people: { "anna.al": "", "ben.al": "", "cleo.al": "" },
    refused: [
      ["user finn.al", "finn.al", /no e-mail address/],
      ["user gwen.al", "gwen.al", /this is no person/],
      ["user erin.al", "erin.al", /the hash must be argon2.*--without passwords/],
      ["user hugo.al", "hugo.al", /costs too much.*--without passwords/],
    ],
  },
  {
    format: "okta",
    file: "okta.json",
    taken: 4,
    passed: 0,
    people: { "anna@ok.example": "", "ben@ok.example": "" },
    refused: [
      ["entry 6", "", /neither a user name/],
      ["entry 7", "", /neither a user name nor an address/],
      ["entry 5", "erin@ok.example", /costs too much/],
    ],
  },
  {
    format: "okta",
    file: "okta.csv",
    taken: 2,
    passed: 0,
    people: { "carl@ok.example": "" },
    refused: [
      ["row 4", "", /neither a user name nor an address/],
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
      ["row 6", "dora.csv", /another number of fields/],
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
    test("are taken over, and each row that can't be is named with the reason", async () => {
      const dry = await take(format, fixture(file), { ...links, dryRun: true })
      const done = await take(format, fixture(file), links)
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

    test("sign in with their old password and code", async () => {
      for (const [loginName, secret] of Object.entries(people)) {
        const more = secret === "" ? {} : { totp: { code: codeOf(secret) } }
        const { sessionId } = await signIn(loginName, more)
        expect(sessionId).toBeTruthy()
      }
    })

    test("stay as they are the second time", async () => {
      const before = provider.store.log.durable()
      expect(await take(format, fixture(file), links)).toMatchObject({ taken: 0, there: taken })
      expect(provider.store.log.durable()).toBe(before)
    })
  },
)

test("who comes has everything that they had", async () => {
  const anna = named("anna.kc")
  expect(anna).toMatchObject({
    id: "5c1f0f1e-0000-4000-8000-000000000001",
    profile: { givenName: "Anna", familyName: "Alder", preferredLanguage: "de" },
    email: { address: "anna@kc.example", verified: true },
    phone: { number: "+41791234567", verified: false },
  })
  expect(linksOf(anna)).toMatchObject([
    { idpId: "google", externalId: "g-1", name: "anna@gmail.example" },
  ])
  expect(named("dora.kc")).toMatchObject({ status: "inactive", password: null })
  expect(named("cleo.kc").profile).toMatchObject({ givenName: "Cleo", displayName: "Cleo" })
  expect(named("anna.ak").profile).toMatchObject({ givenName: "Anna van", familyName: "Alder" })
  expect(named("cleo@ok.example").status).toBe("locked")
  // What a spreadsheet would run is a name like any other.
  expect(named("=cmd|calc").profile).toMatchObject({ givenName: "@SUM", familyName: "+1" })
  await expect(signIn("anna.kc", { totp: { code: "000000" } })).rejects.toThrow("wrong")
})

test("roles go to the project that is named, and what can't go may be left out", async () => {
  const cx = provider.cx()
  await addRoles(cx, provider.projectId, [{ key: "admin", displayName: "Admin", group: "" }])
  const how = {
    ...links,
    projectId: provider.projectId,
    without: new Set(["passwords", "factors"]),
  }
  const done = await take("keycloak", fixture("keycloak.json"), how as Partial<How>)
  expect(done).toMatchObject({ taken: 3, there: 4 })
  expect(rolesHeld(cx, named("jack.kc").id, provider.projectId)).toMatchObject([
    { keys: ["admin"] },
  ])
  expect(named("gwen.kc").password).toBeNull()
})

test("what is written is read back as it was, and no spreadsheet runs it", async () => {
  const asked = { projectId: provider.projectId, withPasswords: true, withOtp: true }
  for (const format of ["csv", "json"] as const) {
    const file = join(folder, `people.${format}`)
    const { people } = await writePeople(carrier, asked, { to: file, format })
    const text = readFileSync(file, "utf8")
    if (format === "csv") expect(text.match(/(^|,)"[=+\-@]/m)).toBeNull()
    const source = await formats[format]?.open(file)
    const read: unknown[] = []
    for await (const { value } of source?.entries() ?? []) read.push(source?.read(value))
    expect(read).toHaveLength(people)
    const { people: told } = await carrier.tellPeople({ ...asked })
    for (const [at, each] of told.entries()) expect(person.parse(read[at])).toEqual(each)
    expect(await take(format, file, { ...links, projectId: provider.projectId })).toEqual({
      taken: 0,
      there: people,
      passed: 0,
      refused: [],
    })
  }
})

test.each([
  ["keycloak", '{"users": [{"username": "a", "email": "a@x.example"}, {', /broken JSON at/],
  ["keycloak", '{"users": [] } trailing', /broken JSON/],
  ["json", Buffer.from("\ufeff{}", "utf16le"), /not UTF-8/],
  ["csv", Buffer.from("user name;email\nJ\xfcrg;j@x.example\n", "latin1"), /not UTF-8/],
  ["csv", "user name,shoe size\na,42\n", /"shoe size", which isn't known; columns are id, user/],
  ["csv", "email,e-mail\na@x.example,b\n", /the column "email" twice/],
  ["csv", 'user name,email\n"a,b@x.example\n', /broken CSV/],
  ["csv", `user name,email\n"${"a".repeat(1_100_000)}",b\n`, /broken CSV/],
  ["csv", "", /is empty/],
  ["authelia", "users:\n  a: [", /no YAML that can be read/],
  ["authelia", bomb(), /no YAML that can be read: .*aliasing/],
  ["authelia", "[]", /has no "users"/],
])("a file of %s that is broken or a trap changes nothing", async (format, content, words) => {
  const file = join(folder, "broken")
  writeFileSync(file, content)
  const before = provider.store.log.durable()
  await expect(take(format, file)).rejects.toThrow(words)
  expect(provider.store.log.durable()).toBe(before)
})

function bomb(): string {
  const levels = [..."bcdefghijk"].map((key, at) => {
    const before = `*${"abcdefghij"[at]}`
    return `${key}: &${key} [${Array(9).fill(before).join(",")}]`
  })
  return ["a: &a [x,x,x,x,x,x,x,x,x]", ...levels].join("\n")
}

test("a line that is too long or none is refused alone", async () => {
  const file = join(folder, "long.ndjson")
  const good = JSON.stringify({
    userName: "long-after",
    email: { value: "l@x.example", verified: true },
  })
  writeFileSync(file, `${good}\n{"userName":"${"a".repeat(1_100_000)}"}\n[1]\n`)
  const done = await take("json", file)
  expect(done).toMatchObject({ taken: 1, refused: [{ at: "line 2" }, { at: "line 3" }] })
})

test("the command line names the formats and parts that there are", () => {
  expect(Object.keys(formats)).toEqual(formatNames)
  expect(new Set(parts).size).toBe(parts.length)
})

test("a document may be one line, however long, and its entries are counted", async () => {
  const people = (from: number) =>
    Array.from({ length: 40 }, (_, at) => ({
      userName: `one-line-${from + at}`,
      email: { value: `one-line-${from + at}@x.example`, verified: true },
      metadata: { long: "x".repeat(40_000) },
    }))
  writeFileSync(join(folder, "array"), JSON.stringify(people(0)))
  writeFileSync(join(folder, "users"), JSON.stringify({ users: people(40), realm: "r" }))
  for (const name of ["array", "users"]) {
    expect(await take("json", join(folder, name))).toMatchObject({ taken: 40, refused: [] })
  }
  const large = { ...people(80)[0], metadata: { long: "x".repeat(1_100_000) } }
  writeFileSync(join(folder, "array"), JSON.stringify([large]))
  expect(await take("json", join(folder, "array"))).toMatchObject({
    refused: [
      {
        at: "entry 1",
        name: "one-line-80",
        message: expect.stringMatching("more than a person may have"),
      },
    ],
  })
})

test("a first line that is broken is refused alone", async () => {
  const good = { userName: "behind", email: { value: "behind@x.example", verified: true } }
  writeFileSync(join(folder, "first"), `{"userName":\n${JSON.stringify(good)}\n`)
  expect(await take("json", join(folder, "first"))).toMatchObject({
    taken: 1,
    refused: [{ at: "line 1" }],
  })
})

test("an organisation that isn't there keeps no session open", async () => {
  const file = join(folder, "nowhere")
  writeFileSync(file, JSON.stringify({ userName: "nowhere@x.example" }))
  for (let times = 0; times < 6; times++) {
    await expect(take("json", file, { orgId: "missing" })).rejects.toThrow("no organisation")
  }
})

test("what people write of themselves at Auth0 is not what an application says", async () => {
  const file = join(folder, "posing")
  const posing = { email: "posing@a0.example", user_metadata: { "app_metadata.role": "admin" } }
  writeFileSync(file, JSON.stringify([posing]))
  const words = expect.stringMatching(/is like app_metadata.*--without metadata/)
  expect(await take("auth0", file)).toMatchObject({ taken: 0, refused: [{ message: words }] })
})

test("who stands twice in a file, but for capital letters, is named", async () => {
  const file = join(folder, "twins.csv")
  const rows = ["Twin.One@x.example", "other@x.example", "twin.one@X.example"]
  writeFileSync(file, ["user name,email", ...rows.map((each) => `${each},${each}`)].join("\n"))
  const { taken, there, refused } = await take("csv", file, { dryRun: true })
  expect({ taken, there }).toEqual({ taken: 2, there: 0 })
  expect(refused).toMatchObject([{ name: "twin.one@X.example", id: "people.twice" }])
})

test("a row beside people that is of another shape is named, and ends no import", async () => {
  const file = join(folder, "authentik-device.json")
  const person = { username: "dora", email: "dora@x.example", groups: [] }
  const rows = [
    { model: "authentik_core.user", pk: 1, fields: person },
    { model: "authentik_stages_authenticator_static.staticdevice", pk: 2, fields: { name: "x" } },
  ]
  writeFileSync(file, JSON.stringify(rows))
  const { taken, refused } = await take("authentik", file, { dryRun: true })
  expect(taken).toBe(1)
  expect(refused).toHaveLength(1)
})
