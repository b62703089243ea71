import { createHash } from "node:crypto"
import * as action from "../../src/domain/action/index.ts"
import { createApplication } from "../../src/domain/app/commands.ts"
import * as app from "../../src/domain/app/index.ts"
import type { OidcInput } from "../../src/domain/app/oidc.ts"
import { appView } from "../../src/domain/app/view.ts"
import * as appAccess from "../../src/domain/app-access/index.ts"
import * as authorization from "../../src/domain/authorization/index.ts"
import { createPassword } from "../../src/domain/credential/commands.ts"
import * as feature from "../../src/domain/feature/index.ts"
import * as grant from "../../src/domain/grant/index.ts"
import * as group from "../../src/domain/group/index.ts"
import * as idp from "../../src/domain/idp/index.ts"
import { instanceHostView, instanceView } from "../../src/domain/instance/host.ts"
import * as instance from "../../src/domain/instance/index.ts"
import * as key from "../../src/domain/key/index.ts"
import * as member from "../../src/domain/member/index.ts"
import * as message from "../../src/domain/message/index.ts"
import * as messageProvider from "../../src/domain/message-provider/index.ts"
import * as milestone from "../../src/domain/milestone/index.ts"
import * as org from "../../src/domain/org/index.ts"
import * as policy from "../../src/domain/policy/index.ts"
import * as project from "../../src/domain/project/index.ts"
import * as projectGrant from "../../src/domain/project-grant/index.ts"
import * as quota from "../../src/domain/quota/index.ts"
import { createServiceKey } from "../../src/domain/service-account/service-key.ts"
import * as session from "../../src/domain/session/index.ts"
import { type SetupResult, setUp } from "../../src/domain/setup/index.ts"
import * as signUp from "../../src/domain/sign-up/index.ts"
import * as target from "../../src/domain/target/index.ts"
import * as text from "../../src/domain/text/index.ts"
import * as transfer from "../../src/domain/transfer/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import type { Call } from "../../src/kernel/context.ts"
import { createShowPage, loginRoutes } from "../../src/login/index.ts"
import { authenticateApiCaller, oauthRoutes } from "../../src/oauth/index.ts"
import { samlRoutes } from "../../src/saml/index.ts"
import type { AnyAggregate, Cx } from "../../src/store/index.ts"
import { serveAreas } from "../http/answering.ts"
import { snapshotEnvironment } from "../support/environment-log.ts"
import { refreshTarget } from "../support/http-browser.ts"
import { temporaryFolder } from "../support/latchkey.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import * as users from "../support/user-modules.ts"

export const issuer = "https://id.example.com"
export const password = "Correct-Horse-7"
export const redirectUri = "https://app.example.com/callback"
export const signedOutUri = "https://app.example.com/bye"

export type Provider = TestEnvironment & {
  /** `serviceKey` is the key file of a service account that owns the instance. */
  readonly setup: SetupResult & { readonly serviceKey: string }
  /** The default project of new applications. */
  readonly projectId: string
  /** Our own project, which contains the console. */
  readonly ownProjectId: string
  /** Sends a request as if it came from a listener. */
  readonly send: (path: string, init?: RequestInit, more?: Partial<Call>) => Promise<Response>
  readonly addClient: (oidc?: OidcInput, projectId?: string) => Promise<NewClient>
  readonly addPerson: (userName: string, orgId?: string) => Promise<string>
}

export type NewClient = { readonly appId: string; readonly id: string; readonly secret: string }

const aggregates: readonly AnyAggregate[] = [
  ...action.module.aggregates,
  ...app.module.aggregates,
  ...appAccess.module.aggregates,
  ...authorization.module.aggregates,
  ...grant.module.aggregates,
  ...group.module.aggregates,
  ...idp.module.aggregates,
  ...instance.module.aggregates,
  ...feature.module.aggregates,
  ...key.module.aggregates,
  ...member.module.aggregates,
  ...signUp.module.aggregates,
  ...message.module.aggregates,
  ...messageProvider.module.aggregates,
  ...milestone.module.aggregates,
  ...org.module.aggregates,
  ...policy.module.aggregates,
  ...project.module.aggregates,
  ...projectGrant.module.aggregates,
  ...quota.module.aggregates,
  ...session.module.aggregates,
  ...target.module.aggregates,
  ...text.module.aggregates,
  ...transfer.module.aggregates,
  ...users.aggregates,
]
const views = [
  ...action.module.views,
  ...target.module.views,
  appView,
  ...appAccess.module.views,
  ...authorization.module.views,
  ...grant.module.views,
  ...group.module.views,
  instanceHostView,
  instanceView,
  ...key.module.views,
  ...member.module.views,
  ...signUp.module.views,
  ...message.module.views,
  ...org.module.views,
  ...project.module.views,
  ...projectGrant.module.views,
  ...session.module.views,
  ...users.views,
]

const assets = { css: "/ui/assets/kit.css", pageJs: "/ui/assets/page.js", icon: "/ui/mark.svg" }

type PreparedProvider = Pick<Provider, "setup" | "projectId" | "ownProjectId"> & {
  /** A data directory with all of it. */
  readonly copy: ReturnType<typeof snapshotEnvironment>
}

/** Prepared data directories of providers; setup takes longer than most tests. */
const preparedProviders = new Map<string, Promise<PreparedProvider>>()

async function prepare(instanceId: string): Promise<PreparedProvider> {
  const folder = temporaryFolder()
  const world = openTestEnvironment({ aggregates, views }, folder, 1)
  const cx = world.cx({ instance: instanceId })
  const owner = {
    loginName: "olga",
    email: "olga@example.com",
    firstName: "Olga",
    lastName: "Owner",
    password,
  }
  const userId = cx.ids.next()
  const { content, ...key } = await createServiceKey(cx, userId)
  const outcome = await setUp(cx, {
    publicUrl: issuer,
    organization: "Example",
    owner,
    serviceKey: { ...key, userId },
  })
  const setup = { ...outcome, serviceKey: content }
  const ownProjectId = instance.requireInstance(cx).projectId
  const projectId = cx.ids.next()
  await project.createProject(cx, projectId, { orgId: setup.orgId, name: "Applications" })
  await activateMail(cx)
  await world.store.close()
  return { setup, projectId, ownProjectId, copy: snapshotEnvironment(folder) }
}

/** Without a mail server no page offers an emailed link. */
async function activateMail(cx: Cx): Promise<void> {
  const sender = { senderAddress: "id@example.com", senderName: "Example", replyToAddress: "" }
  const server = { host: "mail.example.com", tls: true, user: "", auth: { kind: "none" } } as const
  const settings = { kind: "smtp", description: "", ...sender, ...server } as const
  const { id } = await messageProvider.addProvider(cx, "email", { settings })
  await messageProvider.activateProvider(cx, "email", id)
}

/** A complete provider with its own store, set up, without sockets. */
export async function openProvider(instanceId = "i1"): Promise<Provider> {
  const ready = preparedProviders.get(instanceId) ?? prepare(instanceId)
  preparedProviders.set(instanceId, ready)
  const { setup, projectId, ownProjectId, copy } = await ready
  const world = openTestEnvironment({ aggregates, views }, copy())
  const cx = world.cx({ instance: instanceId })
  const show = createShowPage(assets)
  const login = loginRoutes({
    show,
    hrefs: { logout: "/oidc/v1/endsession", account: "/ui/account", console: "/ui/console/" },
  })
  const saml = samlRoutes({ show, onRejected: () => undefined })
  const oauth = oauthRoutes({ show, onRejected: () => undefined })
  const answerAt = serveAreas([oauth, saml, login])
  let requests = 0
  const send: Provider["send"] = async (path, init, more) => {
    const url = new URL(path, issuer)
    const request = new Request(url, { redirect: "manual", ...init })
    const own = { instance: instanceId, requestId: `request-${++requests}` }
    const call = world.cx({ ...own, caller: { kind: "anonymous" }, ...more })
    return (await answerAt(request, call, url)) ?? new Response(null, { status: 404 })
  }
  const addClient = async (oidc: OidcInput = {}, inProject = projectId) => {
    const appId = cx.ids.next()
    const made = await createApplication(cx, appId, {
      projectId: inProject,
      name: "Example App",
      config: {
        kind: "oidc",
        oidc: { redirectUris: [redirectUri], postLogoutRedirectUris: [signedOutUri], ...oidc },
      },
    })
    return { appId, id: made.clientId, secret: made.secret ?? "" }
  }
  const addPerson = async (userName: string, orgId = setup.orgId) => {
    const id = cx.ids.next()
    const email = `${userName}@example.org`
    await createUser(cx, id, {
      kind: "human",
      orgId,
      userName,
      profile: { givenName: "Pat", familyName: "Person" },
      email: { value: email, verified: true },
      password: await createPassword(password, { names: [userName] }),
    })
    return id
  }
  return { ...world, setup, projectId, ownProjectId, send, addClient, addPerson }
}

export const verifier = "v".repeat(43)
export const challenge = createHash("sha256").update(verifier).digest("base64url")

/** A valid authorization request; fields set to undefined are omitted. */
export function authorizePath(
  clientId: string,
  changes: Readonly<Record<string, string | undefined>> = {},
): string {
  const all = {
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid profile email",
    state: "s-1",
    nonce: "n-1",
    code_challenge: challenge,
    code_challenge_method: "S256",
    ...changes,
  }
  const given = Object.entries(all).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  )
  return `/oauth/v2/authorize?${new URLSearchParams(given)}`
}

/** A browser: keeps its cookie, follows redirects on our origin, stops where they leave it. */
export function browserOf(provider: Pick<Provider, "send">) {
  const cookies = new Map<string, string>()
  const keep = (line: string) => {
    const [pair = ""] = line.split(";")
    cookies.set(pair.split("=")[0] ?? "", pair)
  }
  const cookie = () => [...cookies.values()].join("; ")
  const go = async (path: string, init: RequestInit = {}): Promise<VisitedPage> => {
    const headers = { ...Object.fromEntries(new Headers(init.headers)), cookie: cookie() }
    const response = await provider.send(path, { ...init, headers })
    for (const line of response.headers.getSetCookie()) keep(line)
    const found = response.headers.get("location")
    const page = found === null ? await response.text() : ""
    const location = found ?? refreshTarget(page)
    if (location === undefined) {
      if (init.method === "POST") expectNoStep(path, page)
      return { path, response, page }
    }
    const next = new URL(location, issuer)
    if (next.origin !== issuer) return { path: location, response, page: "" }
    return go(next.pathname + next.search)
  }
  const post = (at: VisitedPage, fields: Readonly<Record<string, string>>) =>
    go(formAction(at.page), {
      method: "POST",
      body: new URLSearchParams({ ...hiddenFields(at.page), ...fields }),
    })
  const signIn = async (path: string, loginName = "olga", secret = password) => {
    const named = await post(await go(path), { loginName })
    return post(named, { loginName, password: secret })
  }
  return {
    go,
    post,
    signIn,
    cookie,
    /** Replaces all cookies. */
    setCookie: (lines: string) => {
      cookies.clear()
      for (const line of lines.split("; ")) keep(line)
    },
  }
}

/**
 * Back, Forward and Reload resubmit nothing: a login form's response is a redirect, never a page
 * with another form.
 */
function expectNoStep(path: string, page: string): void {
  const isStep = path.startsWith("/ui/login/") && page.includes(' action="/')
  if (isStep) throw new Error(`${path} answers a form with a page`)
}

/** The last page of a browser: a page of ours, or a URL elsewhere. */
export type VisitedPage = {
  readonly path: string
  readonly response: Response
  readonly page: string
}

const formAction = (page: string) =>
  unescapeHtml(/<form[^>]*action="([^"]*)"/.exec(page)?.[1] ?? "/no-form")

export const hiddenFields = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
      ([, name = "", value = ""]) => [name, unescapeHtml(value)],
    ),
  )

const unescapeHtml = (text: string) =>
  text.replaceAll("&quot;", '"').replaceAll("&#x27;", "'").replaceAll("&amp;", "&")

/** The response parameters in the redirect's query. */
export const responseOf = ({ path }: VisitedPage): Record<string, string> =>
  Object.fromEntries(new URL(path).searchParams)

/** Posts to the token endpoint; `basic` is "<id>:<secret>". */
export async function sendTokenRequest(
  provider: Provider,
  fields: Readonly<Record<string, string>>,
  basic?: string,
) {
  const headers: Record<string, string> = basic
    ? { authorization: `Basic ${Buffer.from(basic).toString("base64")}` }
    : {}
  const body = new URLSearchParams(fields)
  const response = await provider.send("/oauth/v2/token", { method: "POST", body, headers })
  const answer: Record<string, unknown> = await response.json()
  return { status: response.status, headers: response.headers, answer }
}

/** The caller that the management API derives from an access token. */
export const findApiCaller = (provider: Provider, accessToken: string) =>
  authenticateApiCaller(provider.cx(), {
    headers: new Headers({ authorization: `Bearer ${accessToken}` }),
    method: "GET",
    path: "/",
  })

/** The token request for a code. */
export const codeFields = (code: string, changes: Readonly<Record<string, string>> = {}) => ({
  grant_type: "authorization_code",
  code,
  redirect_uri: redirectUri,
  code_verifier: verifier,
  ...changes,
})
