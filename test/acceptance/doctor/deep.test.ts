import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { writeCertificate } from "../../support/certificate.ts"
import { binary, freePort, run } from "../../support/latchkey.ts"
import { startMailServer, type TestMailServer } from "../../support/mail-server.ts"
import { until } from "../../support/wait.ts"
import { openBehindProxy, type ProxiedServer } from "./proxied-server.ts"

const admin = (name: string) => `core.admin.v1.AdminService/${name}`
const login = { user: "login@example.com", secret: "right" }

let proxied: ProxiedServer
let mail: TestMailServer
/** The event types and function names that targets received. */
const targetCalls: string[] = []
let hook: Server
let backup: string

beforeAll(async () => {
  proxied = await openBehindProxy(["--outbound-allow", "127.0.0.1,localhost"])
  const files = await writeCertificate(join(proxied.folder.path, "mail"), ["localhost"])
  const caCertificate = readFileSync(files.certFile, "utf8")
  const identity = { cert: caCertificate, key: readFileSync(files.keyFile, "utf8") }
  mail = await startMailServer({ tls: "starttls", login, identity })
  backup = join(proxied.folder.path, "whole.backup")
  await createTargets()
  const { id } = await proxied.get(admin("AddEmailProviderSMTP"), {
    senderAddress: "id@example.com",
    senderName: "Acme",
    tls: true,
    caCertificate,
    host: `localhost:${mail.port}`,
    user: login.user,
    plain: { password: login.secret },
  })
  await proxied.get(admin("ActivateEmailProvider"), { id })
  providerId = id
  const saved = await run(["backup", backup, "--data", proxied.data, "--include-master-key"])
  expect(saved.output).toContain("Saved")
})
let providerId = ""
afterEach(async () => {
  Object.assign(proxied.faults, { dateShiftMs: 0, dropsHeader: false, hangsAt: "", failsAt: "" })
})
afterAll(async () => {
  await proxied?.close()
  await mail?.close()
  hook?.close()
})

/** Calls a target for every event and for every function. */
async function createTargets(): Promise<void> {
  const port = await freePort()
  hook = createServer(async (incoming, outgoing) => {
    let text = ""
    for await (const chunk of incoming) text += chunk
    const { event_type, function: asked, aggregateID } = JSON.parse(text)
    targetCalls.push(`${event_type ?? asked} ${aggregateID ?? ""}`)
    outgoing.end("{}")
  })
  await new Promise<void>((done) => hook.listen(port, "127.0.0.1", done))
  const action = (name: string) => `core.action.v2.ActionService/${name}`
  const target = { name: "all", endpoint: `http://127.0.0.1:${port}`, timeout: "5s" }
  const { id } = await proxied.get(action("CreateTarget"), { ...target, restCall: {} })
  const conditions = [
    { event: { all: true } },
    { function: { name: "preuserinfo" } },
    { function: { name: "preaccesstoken" } },
  ]
  for (const condition of conditions) {
    await proxied.get(action("SetExecution"), { condition, targets: [id] })
  }
}

const users = async (): Promise<readonly string[]> =>
  (await proxied.get("core.user.v2.UserService/ListUsers")).result.map(
    ({ userId }: { readonly userId: string }) => userId,
  )
const listTemporaryUsers = async () =>
  (await users()).filter((id) => id.startsWith("latchkey-doctor-"))

test("a healthy server passes all checks, and nothing of them remains", async () => {
  const before = await users()
  const { code, findings, of } = await proxied.deep("--backup", backup)
  expect(findings.filter(({ state }) => state === "wrong")).toEqual([])
  expect(code).toBe(0)
  expect(of("sign-in")?.said).toBe("password, tokens, introspection, userinfo and sign-out work")
  expect(of("sign-in")?.ms).toBeGreaterThan(0)
  expect(of("mail")?.said).toMatch(
    /^resolved .*, connected .*, secured .*, authenticated .*; nothing was sent/,
  )
  expect(of("restore")?.said).toMatch(/is intact: \d+ events, 1 instances, 2 signing keys/)
  expect(of("clock")).toMatchObject({ state: "ok" })
  expect(of("disk space")).toMatchObject({ state: "ok" })
  expect(mail.received).toEqual([])
  expect(existsSync(join(proxied.data, "doctor.part"))).toBe(false)
  expect(await users()).toEqual(before)
  const apps = await proxied.get("core.application.v2.ApplicationService/ListApplications")
  expect(JSON.stringify(apps)).not.toContain("latchkey-doctor-")
  const sessions = await proxied.get("core.session.v2.SessionService/ListSessions")
  expect(JSON.stringify(sessions)).not.toContain("latchkey-doctor-")
  const { result } = await proxied.get(admin("ListMilestones"))
  const signedIn = result.filter(
    ({ type, reachedDate }: Record<string, string>) =>
      /APPLICATION/.test(String(type)) && reachedDate !== undefined,
  )
  expect(signedIn).toEqual([])
  const metrics = await proxied.metrics()
  expect(metrics).toMatch(
    /^latchkey_sign_in_checks_total\{method="password",outcome="succeeded"\} 0$/m,
  )
  expect(metrics).toMatch(/^latchkey_tokens_issued_total\{grant="jwt-bearer"\} [1-9]/m)
  expect(metrics).not.toMatch(/^latchkey_tokens_issued_total\{grant="authorization_code"\} [1-9]/m)
})

test("targets receive the events of other users, and none of the doctor's user", async () => {
  targetCalls.length = 0
  const { of } = await proxied.deep("--backup", backup)
  expect(of("sign-in")).toMatchObject({ state: "ok" })
  const organizationId = (await proxied.get("core.org.v2.OrganizationService/ListOrganizations"))
    .result[0].id
  const profile = { givenName: "Eva", familyName: "Example" }
  const human = { profile, email: { email: "eva@example.com", isVerified: true } }
  const { id } = await proxied.get("core.user.v2.UserService/CreateUser", {
    organizationId,
    username: "eva",
    human,
  })
  // Events are sent in order, so earlier ones have arrived.
  await until(() => targetCalls.some((each) => each === `user.human.added ${id}`), {
    what: () => targetCalls.join("\n"),
  })
  expect(targetCalls.filter((each) => !each.endsWith(id))).toEqual([])
})

test("sends an email if an address is given", async () => {
  const { of } = await proxied.deep("--mail-to", "ops@example.com", "--backup", backup)
  expect(of("mail")?.said).toMatch(/^sent to ops@example.com: .*accepted/)
  expect(mail.received.map(({ recipients }) => recipients)).toEqual([["ops@example.com"]])
})

test("reports a wrong mail password with the response and the completed steps", async () => {
  const change = { id: providerId, password: "wrong" }
  await proxied.get(admin("UpdateEmailProviderSMTPPassword"), change)
  const { code, of } = await proxied.deep("--backup", backup)
  expect(code).toBe(3)
  expect(of("mail")).toMatchObject({ state: "wrong" })
  expect(of("mail")?.said).toMatch(/secured .*; then .*(535|[Aa]uth|Invalid)/)
  expect(of("mail")?.said).not.toContain("wrong")
  await proxied.get(admin("UpdateEmailProviderSMTPPassword"), { ...change, password: login.secret })
})

test("reports a truncated backup as not restorable", async () => {
  const cut = join(proxied.folder.path, "cut.backup")
  const whole = readFileSync(backup)
  writeFileSync(cut, whole.subarray(0, whole.length - 20))
  const { code, of } = await proxied.deep("--backup", cut)
  expect(code).toBe(3)
  expect(of("restore")).toMatchObject({ state: "wrong" })
  expect(of("restore")?.said).toMatch(/damaged or truncated/)
  expect(existsSync(join(proxied.data, "doctor.part"))).toBe(false)
})

test("compares the clock with that of the public address", async () => {
  proxied.faults.dateShiftMs = 3_600_000
  const { code, of } = await proxied.deep("--backup", backup)
  expect(code).toBe(3)
  expect(of("clock")?.said).toMatch(/^360\d s behind the Date header of http:\/\/localhost/)
})

test("reports a proxy that removes its header, and signs nobody in", async () => {
  proxied.faults.dropsHeader = true
  targetCalls.length = 0
  const { of } = await proxied.deep("--backup", backup)
  expect(of("sign-in")).toMatchObject({
    state: "warning",
    remedy: "make the proxy forward the header",
  })
  expect(await listTemporaryUsers()).toEqual([])
})

test.each([
  ["/oauth/v2/authorize", "the authorization endpoint", "/oauth/v2/authorize returned 502"],
  ["/ui/login/password", "the login name", '/ui/login/password returned 502 "bad gateway"'],
  ["/oauth/v2/token", "the token endpoint", "the server returned 502: bad gateway"],
  ["/oidc/v1/endsession", "sign-out", "/oidc/v1/endsession"],
])("reports the step at which a sign-in fails: %s", async (path, step, reason) => {
  proxied.faults.failsAt = path
  const { code, of } = await proxied.deep("--backup", backup)
  expect([code, of("sign-in")?.state]).toEqual([3, "wrong"])
  expect(of("sign-in")?.said).toContain(`the sign-in fails at ${step}: `)
  expect(of("sign-in")?.said).toContain(reason)
  expect(await listTemporaryUsers()).toEqual([])
})

test("accepts an instance without passwords", async () => {
  const keys = { allowUsernamePassword: false, passwordlessType: "PASSWORDLESS_TYPE_ALLOWED" }
  await proxied.get(admin("UpdateLoginPolicy"), keys)
  const { code, of } = await proxied.deep("--backup", backup)
  await proxied.get(admin("UpdateLoginPolicy"), { allowUsernamePassword: true })
  expect([code, of("sign-in")?.state]).toEqual([0, "ok"])
  expect(of("sign-in")?.said).toMatch(
    /^not tested: the policy does not allow sign-in with a password/,
  )
})

test("handles a policy that requires a second factor", async () => {
  const policy = { allowUsernamePassword: true, forceMfa: true }
  await proxied.get(admin("UpdateLoginPolicy"), policy)
  expect((await proxied.deep("--backup", backup)).of("sign-in")?.said).toMatch(
    /^password, authenticator app, tokens/,
  )
  await proxied.get(admin("RemoveSecondFactorFromLoginPolicy"), { type: "SECOND_FACTOR_TYPE_OTP" })
  const { code, of } = await proxied.deep("--backup", backup)
  expect([code, of("sign-in")?.state]).toEqual([0, "ok"])
  expect(of("sign-in")?.said).toMatch(/the policy then requires a second factor/)
  await proxied.get(admin("AddSecondFactorToLoginPolicy"), { type: "SECOND_FACTOR_TYPE_OTP" })
  await proxied.get(admin("UpdateLoginPolicy"), { ...policy, forceMfa: false })
})

/** Starts the doctor, and kills it once `isFar` returns true. */
async function killDoctor(isFar: () => boolean | Promise<boolean>): Promise<void> {
  const child = spawn(binary, ["doctor", "--deep", ...proxied.flags, "--backup", backup], {
    env: {},
  })
  const ended = new Promise((done) => child.once("exit", done))
  await until(isFar, { intervalMs: 1 })
  child.kill("SIGKILL")
  await ended
}

test("the next run removes what a run killed during the sign-in created", async () => {
  proxied.faults.hangsAt = "/oidc/v1/userinfo"
  await killDoctor(() => proxied.held.length > 0)
  proxied.faults.hangsAt = ""
  expect(await listTemporaryUsers()).toHaveLength(1)
  const { of } = await proxied.deep("--backup", backup)
  expect(of("sign-in")).toMatchObject({ state: "ok" })
  expect(await listTemporaryUsers()).toEqual([])
})

test("the next start removes what a run killed during the sign-in created", async () => {
  proxied.held.length = 0
  proxied.faults.hangsAt = "/oidc/v1/userinfo"
  await killDoctor(() => proxied.held.length > 0)
  proxied.faults.hangsAt = ""
  expect(await listTemporaryUsers()).toHaveLength(1)
  await proxied.stop("SIGKILL")
  await proxied.start()
  await until(async () => (await listTemporaryUsers()).length === 0)
})

test("a run killed during the restore leaves a private copy until the next start", async () => {
  const copy = join(proxied.data, "doctor.part")
  await killDoctor(() => existsSync(copy))
  mkdirSync(copy, { recursive: true, mode: 0o700 })
  expect(statSync(copy).mode & 0o077).toBe(0)
  await proxied.stop()
  await proxied.start()
  expect(existsSync(copy)).toBe(false)
})

test("a server of several processes passes the same checks", async () => {
  await proxied.stop()
  await proxied.start("--workers", "2")
  targetCalls.length = 0
  const { findings, of } = await proxied.deep("--backup", backup)
  expect(findings.filter(({ state }) => state === "wrong")).toEqual([])
  expect(of("sign-in")).toMatchObject({ state: "ok" })
  expect(await listTemporaryUsers()).toEqual([])
  expect(targetCalls.filter((each) => each.includes("latchkey-doctor-"))).toEqual([])
})

test("runs the same checks without a server", async () => {
  await proxied.stop()
  const { code, of } = await proxied.deep("--backup", backup)
  await proxied.start()
  expect(code).toBe(0)
  expect(of("sign-in")).toMatchObject({ state: "ok" })
  expect(of("mail")?.said).toMatch(/authenticated/)
  expect(await listTemporaryUsers()).toEqual([])
})
