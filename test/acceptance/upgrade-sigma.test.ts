// A data directory of an earlier version that treated the two forms of sigma as different letters:
// users and a group with Greek names, two of which differ in a sigma only. It was created through
// the API; ids.json has the IDs, and every password is the owner's.
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  freePort,
  owner,
  type RunningServer,
  serviceToken,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { connect, type Reply } from "./service.ts"

const folder = temporaryFolder()
let server: RunningServer
let token = ""
let ids: Readonly<Record<string, string>> = {}

beforeAll(async () => {
  const kept = join(import.meta.dirname, "earlier/sigma.tar.gz")
  execFileSync("tar", ["-xzf", kept, "-C", folder.path])
  const read = (name: string) => JSON.parse(readFileSync(join(folder.path, name), "utf8"))
  ids = read("ids.json")
  const port = await freePort()
  const args = ["--public-url", `http://localhost:${port}`]
  server = await startLatchkey({ data: folder.path, port, args })
  token = await serviceToken(server.url, read("service-key.json"))
})
afterAll(async () => {
  await server?.stop()
  folder.remove()
})

const call = (name: string, request: object): Promise<Reply> =>
  connect(server.url, name, { request, token })

async function signInAs(loginName: string): Promise<string> {
  const password = { password: owner.password }
  const session = await call("core.session.v2.SessionService/CreateSession", {
    checks: { user: { loginName }, password },
  })
  if (session.status !== 200) return `${session.status}`
  const { sessionId, sessionToken } = session.body
  const { body } = await call("core.session.v2.SessionService/GetSession", {
    sessionId,
    sessionToken,
  })
  return body.session.factors.user.id
}

const add = (username: string) =>
  call("core.user.v2.UserService/AddHumanUser", {
    username,
    profile: { givenName: "Eve", familyName: "E" },
    email: { email: "eve@mail.test" },
  })

const alreadyExists = { status: 409, body: { code: "already_exists" } }

test.each([
  ["nikos", ["νικος.παππας", "ΝΙΚΟΣ.ΠΑΠΠΑΣ", "ΝΙΚΟΣ.ΠΑΠΠΑΣ@MAIL.TEST"]],
  ["capitals", ["ΦΩΤΙΟΣ.ΠΑΠΠΑΣ", "φωτιος.παππας"]],
  // As before: the user whose name is the lowercase form.
  ["savvas", ["σαββας", "ΣΑΒΒΑΣ"]],
  ["twin", ["σαββασ"]],
])("%s signs in", async (user, names) => {
  for (const name of names) expect(await signInAs(name), name).toBe(ids[user])
})

test.each(["ΝΙΚΟΣ.ΠΑΠΠΑΣ", "νικοσ.παππασ", "φωτιος.παππας", "ΣΑΒΒΑΣ"])(
  "no other user can take the name %s",
  async (name) => {
    expect(await add(name)).toMatchObject(alreadyExists)
  },
)

test.each(["νικος.παππας", "ΝΙΚΟΣ.ΠΑΠΠΑΣ"])("searches find %s", async (text) => {
  const method = "TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE"
  const queries = [
    { userNameQuery: { userName: text, method } },
    { emailQuery: { emailAddress: `${text}@mail.test`, method } },
  ]
  for (const query of queries) {
    const { body } = await call("core.user.v2.UserService/ListUsers", { queries: [query] })
    expect(body.result.map(({ userId }: { userId: string }) => userId)).toEqual([ids.nikos])
  }
})

test("the name of a group is unique across both forms", async () => {
  const name = "ΦΊΛΟΣ.ΜΈΛΟΣ"
  const request = { organizationId: ids.org, name }
  expect(await call("core.group.v2.GroupService/CreateGroup", request)).toMatchObject(alreadyExists)
})
