// A data directory of an earlier version: the users of two organizations, of whom two share a
// verified address and one has proven it, a link to an identity provider, and an execution. It was
// created through the API; ids.json has the IDs, and every password is the owner's.
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import {
  freePort,
  owner,
  type RunningServer,
  run,
  serviceToken,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { connect, type Reply } from "./service.ts"

const redirectUri = "https://app.test/cb"

const folder = temporaryFolder()
let server: RunningServer
let token = ""
let ids: Readonly<Record<string, string>> = {}
let checkOutput = ""

beforeAll(async () => {
  const kept = join(import.meta.dirname, "earlier/users.tar.gz")
  execFileSync("tar", ["-xzf", kept, "-C", folder.path])
  const read = (name: string) => JSON.parse(readFileSync(join(folder.path, name), "utf8"))
  ids = read("ids.json")
  checkOutput = (await run(["upgrade", "check", "--data", folder.path])).output
  const port = await freePort()
  const args = ["--public-url", `http://localhost:${port}`, "--outbound-allow", "127.0.0.1"]
  server = await startLatchkey({ data: folder.path, port, args })
  token = await serviceToken(server.url, read("service-key.json"))
})
afterAll(async () => {
  await server?.stop()
  folder.remove()
})

const call = (name: string, request: object): Promise<Reply> =>
  connect(server.url, name, { request, token })

const signIn = (user: object): Promise<Reply> =>
  call("core.session.v2.SessionService/CreateSession", {
    checks: { user, password: { password: owner.password } },
  })

test("the check before the upgrade counts the users whose address is affected", () => {
  expect(checkOutput).toContain("4 users have an email address that only their organization")
})

test.each(["ceoA", "ceoB", "open", "own"])("%s signs in with the password", async (user) => {
  expect(await signIn({ userId: ids[user] })).toMatchObject({ status: 200 })
})

test("users sign in with their previous names; a shared address signs nobody in", async () => {
  for (const loginName of ["ceo-a", "ceo-b", "own@b.test"]) {
    expect(await signIn({ loginName })).toMatchObject({ status: 200 })
  }
  expect(await signIn({ loginName: "ceo@corp.test" })).toMatchObject({ status: 400 })
  const { output } = await run(["doctor", "--data", folder.path])
  const shared = [ids.ceoB, ids.ceoA].join(", ")
  expect(output).toContain(`users ${shared} have the same verified email address`)
})

/** The claims that the application of organization A receives about the signed-in user. */
async function claimsFor(userId = ""): Promise<object> {
  const { clientId = "", clientSecret = "", me = "" } = ids
  const asked = { client_id: clientId, redirect_uri: redirectUri, response_type: "code" }
  const query = new URLSearchParams({ ...asked, scope: "openid email" })
  const begun = await fetch(`${server.url}/oauth/v2/authorize?${query}`, {
    redirect: "manual",
    headers: { "x-core-login-client": me },
  })
  const authRequestId = new URL(begun.headers.get("location") ?? "").searchParams.get("authRequest")
  const { sessionId, sessionToken } = (await signIn({ userId })).body
  const session = { sessionId, sessionToken }
  const { body } = await call("core.oidc.v2.OIDCService/CreateCallback", { authRequestId, session })
  const code = new URL(body.callbackUrl).searchParams.get("code") ?? ""
  const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri }
  const issued = await fetch(`${server.url}/oauth/v2/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new URLSearchParams(form),
  })
  const { access_token } = await issued.json()
  const headers = { authorization: `Bearer ${access_token}` }
  return (await fetch(`${server.url}/oidc/v1/userinfo`, { headers })).json()
}

test("an address that B alone verified is not verified for an application of A", async () => {
  expect(await claimsFor(ids.ceoA)).toMatchObject({ email_verified: true })
  expect(await claimsFor(ids.ceoB)).toMatchObject({ email: "ceo@corp.test", email_verified: false })
  const confirmed = await run(["users", "confirm-emails", "--data", folder.path])
  expect(confirmed.output).toContain(
    "2 users share their email address with others and were " + "skipped",
  )
  expect(await claimsFor(ids.own)).toMatchObject({ email: "own@b.test", email_verified: true })
})

test("a link to an identity provider is kept", async () => {
  const { body } = await call("core.user.v2.UserService/ListIDPLinks", { userId: ids.linked })
  expect(body.result).toEqual([expect.objectContaining({ idpId: ids.idp, userId: "sub-1" })])
})

test("an execution still calls its target, which changes the request", async () => {
  const hook = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { request: told } = await request.json()
      return Response.json({ ...told, name: `${told.name}, renamed` })
    },
  })
  const add = () => call("core.org.v2.OrganizationService/AddOrganization", { name: "Third" })
  // The stored endpoint has no server, which stops the call.
  expect((await add()).status).not.toBe(200)
  const endpoint = `http://127.0.0.1:${hook.port}/hook`
  await call("core.action.v2.ActionService/UpdateTarget", { id: ids.target, endpoint })
  expect((await add()).status).toBe(200)
  const { body } = await call("core.org.v2.OrganizationService/ListOrganizations", {})
  await hook.stop(true)
  expect(body.result.map(({ name }: { name: string }) => name)).toContain("Third, renamed")
})
