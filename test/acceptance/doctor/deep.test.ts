import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { writeCertificate } from "../../support/certificate.ts"
import { binary, freePort, run } from "../../support/latchkey.ts"
import { type MailServerOfTests, mailServer } from "../../support/mail-server.ts"
import { until } from "../../support/wait.ts"
import { type House, openBehindProxy } from "./deep-house.ts"

const admin = (name: string) => `core.admin.v1.AdminService/${name}`
const login = { user: "login@example.com", secret: "right" }

let house: House
let mail: MailServerOfTests
/** What targets were told, by the type of the event or the name of the function. */
const told: string[] = []
let hook: Server
let backup: string

beforeAll(async () => {
  house = await openBehindProxy(["--outbound-allow", "127.0.0.1,localhost"])
  const files = await writeCertificate(join(house.folder.path, "mail"), ["localhost"])
  const caCertificate = readFileSync(files.certFile, "utf8")
  const identity = { cert: caCertificate, key: readFileSync(files.keyFile, "utf8") }
  mail = await mailServer({ tls: "starttls", login, identity })
  backup = join(house.folder.path, "whole.backup")
  await watchAll()
  const { id } = await house.get(admin("AddEmailProviderSMTP"), {
    senderAddress: "id@example.com",
    senderName: "Acme",
    tls: true,
    caCertificate,
    host: `localhost:${mail.port}`,
    user: login.user,
    plain: { password: login.secret },
  })
  await house.get(admin("ActivateEmailProvider"), { id })
  providerId = id
  const saved = await run(["backup", backup, "--data", house.data, "--include-master-key"])
  expect(saved.output).toContain("Saved")
})
let providerId = ""
afterEach(async () => {
  Object.assign(house.faults, { dateShiftMs: 0, dropsHeader: false, holds: "", breaks: "" })
})
afterAll(async () => {
  await house?.close()
  await mail?.close()
  hook?.close()
})

/** Has a target told of every event and asked by every function. */
async function watchAll(): Promise<void> {
  const port = await freePort()
  hook = createServer(async (incoming, outgoing) => {
    let text = ""
    for await (const chunk of incoming) text += chunk
    const { event_type, function: asked, aggregateID } = JSON.parse(text)
    told.push(`${event_type ?? asked} ${aggregateID ?? ""}`)
    outgoing.end("{}")
  })
  await new Promise<void>((done) => hook.listen(port, "127.0.0.1", done))
  const action = (name: string) => `core.action.v2.ActionService/${name}`
  const target = { name: "all", endpoint: `http://127.0.0.1:${port}`, timeout: "5s" }
  const { id } = await house.get(action("CreateTarget"), { ...target, restCall: {} })
  const conditions = [
    { event: { all: true } },
    { function: { name: "preuserinfo" } },
    { function: { name: "preaccesstoken" } },
  ]
  for (const condition of conditions) {
    await house.get(action("SetExecution"), { condition, targets: [id] })
  }
}

const users = async (): Promise<readonly string[]> =>
  (await house.get("core.user.v2.UserService/ListUsers")).result.map(
    ({ userId }: { readonly userId: string }) => userId,
  )
const temporary = async () => (await users()).filter((id) => id.startsWith("latchkey-doctor-"))

test("a healthy server: all works, and nothing of it is left", async () => {
  const before = await users()
  const { code, findings, of } = await house.deep("--backup", backup)
  expect(findings.filter(({ state }) => state === "wrong")).toEqual([])
  expect(code).toBe(0)
  expect(of("sign-in")?.said).toBe("password, tokens, introspection, userinfo and sign-out work")
  expect(of("sign-in")?.ms).toBeGreaterThan(0)
  expect(of("mail")?.said).toMatch(
    /^resolved .*, connected .*, secured .*, authenticated .*; nothing was sent/,
  )
  expect(of("restore")?.said).toMatch(/is whole: \d+ events, 1 instances, 2 keys sign/)
  expect(of("clock")).toMatchObject({ state: "ok" })
  expect(of("disk space")).toMatchObject({ state: "ok" })
  expect(mail.received).toEqual([])
  expect(existsSync(join(house.data, "doctor.part"))).toBe(false)
  expect(await users()).toEqual(before)
  const apps = await house.get("core.application.v2.ApplicationService/ListApplications")
  expect(JSON.stringify(apps)).not.toContain("latchkey-doctor-")
  const sessions = await house.get("core.session.v2.SessionService/ListSessions")
  expect(JSON.stringify(sessions)).not.toContain("latchkey-doctor-")
  const { result } = await house.get(admin("ListMilestones"))
  const signedIn = result.filter(
    ({ type, reachedDate }: Record<string, string>) =>
      /APPLICATION/.test(String(type)) && reachedDate !== undefined,
  )
  expect(signedIn).toEqual([])
  const metrics = await house.metrics()
  expect(metrics).toMatch(
    /^latchkey_sign_in_checks_total\{method="password",outcome="succeeded"\} 0$/m,
  )
  expect(metrics).toMatch(/^latchkey_tokens_issued_total\{grant="jwt-bearer"\} [1-9]/m)
  expect(metrics).not.toMatch(/^latchkey_tokens_issued_total\{grant="authorization_code"\} [1-9]/m)
})

test("targets learn of everybody else, and not of its user", async () => {
  told.length = 0
  const { of } = await house.deep("--backup", backup)
  expect(of("sign-in")).toMatchObject({ state: "ok" })
  const organizationId = (await house.get("core.org.v2.OrganizationService/ListOrganizations"))
    .result[0].id
  const profile = { givenName: "Eva", familyName: "Example" }
  const human = { profile, email: { email: "eva@example.com", isVerified: true } }
  const { id } = await house.get("core.user.v2.UserService/CreateUser", {
    organizationId,
    username: "eva",
    human,
  })
  // Events are told in their order: what comes before was told before.
  await until(() => told.some((each) => each === `user.human.added ${id}`), {
    what: () => told.join("\n"),
  })
  expect(told.filter((each) => !each.endsWith(id))).toEqual([])
})

test("with an address it sends a mail", async () => {
  const { of } = await house.deep("--mail-to", "ops@example.com", "--backup", backup)
  expect(of("mail")?.said).toMatch(/^sent to ops@example.com: .*accepted/)
  expect(mail.received.map(({ recipients }) => recipients)).toEqual([["ops@example.com"]])
})

test("a wrong mail password is told in the server's words, with what went well", async () => {
  const change = { id: providerId, password: "wrong" }
  await house.get(admin("UpdateEmailProviderSMTPPassword"), change)
  const { code, of } = await house.deep("--backup", backup)
  expect(code).toBe(3)
  expect(of("mail")).toMatchObject({ state: "wrong" })
  expect(of("mail")?.said).toMatch(/secured .*; then .*(535|[Aa]uth|Invalid)/)
  expect(of("mail")?.said).not.toContain("wrong")
  await house.get(admin("UpdateEmailProviderSMTPPassword"), { ...change, password: login.secret })
})

test("a backup that was cut does not restore", async () => {
  const cut = join(house.folder.path, "cut.backup")
  const whole = readFileSync(backup)
  writeFileSync(cut, whole.subarray(0, whole.length - 20))
  const { code, of } = await house.deep("--backup", cut)
  expect(code).toBe(3)
  expect(of("restore")).toMatchObject({ state: "wrong" })
  expect(of("restore")?.said).toMatch(/damaged or cut/)
  expect(existsSync(join(house.data, "doctor.part"))).toBe(false)
})

test("a clock that is off is compared with that of the public address", async () => {
  house.faults.dateShiftMs = 3_600_000
  const { code, of } = await house.deep("--backup", backup)
  expect(code).toBe(3)
  expect(of("clock")?.said).toMatch(/^360\d s behind the Date header of http:\/\/localhost/)
})

test("a proxy that removes its header is told, and nobody is signed in", async () => {
  house.faults.dropsHeader = true
  told.length = 0
  const { of } = await house.deep("--backup", backup)
  expect(of("sign-in")).toMatchObject({ state: "warning", remedy: "have the proxy pass it on" })
  expect(await temporary()).toEqual([])
})

test.each([
  ["/oauth/v2/authorize", "the authorization endpoint", "/oauth/v2/authorize answers 502"],
  ["/ui/login/password", "the login name", "/ui/login/password answers 502 “bad gateway”"],
  ["/oauth/v2/token", "the token endpoint", "it answers 502: bad gateway"],
  ["/oidc/v1/endsession", "sign-out", "/oidc/v1/endsession"],
])("a sign-in that breaks at %s is told with the step", async (path, step, why) => {
  house.faults.breaks = path
  const { code, of } = await house.deep("--backup", backup)
  expect([code, of("sign-in")?.state]).toEqual([3, "wrong"])
  expect(of("sign-in")?.said).toContain(`it fails at ${step}: `)
  expect(of("sign-in")?.said).toContain(why)
  expect(await temporary()).toEqual([])
})

test("where nobody has a password, that is no failure", async () => {
  const keys = { allowUsernamePassword: false, passwordlessType: "PASSWORDLESS_TYPE_ALLOWED" }
  await house.get(admin("UpdateLoginPolicy"), keys)
  const { code, of } = await house.deep("--backup", backup)
  await house.get(admin("UpdateLoginPolicy"), { allowUsernamePassword: true })
  expect([code, of("sign-in")?.state]).toEqual([0, "ok"])
  expect(of("sign-in")?.said).toMatch(/^not tried: the policy lets nobody in with a password/)
})

test("a policy that forces a second factor is met, or told as what users need", async () => {
  const policy = { allowUsernamePassword: true, forceMfa: true }
  await house.get(admin("UpdateLoginPolicy"), policy)
  expect((await house.deep("--backup", backup)).of("sign-in")?.said).toMatch(
    /^password, authenticator app, tokens/,
  )
  await house.get(admin("RemoveSecondFactorFromLoginPolicy"), { type: "SECOND_FACTOR_TYPE_OTP" })
  const { code, of } = await house.deep("--backup", backup)
  expect([code, of("sign-in")?.state]).toEqual([0, "ok"])
  expect(of("sign-in")?.said).toMatch(/the policy then requires a second factor/)
  await house.get(admin("AddSecondFactorToLoginPolicy"), { type: "SECOND_FACTOR_TYPE_OTP" })
  await house.get(admin("UpdateLoginPolicy"), { ...policy, forceMfa: false })
})

/** Starts the doctor, and kills it once it has come so far. */
async function kill(isFar: () => boolean | Promise<boolean>): Promise<void> {
  const child = spawn(binary, ["doctor", "--deep", ...house.flags, "--backup", backup], { env: {} })
  const ended = new Promise((done) => child.once("exit", done))
  await until(isFar, { intervalMs: 1 })
  child.kill("SIGKILL")
  await ended
}

test("killed during the sign-in, what it made is removed by the next doctor", async () => {
  house.faults.holds = "/oidc/v1/userinfo"
  await kill(() => house.held.length > 0)
  house.faults.holds = ""
  expect(await temporary()).toHaveLength(1)
  const { of } = await house.deep("--backup", backup)
  expect(of("sign-in")).toMatchObject({ state: "ok" })
  expect(await temporary()).toEqual([])
})

test("killed during the sign-in, what it made is removed by the next start", async () => {
  house.held.length = 0
  house.faults.holds = "/oidc/v1/userinfo"
  await kill(() => house.held.length > 0)
  house.faults.holds = ""
  expect(await temporary()).toHaveLength(1)
  await house.stop("SIGKILL")
  await house.start()
  await until(async () => (await temporary()).length === 0)
})

test("killed during the restore, its copy is the owner's alone until the next start", async () => {
  const copy = join(house.data, "doctor.part")
  await kill(() => existsSync(copy))
  mkdirSync(copy, { recursive: true, mode: 0o700 })
  expect(statSync(copy).mode & 0o077).toBe(0)
  await house.stop()
  await house.start()
  expect(existsSync(copy)).toBe(false)
})

test("a server of several processes does the same", async () => {
  await house.stop()
  await house.start("--workers", "2")
  told.length = 0
  const { findings, of } = await house.deep("--backup", backup)
  expect(findings.filter(({ state }) => state === "wrong")).toEqual([])
  expect(of("sign-in")).toMatchObject({ state: "ok" })
  expect(await temporary()).toEqual([])
  expect(told.filter((each) => each.includes("latchkey-doctor-"))).toEqual([])
})

test("without a server it does the same by itself", async () => {
  await house.stop()
  const { code, of } = await house.deep("--backup", backup)
  await house.start()
  expect(code).toBe(0)
  expect(of("sign-in")).toMatchObject({ state: "ok" })
  expect(of("mail")?.said).toMatch(/authenticated/)
  expect(await temporary()).toEqual([])
})
