import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as z from "zod/mini"
import { auth0 } from "../../../src/boot/users/format/auth0.ts"
import { authelia } from "../../../src/boot/users/format/authelia.ts"
import { authentik } from "../../../src/boot/users/format/authentik.ts"
import { csv, csvHeader, csvLine } from "../../../src/boot/users/format/csv.ts"
import { keycloak } from "../../../src/boot/users/format/keycloak.ts"
import { latchkey } from "../../../src/boot/users/format/latchkey.ts"
import { okta } from "../../../src/boot/users/format/okta.ts"
import { jsonEntries } from "../../../src/boot/users/source/json.ts"
import { type ReadUser, type UserFormat, userSchema } from "../../../src/boot/users/user.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { linesInOrder, type TransferLine } from "../../../src/protocol/transfer/line.ts"
import { toPiece } from "../../../src/protocol/transfer/order.ts"
import { fuzzTarget, requireEqual, requireProperty } from "../engine/target.ts"

type Folder = { readonly path: string; readonly file: string }

const folder = {
  open: async (): Promise<Folder> => {
    const path = mkdtempSync(join(tmpdir(), "latchkey-fuzz-"))
    return { path, file: join(path, "input") }
  },
  close: async ({ path }: Folder) => rmSync(path, { recursive: true }),
}

/** The result for one entry; undefined if only this entry is rejected. */
function readOr(
  source: Awaited<ReturnType<UserFormat["open"]>>,
  value: unknown,
): ReadUser | undefined {
  try {
    return source.read(value)
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

async function readPeople(format: UserFormat, file: string): Promise<readonly ReadUser[]> {
  const source = await format.open(file)
  const people: ReadUser[] = []
  for await (const { value, problem } of source.entries()) {
    const read = problem === undefined ? readOr(source, value) : undefined
    if (read) people.push(read)
  }
  return people
}

/** A user as the server receives them; undefined if the server rejects them. */
const validUser = ({ lost: _, ...given }: ReadUser) => z.safeParse(userSchema, given).data

const csvTable =
  "user name,Email,email verified,password hash,metadata team\n" +
  'ada,ada@example.com,yes,"$2b$10$abc","a ""b"", c"\nbob,"b@example.com",no,,\n'

/** Users in a CSV table. */
export const csvImport = fuzzTarget<readonly ReadUser[], Folder>({
  name: "csv-import",
  ...folder,
  seeds: () => [
    csvTable,
    csvTable.replaceAll(",", ";"),
    '\ufeffuser name\temail\r\n\'=1+1\t"a\r\nb"\r\n\r\n',
    csvHeader(["a"]),
  ],
  tokens: [
    "user name",
    "email",
    "phone",
    "metadata ",
    "groups",
    "roles",
    "language",
    "state",
    "id",
    ",",
    ";",
    "\t",
    '"',
    '""',
    "\r\n",
    "'=",
    "=cmd",
    "yes",
    "no",
    "active",
    "metadata __proto__",
  ],
  parse: (input, { file }) => {
    writeFileSync(file, input)
    return readPeople(csv, file)
  },
  check: async (people, _, { file }) => {
    const given = people.flatMap((each) => validUser(each) ?? [])
    if (given.length === 0) return
    const keys = [...new Set(given.flatMap(({ metadata }) => Object.keys(metadata)))]
    const lines = given.map((each) => csvLine(each, keys))
    writeFileSync(file, [csvHeader(keys), ...lines].map((line) => `${line}\r\n`).join(""))
    const again = await readPeople(csv, file)
    requireEqual(again.map(validUser), given, "what an export writes is read as the same people")
  },
})

const formats = [keycloak, auth0, authentik, okta, latchkey]

const samples = [
  {
    users: [
      {
        id: "1",
        username: "ada",
        email: "a@b",
        emailVerified: true,
        groups: ["/staff"],
        attributes: { locale: ["de"], phoneNumber: ["+4912345678"] },
        credentials: [
          {
            type: "password",
            secretData: '{"value":"AAAA","salt":"AAAA"}',
            credentialData: '{"hashIterations":1,"algorithm":"pbkdf2-sha256"}',
          },
        ],
      },
    ],
  },
  [
    {
      user_id: "auth0|1",
      email: "a@b",
      email_verified: true,
      custom_password_hash: {
        algorithm: "sha256",
        hash: { value: "00ff", encoding: "hex" },
        salt: { value: "s", position: "suffix" },
      },
      mfa_factors: [{ totp: { secret: "AAAA" } }],
      identities: [{ provider: "google", user_id: 1 }],
      user_metadata: { a: [1] },
    },
  ],
  [{ userName: "ada", email: { value: "a@b", verified: true }, metadata: { a: "b" } }],
  [{ model: "authentik_core.user", attrs: { username: "ada", email: "a@b", password: "x" } }],
  [{ id: "1", status: "ACTIVE", profile: { login: "a", email: "a@b", firstName: "A" } }],
]

/** Users in JSON of other products, each parsed in every format. */
export const jsonImport = fuzzTarget<
  { readonly people: readonly (readonly ReadUser[])[]; readonly entries: readonly unknown[] },
  Folder
>({
  name: "json-import",
  ...folder,
  seeds: () => [
    ...samples.map((each) => JSON.stringify(each)),
    '{"userName":"a"}\n{"userName":"b"}\n\nnot json\n',
    '{"other":[1],"users":[{"userName":"a"},2,null]}',
  ],
  tokens: [
    "users",
    "userName",
    "username",
    "email",
    "attributes",
    "credentials",
    "metadata",
    "id",
    "secretData",
    "credentialData",
    "profile",
    "model",
    "attrs",
    "identities",
    "\n",
    "[",
    "{",
  ],
  parse: async (input, { file }) => {
    writeFileSync(file, input)
    const entries = []
    for await (const { value, problem } of jsonEntries(file)) {
      if (problem === undefined) entries.push(value)
    }
    const people = []
    for (const format of formats) people.push(await readPeople(format, file))
    return { people, entries }
  },
  check: ({ entries }, input) => {
    const json = parseJson(input.toString().replace(/^\ufeff/, ""))
    if (!Array.isArray(json)) return
    requireEqual(entries, json, "a list is read as JSON.parse reads it")
  },
})

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Users in YAML, as in Authelia. */
export const yamlImport = fuzzTarget<readonly ReadUser[], Folder>({
  name: "yaml-import",
  ...folder,
  seeds: () => [
    "users:\n  ada:\n    displayname: 'Ada'\n" +
      "    password: '$argon2id$v=19$m=1,t=1,p=1$AAAA$AAAA'\n    email: a@b\n    groups: [staff]\n",
    "a: &a [1]\nusers: {b: {displayname: *a}}\n",
  ],
  tokens: ["users:", "&a", "*a", "<<: *a", "- ", "? ", "!!binary", "|", "---", "{}", "__proto__"],
  parse: (input, { file }) => {
    writeFileSync(file, input)
    return readPeople(authelia, file)
  },
  check: (people) => {
    for (const each of people)
      requireProperty(typeof each.userName === "string", "a person has a name")
  },
})

/** Lines of an organization export, in an importable order. */
export const transferLines = fuzzTarget<readonly TransferLine[]>({
  name: "transfer-lines",
  seeds: () => [
    '{"orgId":"1","org":{"name":"a"}}\n{"orgId":"1","humanUsers":[{"userId":"2"}]}\n',
    '{"orgId":"1","human_users":[],"orgState":2}\n{"org_id":"1","org":{},"projects":[]}\nx\n\n',
  ],
  tokens: ["orgId", "org_id", "org", "orgState", "humanUsers", "projects", "userGrants", "\n", "1"],
  parse: (input) => {
    const lines = input.toString().split("\n")
    return Array.fromAsync(
      linesInOrder(async function* () {
        yield* lines
      }),
    )
  },
  check: (lines, input) => {
    const all = input.toString().split("\n")
    const wanted = all.flatMap((text, at) => (text.trim() === "" ? [] : [at + 1]))
    const numbers = new Set(lines.map(({ number }) => number))
    for (const number of numbers)
      requireProperty(wanted.includes(number), "each line is of the file")
    for (const at of wanted) {
      const piece = toPiece(parseJson(all[at - 1] ?? ""))
      const names = Object.keys(piece ?? {}).filter((name) => !/^(orgId|org_?state)$/i.test(name))
      requireProperty((piece && names.length === 0) || numbers.has(at), `line ${at} is not lost`)
    }
  },
})
