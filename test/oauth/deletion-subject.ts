// Everything that rows of docs/reference/deletion.tsv name, created once for each action.

import { registerApplication } from "../../src/domain/app/index.ts"
import { addAssignments } from "../../src/domain/app-access/commands.ts"
import { createGroupAuthorization } from "../../src/domain/authorization/group/commands.ts"
import * as authorization from "../../src/domain/authorization/index.ts"
import { checkPassword } from "../../src/domain/credential/commands.ts"
import { createGroup } from "../../src/domain/group/index.ts"
import { addToGroup } from "../../src/domain/group/member.ts"
import { createIdp, linkIdp } from "../../src/domain/idp/commands.ts"
import * as instance from "../../src/domain/instance/index.ts"
import { addMember } from "../../src/domain/member/index.ts"
import { createOrganization } from "../../src/domain/org/commands.ts"
import * as org from "../../src/domain/org/index.ts"
import { addPolicy } from "../../src/domain/policy/commands.ts"
import { login } from "../../src/domain/policy/index.ts"
import * as project from "../../src/domain/project/index.ts"
import { createPersonalToken } from "../../src/domain/service-account/personal-token.ts"
import { createSignUpLink } from "../../src/domain/sign-up/link.ts"
import { signUpRequest } from "../../src/domain/sign-up/model.ts"
import { setAvatar, avatarPath as userAvatarPath } from "../../src/domain/user/index.ts"
import { addLink } from "../../src/domain/user-link/index.ts"
import { callerOf } from "../support/test-environment.ts"
import { openUpstream, upstreamIssuer } from "../support/upstream.ts"
import { addKeyTo, addServiceAccount, encodeBasic, signAssertion } from "./clients.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  redirectUri,
  responseOf,
  sendTokenRequest,
  type VisitedPage,
} from "./provider.ts"
import { enableRegistration } from "./registration.ts"

const day = 86_400_000
const offline = "openid offline_access"
const codeAndRefresh = ["authorization_code", "refresh_token"] as const
export const credentials = { grant_type: "client_credentials", scope: "openid" }
export const host = new URL(issuer).host

export type Subjects = Awaited<ReturnType<typeof openSubjects>>
export type Subject = Awaited<ReturnType<Subjects["begin"]>>

/**
 * How the user of a subject signs in; "org": by an organization's provider, set up by an
 * administrator of it.
 */
type SignInBy = "password" | "provider" | "org"

export async function openSubjects() {
  const opened = await openProvider()
  const upstream = await openUpstream()
  /** As a listener does: a host without an instance gets no response. */
  const send: Provider["send"] = async (path, init, more) =>
    instance.instanceAt(opened.store, host) === undefined
      ? new Response("{}", { status: 404 })
      : opened.send(path, init, { outside: upstream.outside, ...more })
  const provider: Provider = { ...opened, send }
  /** Of another organization, so that no action on the subject affects it. */
  const other = await provider.addClient({ authMethod: "basic" })
  let count = 0

  const redeem = async (client: NewClient, code: string | undefined) =>
    sendTokenRequest(provider, codeFields(code ?? ""), `${client.id}:${client.secret}`)

  const begin = async (by: SignInBy) => {
    const name = `subject${count++}`
    const owned = await addOwned(provider, name, by)
    const browser = browserOf(provider)
    // Providers of an organization are offered on its own pages.
    const scope = by === "org" ? `${offline} urn:core:iam:org:id:${owned.orgId}` : offline
    const atProvider = async (client: NewClient, at = browserOf(provider)) => {
      const first = await at.go(authorizePath(client.id, { scope }))
      const links = [...first.page.matchAll(/href="([^"]*externalidp[^"]*)"/g)]
      const hrefs = links.map(([, href = ""]) => href.replaceAll("&amp;", "&"))
      const there = await at.go(hrefs.find((href) => href.includes(owned.idpId)) ?? "/none")
      if (!there.path.startsWith(upstreamIssuer)) return there
      return at.go(upstream.signIn(there.path, { sub: name, preferred_username: name }))
    }
    const signIn = (client: NewClient, at = browserOf(provider)): Promise<VisitedPage> =>
      by === "password"
        ? at.signIn(authorizePath(client.id, { scope }), name)
        : atProvider(client, at)
    const again = async (client: NewClient) =>
      codeIn(await browser.go(authorizePath(client.id, { prompt: "none", scope: "openid" })))

    const { answer } = await redeem(owned.client, codeIn(await signIn(owned.client, browser)))
    const asked = await browser.go(authorizePath(owned.registered.clientId, { scope: "openid" }))
    await browser.post(asked, { answer: "allow" })
    const opaque = await redeem(owned.opaque, await again(owned.opaque))
    const robot = await sendTokenRequest(
      provider,
      credentials,
      encodeBasic(owned.robot.id, owned.robot.secret),
    )
    return {
      ...owned,
      name,
      signIn,
      atProvider,
      again,
      code: await again(owned.client),
      accessTokens: [answer.access_token, opaque.answer.access_token].map(String),
      refreshToken: String(answer.refresh_token),
      sessionId: String(claimsOf(String(answer.id_token)).sid),
      machineToken: String(robot.answer.access_token),
    }
  }
  return { provider, other, begin, redeem }
}

/** The claims of a signed token. */
export const claimsOf = (jwt: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString())

/** The code in the redirect to the application; undefined without a redirect. */
export const codeIn = (end: VisitedPage): string | undefined =>
  end.path.startsWith("https://app.") ? responseOf(end).code : undefined

/** The origin of a failed sign-in as each user. */
export const failedFrom = { address: "203.0.113.9", userAgent: "curl/8.0" }

async function addOwned(provider: Provider, name: string, by: SignInBy) {
  const cx = provider.cx()
  const [orgId, projectId] = [cx.ids.next(), cx.ids.next()]
  await createOrganization(cx, orgId, { name })
  await project.createProject(cx, projectId, { orgId, name })
  await project.addRoles(cx, projectId, [{ key: "editor", displayName: "Editor" }])
  const userId = await provider.addPerson(name, orgId)
  const bytes = new Uint8Array([1, 2, 3])
  await checkPassword({ ...cx, from: failedFrom }, userId, "wrong")
  await setAvatar(cx, userId, { name: `${"a".repeat(22)}.png`, bytes })
  const given = { userId, projectId, orgId, roleKeys: ["editor"] }
  await authorization.createAuthorization(cx, cx.ids.next(), given)
  const groupId = cx.ids.next()
  await createGroup(cx, groupId, { orgId, name: "Staff", description: "" })
  await addToGroup(cx, groupId, { userIds: [userId], confirmed: [] })
  await createGroupAuthorization(cx, cx.ids.next(), { ...given, groupId })
  const client = await provider.addClient(
    { grantTypes: codeAndRefresh, tokenType: "jwt" },
    projectId,
  )
  const assigned = { userIds: [userId], groupIds: [] }
  await addAssignments(cx, client.appId, assigned)
  const author = by === "org" ? await provider.addPerson(`${name}-author`, orgId) : userId
  await cx.store.transact(cx, (tx) =>
    addMember(tx, { target: { level: "org", id: orgId }, userId: author, roles: ["ORG_OWNER"] }),
  )
  const robot = await addServiceAccount(provider, "jwt", orgId)
  const expires = provider.clock.now() + 300 * day
  const terms = { orgId, useLimit: 100, expires, domains: [] }
  const signUp = await createSignUpLink(cx, cx.ids.next(), terms)
  const signUpId = cx.ids.next()
  const applicant = { email: "a@example.com", givenName: "A", familyName: "B", language: "" }
  const waiting = { type: "sign_up_request.added", data: { orgId, expires }, private: applicant }
  await cx.store.transact(cx, (tx) => tx.append(signUpRequest, signUpId, [waiting], orgId))
  const personal = await createPersonalToken(cx, robot.userId, provider.clock.now() + day)
  const keyed = await provider.addClient({ authMethod: "private_key_jwt" }, projectId)
  return {
    orgId,
    projectId,
    userId,
    robot,
    personalToken: personal.token,
    signUpUrl: signUp.url,
    signUpId,
    avatarPath: userAvatarPath(cx, userId),
    idpId: await addProviderOf(provider, userId, { name, ...(by === "org" && { orgId, author }) }),
    client,
    opaque: await provider.addClient({ tokenType: "bearer" }, projectId),
    keyed: { ...keyed, ...(await addKeyTo(provider, keyed.appId)) },
    registered: await addRegistered(provider, projectId),
  }
}

/** A dynamically registered application with remembered consents. */
async function addRegistered(provider: Provider, projectId: string) {
  await enableRegistration(provider, { projectId, consentLifetimeSeconds: 30 * 86_400 })
  const oidc = { authMethod: "none", redirectUris: [redirectUri] } as const
  return registerApplication(provider.cx(), { name: "Registered", oidc, jwks: [] })
}

/** An identity provider with a linked account of the user; the instance's without `orgId`. */
async function addProviderOf(provider: Provider, userId: string, input: GivenProvider) {
  const { name, orgId, author } = input
  const cx = provider.cx(author === undefined ? {} : { caller: callerOf(author, orgId) })
  const { id } = await createIdp(cx, orgId, {
    name: `Provider of ${name}`,
    options: {
      isLinkingAllowed: false,
      isCreationAllowed: false,
      isAutoCreation: false,
      isAutoUpdate: false,
      autoLinking: "off",
    },
    settings: {
      kind: "oidc",
      issuer: upstreamIssuer,
      clientId: "client",
      scopes: [],
      isIdTokenMapping: false,
      usePkce: true,
    },
    secret: "s3cret",
  })
  if (orgId !== undefined) await addPolicy(cx, orgId, { policy: login, apply: () => ({}) })
  await linkIdp(cx, orgId, id)
  const account = { idpId: id, externalId: name, name }
  await cx.store.transact(cx, (tx) => addLink(tx, userId, account))
  return id
}

type GivenProvider = {
  readonly name: string
  readonly orgId?: string
  readonly author?: string
}

/** The assertion of a client with a key. */
export const proofOf = (provider: Provider, { keyed }: Subject) => signAssertion(provider, keyed)

export const appIdsOf = ({ client, opaque, keyed, registered }: Subject): readonly string[] =>
  [client, opaque, keyed, registered].map(({ appId }) => appId)

export const isClientIdTaken = ({ store, clock }: Provider, clientId: string): boolean =>
  store.log.holder("i1", instance.clientClaim, clientId, clock.now()) !== undefined

export const isDomainTaken = ({ store, clock }: Provider, domain: string): boolean =>
  store.log.holder("i1", org.domainClaim, domain, clock.now()) !== undefined
