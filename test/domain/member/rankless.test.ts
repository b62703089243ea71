// For each reason to exempt an operation from rank, a user with only its permission tries to reach
// an owner.
import { getOption } from "@bufbuild/protobuf"
import { afterAll, beforeAll, expect, test } from "vitest"
import { hasAfterAuthentication } from "../../../src/domain/action/index.ts"
import { instance } from "../../../src/domain/instance/index.ts"
import { renderMessageText } from "../../../src/domain/text/index.ts"
import { findVouchedUser } from "../../../src/domain/user-link/commands.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { access } from "../../../src/gen/core/options_pb.ts"
import { loadOperations } from "../../../src/server/modules.ts"
import { json } from "../target/receiver.ts"
import {
  interruptingCall,
  methodCondition,
  openStage,
  type Reply,
  type Stage,
} from "../target/stage.ts"

const members = "internal_permission.v2.InternalPermissionService"
const management = "management.v1.ManagementService"
const admin = "admin.v1.AdminService"

let stage: Stage
let owner: string
let orgId: string
/** A user of the owner's organization without a role. */
let targetUserId: string
let userCount = 0

beforeAll(async () => {
  stage = await openStage()
  owner = stage.house.ownerId
  orgId = stage.house.orgId
  targetUserId = await newPerson()
})
afterAll(() => stage.close())

async function newPerson(): Promise<string> {
  const username = `person${++userCount}`
  const made = await stage.make("user/CreateUser", {
    organizationId: orgId,
    username,
    human: {
      profile: { givenName: "Ada", familyName: "Lovelace" },
      email: { email: `${username}@example.com`, isVerified: true },
    },
  })
  return made.id
}

/** Calls as a user with only the given permissions on the instance. */
type LimitedCaller = {
  readonly userId: string
  readonly ask: (name: string, body?: object) => Promise<Reply>
  readonly make: (name: string, body?: object) => Promise<any>
}

async function createLimitedCaller(permissions: readonly string[]): Promise<LimitedCaller> {
  const [userId, key] = [await newPerson(), `NARROW_${++userCount}`]
  await stage.make(`${members}/CreateRole`, {
    key,
    displayName: key,
    level: "ROLE_LEVEL_INSTANCE",
    permissions,
  })
  await stage.make(`${members}/CreateAdministrator`, {
    userId,
    resource: { instance: true },
    roles: [key],
  })
  const how = { as: `${userId} ${orgId}` }
  return {
    userId,
    ask: (name, body) => stage.ask(name, body, how),
    make: (name, body) => stage.make(name, body, how),
  }
}

const cx = () => stage.house.within()
const instanceState = () => cx().store.state(cx(), instance, cx().instance)

/** The stored state that lets an owner sign in. */
function ownerState() {
  const state = cx().store.state(cx(), user, owner)
  if (!("kind" in state) || state.kind !== "human") throw new Error("the owner is deleted")
  const { loginNames, status, email, phone, password, links = [] } = state
  return { loginNames, status, email, phone, password, links }
}

const expectRejected = (reply: Reply): void => expect(reply.status).toBeGreaterThanOrEqual(400)
const expectDenied = (reply: Reply): void => expect(reply.body.code).toBe("permission_denied")

const evil = "https://evil.example.net"
const oidc = (issuer: string) => ({
  name: `Provider ${++userCount}`,
  issuer,
  clientId: "client",
  clientSecret: "secret",
  providerOptions: { isLinkingAllowed: true },
})

type Attempt = {
  readonly permissions: readonly string[]
  readonly act: (narrow: LimitedCaller) => Promise<void>
}

const attempts: Readonly<Record<string, Attempt>> = {
  "it does not apply to those who outrank whoever set it": {
    permissions: ["policy.write", "org.action.write", "org.flow.write"],
    act: async ({ make }) => {
      const said = { language: "en", subject: "Evil subject", text: "evil {{.Code}}" }
      await make(`${management}/SetCustomPasswordResetMessageText`, said)
      const subjectFor = (userId: string) =>
        renderMessageText(cx(), { kind: "password_reset", orgId, userId, language: "en" }, {
          Code: "code",
          Expiry: 60,
        } as never).subject
      expect(subjectFor(targetUserId)).toBe("Evil subject")
      expect(subjectFor(owner)).not.toBe("Evil subject")
      const { id } = await make(`${management}/CreateAction`, {
        name: "evil",
        script: "function evil(ctx, api) { throw 'no' }",
      })
      const setTrigger = { flowType: "3", triggerType: "1", actionIds: [id] }
      await make(`${management}/SetTriggerActions`, setTrigger)
      expect(hasAfterAuthentication(cx(), targetUserId)).toBe(true)
      expect(hasAfterAuthentication(cx(), owner)).toBe(false)
    },
  },
  "how pages and messages look, and which notices are sent; no credential is in them": {
    permissions: ["policy.write", "iam.policy.write"],
    act: async ({ ask, make }) => {
      await make(`${management}/AddCustomPrivacyPolicy`, { helpLink: evil })
      await make(`${management}/AddCustomLabelPolicy`, { primaryColor: "#ff0000" })
      await make(`${management}/AddCustomNotificationPolicy`, { passwordChange: false })
      expectDenied(await ask(`${admin}/UpdatePrivacyPolicy`, { helpLink: evil }))
      expectDenied(
        await ask(`${admin}/SetDefaultPasswordResetMessageText`, {
          language: "en",
          text: "{{.Code}}",
        }),
      )
    },
  },
  "it signs in nobody who outranks whoever set it up": {
    permissions: ["org.idp.write"],
    act: async ({ make }) => {
      const { id: idpId } = await stage.make(`${management}/AddGenericOIDCProvider`, oidc(evil))
      const link = (userId: string, external: string) =>
        stage.make("user/AddIDPLink", {
          userId,
          idpLink: { idpId, userId: external, userName: external },
        })
      await link(owner, "olga")
      await link(targetUserId, "ada")
      const found = (externalId: string) => findVouchedUser(cx(), { idpId, externalId })
      expect([found("olga"), found("ada")]).toEqual([owner, targetUserId])
      await make(`${management}/UpdateGenericOIDCProvider`, { id: idpId, ...oidc(evil) })
      expect([found("olga"), found("ada")]).toEqual([undefined, targetUserId])
      await stage.make(`${management}/UpdateGenericOIDCProvider`, { id: idpId, ...oidc(evil) })
      expect(found("olga")).toBe(owner)
      await stage.make("user/RemoveIDPLink", { userId: owner, idpId, linkedUserId: "olga" })
    },
  },
  "a project holds nobody; what is held on it comes and goes with it": {
    permissions: ["project.write", "project.delete", "project.role.write", "iam.write"],
    act: async ({ ask }) => {
      const { projectId } = instanceState()
      expectDenied(await ask("project/UpdateProject", { projectId, name: "Mine" }))
      expectDenied(await ask("project/DeactivateProject", { projectId }))
      expectDenied(await ask(`${management}/RemoveProject`, { id: projectId }))
      expectDenied(
        await ask("project/AddProjectRole", { projectId, roleKey: "a", displayName: "a" }),
      )
    },
  },
  "an application holds nobody": {
    permissions: ["project.app.write", "project.app.delete", "iam.write"],
    act: async ({ ask }) => {
      const { projectId, consoleAppId: applicationId } = instanceState()
      const app = { projectId, applicationId }
      const service = "application.v2.ApplicationService"
      expectDenied(await ask(`${service}/GenerateClientSecret`, app))
      const oidcConfiguration = { redirectUris: [`${evil}/callback`] }
      expectDenied(await ask(`${service}/UpdateApplication`, { ...app, oidcConfiguration }))
      expectDenied(await ask(`${service}/DeleteApplication`, app))
      expectDenied(
        await ask(`${service}/CreateApplication`, { projectId, name: "a", oidcConfiguration }),
      )
    },
  },
  "its author must be permitted what it changes, and it reaches nobody above them": {
    permissions: ["action.target.write", "action.execution.write"],
    act: async ({ make, userId }) => {
      const endpoint = `${stage.receiver.url}/evil`
      const made = { name: "evil", timeout: "2s", endpoint, ...interruptingCall }
      const { id } = await make("action/CreateTarget", made)
      const list = `${members}/ListAdministrators`
      for (const condition of [
        methodCondition("request", `${members}/CreateAdministrator`),
        methodCondition("response", list),
      ])
        await make("action/SetExecution", { condition, targets: [id] })
      stage.receiver.answer("/evil", (response, received) => {
        const { response: told, request } = JSON.parse(received.body)
        json(told ? {} : { ...request, userId, roles: ["IAM_OWNER"] })(response, received)
      })
      const wanted = {
        userId: targetUserId,
        resource: { instance: true },
        roles: ["IAM_OWNER_VIEWER"],
      }
      expectDenied(await stage.ask(`${members}/CreateAdministrator`, wanted))
      const answered = await stage.ask(list)
      expect(answered.body.administrators.length).toBeGreaterThan(0)
      expect(answered.headers.get("x-core-targets-passed-over")).toBe(id)
      for (const condition of [
        methodCondition("request", `${members}/CreateAdministrator`),
        methodCondition("response", list),
      ])
        await make("action/SetExecution", { condition })
    },
  },
  "the keys are the instance's and nobody's own": {
    permissions: ["iam.web_key.write", "iam.web_key.read", "iam.web_key.delete"],
    act: async ({ make }) => {
      const made = await make("webkey.v2.WebKeyService/CreateWebKey", {
        rsa: { bits: "RSA_BITS_2048", hasher: "RSA_HASHER_SHA256" },
      })
      const listed = await make("webkey.v2.WebKeyService/ListWebKeys")
      expect(JSON.stringify([made, listed])).not.toMatch(/"d"|PRIVATE/)
    },
  },
  "what a project lets somebody do is its own affair, whoever they are": {
    permissions: ["user.grant.write"],
    act: async ({ ask, userId }) => {
      await ask("authorization.v2.AuthorizationService/CreateAuthorization", {
        userId,
        projectId: instanceState().projectId,
        organizationId: orgId,
        roleKeys: ["IAM_OWNER"],
      })
    },
  },
  "a name or a note of the organisation; nobody's way in hangs from it": {
    permissions: ["org.write"],
    act: async ({ make }) => {
      const metadata = [{ key: "IAM_OWNER", value: "eWVz" }]
      await make("org/SetOrganizationMetadata", { organizationId: orgId, metadata })
    },
  },
  "a name, or the defaults of its applications; nobody's way in hangs from them": {
    permissions: ["org.write"],
    act: async ({ make }) => {
      const settings = { refreshTokenExpiration: "315360000s", refreshTokenGrace: "60s" }
      const changed = { name: "Renamed", oidcSettings: settings }
      await make("org/UpdateOrganization", { organizationId: orgId, ...changed })
    },
  },
  "users who sign up are new and have no roles": {
    permissions: ["user.write"],
    act: async ({ make }) => {
      const expirationDate = new Date(Date.now() + 86_400_000).toISOString()
      const made = { organizationId: orgId, useLimit: 1, expirationDate }
      await make("signup.v2.SignUpService/CreateSignUpLink", made)
    },
  },
  "a new group has no members and no roles": {
    permissions: ["group.write"],
    act: async ({ make, userId }) => {
      const made = { organizationId: orgId, name: "IAM_OWNER" }
      const { id } = await make("group.v2.GroupService/CreateGroup", made)
      await make("group.v2.GroupService/AddUsersToGroup", { id, userIds: [userId] })
    },
  },
  "a setting of the instance, which holds nobody": {
    permissions: ["iam.write", "iam.restrictions.write", "iam.policy.write"],
    act: async ({ ask, make }) => {
      await make(`${admin}/SetDefaultLanguage`, { language: "de" })
      await make(`${admin}/SetRestrictions`, { disallowPublicOrgRegistration: false })
      const endpoint = { description: "mine", endpoint: evil }
      expectDenied(await ask(`${admin}/AddEmailProviderHTTP`, endpoint))
      expectDenied(await ask(`${admin}/AddSMSProviderHTTP`, endpoint))
      expectDenied(await ask(`${admin}/UpdateSecretGenerator`, { generatorType: 1, length: 1 }))
      expectDenied(
        await ask("instance.v2.InstanceService/AddTrustedDomain", {
          trustedDomain: "evil.example.net",
        }),
      )
    },
  },
  "a login page is for everybody, and its session says who has proved who they are": {
    permissions: ["session.link"],
    act: async ({ ask }) => {
      const { sessionId } = await stage.make("session/CreateSession", {
        checks: { user: { userId: owner } },
      })
      const session = { sessionId, sessionToken: "guessed" }
      expectRejected(
        await ask("oidc.v2.OIDCService/CreateCallback", { authRequestId: "V2_1", session }),
      )
    },
  },
  "a domain is proven by whoever controls it, and its names are theirs": {
    permissions: ["org.write"],
    act: async ({ ask, make }) => {
      const domain = { organizationId: orgId, domain: "example.org" }
      await make("org/AddOrganizationDomain", domain)
      expectRejected(await ask("org/VerifyOrganizationDomain", domain))
    },
  },
  "who is new holds nothing yet": {
    permissions: ["user.write"],
    act: async ({ ask }) => {
      const human = {
        profile: { givenName: "Olga", familyName: "Owner" },
        email: { email: "other@example.com", isVerified: true },
      }
      expectRejected(
        await ask("user/CreateUser", { organizationId: orgId, username: "olga", human }),
      )
      const same = { organizationId: orgId, username: "other", userId: owner, human }
      expectRejected(await ask("user/CreateUser", same))
    },
  },
  "it wants an answer to the challenge, which only who began it was told": {
    permissions: ["user.credential.write", "user.passkey.write"],
    act: async ({ ask }) => {
      const publicKeyCredential = { id: "a", type: "public-key" }
      const asked = { userId: owner, tokenName: "mine", publicKeyCredential }
      expectRejected(await ask("user/VerifyU2FRegistration", { ...asked, u2fId: "1" }))
      expectRejected(await ask("user/VerifyPasskeyRegistration", { ...asked, passkeyId: "1" }))
    },
  },
  "an event that could not be handled is nobody's": {
    permissions: ["iam.write"],
    act: async ({ ask }) => {
      await ask("history.v2.HistoryService/RetryFailedEvents", { viewName: "targets" })
    },
  },
  "whose session it is proves who they are in the request": {
    permissions: ["session.write"],
    act: async ({ ask }) => {
      const { sessionId } = await stage.make("session/CreateSession", {
        checks: { user: { userId: owner } },
      })
      const checks = { password: { password: "guessed" } }
      expectRejected(await ask("session/SetSession", { sessionId, checks }))
    },
  },
  "whose session it becomes proves who they are in the request": {
    permissions: ["session.write"],
    act: async ({ ask, make }) => {
      const user = { userId: owner }
      expectRejected(
        await ask("session/CreateSession", { checks: { user, password: { password: "guessed" } } }),
      )
      const { sessionToken } = await make("session/CreateSession", { checks: { user } })
      expect(sessionToken).toBeDefined()
    },
  },
  "who makes a project owns it, and may give every role on it": {
    permissions: ["project.create"],
    act: async ({ make }) => {
      await make(`${management}/AddProject`, { name: "Mine" })
    },
  },
  "who comes back is told to the login page alone, and proves who they are by it": {
    permissions: ["session.link"],
    act: async ({ ask }) => {
      const { id: idpId } = await stage.make(`${management}/AddGenericOIDCProvider`, oidc(evil))
      const urls = { successUrl: evil, failureUrl: evil }
      await ask("user/StartIdentityProviderIntent", { idpId, urls })
    },
  },
  "changes nothing; it is asked by who has begun the intent alone": {
    permissions: ["session.link"],
    act: async ({ ask }) => {
      const guess = { idpIntentId: "1", idpIntentToken: "guessed" }
      expectRejected(await ask("user/RetrieveIdentityProviderIntent", guess))
    },
  },
  "what it shows is about whoever signs in, in their own browser": {
    permissions: ["project.app.write"],
    act: async ({ ask }) => {
      expectDenied(
        await ask("diagnosis/StartTestSignIn", { applicationId: instanceState().consoleAppId }),
      )
    },
  },
  "what it shows is about whoever signs in at the provider, and changes nothing here": {
    permissions: ["org.idp.write"],
    act: async ({ ask }) => {
      const { id: idpId } = await stage.make(`${management}/AddGenericOIDCProvider`, oidc(evil))
      await ask("diagnosis/StartProviderTest", { idpId })
    },
  },
  "the operation that it asks says whom it touches": {
    permissions: ["user.read", "user.write"],
    act: async ({ ask }) => {
      const resource = { userId: owner }
      const { changes = [] } = await stage.make("history.v2.HistoryService/ListChanges", {
        resource,
      })
      expect(changes.length).toBeGreaterThan(0)
      for (const { sequence } of changes)
        expectRejected(await ask("history.v2.HistoryService/UndoChange", { resource, sequence }))
    },
  },
  "nobody but the caller themself is removed": {
    permissions: ["user.self.delete"],
    act: async ({ make, userId }) => {
      await make("auth.v1.AuthService/RemoveMyUser")
      expect(cx().store.state(cx(), user, userId).status).toBe("removed")
    },
  },
  "login names with any of the domains stay good, whichever is the primary one": {
    permissions: ["org.write"],
    act: async ({ ask }) => {
      const set = await ask(`${management}/SetPrimaryOrgDomain`, { domain: "example.org" })
      expect(set.status).toBe(200)
    },
  },
  "its people sign in all the same, with the primary domain; others must prove it": {
    permissions: ["org.write"],
    act: async ({ ask }) => {
      await ask("org/DeleteOrganizationDomain", { organizationId: orgId, domain: "example.org" })
    },
  },
  "it takes a way to sign in from everybody alike": {
    permissions: ["org.idp.write"],
    act: async ({ make }) => {
      const { id } = await stage.make(`${management}/AddGenericOIDCProvider`, oidc(evil))
      await make(`${management}/DeleteProvider`, { id })
    },
  },
  "each user that it names, and each role that it gives, is compared by itself": {
    permissions: [
      "iam.write",
      "iam.policy.write",
      "org.write",
      "user.write",
      "user.credential.write",
      "org.idp.write",
      "org.member.write",
      "user.read",
      "policy.write",
    ],
    act: async ({ make, userId }) => {
      const idp = { name: "Mine", issuer: evil, clientId: "c", clientSecret: "s" }
      const { errors = [], success } = await make(`${admin}/ImportData`, {
        dataOrgs: {
          orgs: [
            {
              orgId,
              domainPolicy: { userLoginMustBeDomain: true },
              oidcIdps: [{ idpId: "mine", idp }],
              userLinks: [{ userId: owner, idpId: "mine", providedUserId: "mine" }],
              orgMembers: [{ userId, roles: ["ORG_OWNER"] }],
            },
          ],
        },
      })
      const types = errors.map(({ type }: any) => type).toSorted()
      expect(types).toEqual(["domain_policy", "org_members", "user_links"])
      expect(JSON.stringify(success)).not.toContain(owner)
    },
  },
  "it reads; what gives a way to act as somebody is only told to those whom nobody outranks": {
    permissions: [
      "iam.read",
      "iam.write",
      "org.read",
      "user.read",
      "project.read",
      "policy.read",
      "project.role.read",
      "project.app.read",
      "project.grant.read",
      "user.grant.read",
      "org.member.read",
      "project.member.read",
      "project.grant.member.read",
      "org.idp.read",
      "org.action.read",
      "org.flow.read",
      "session.read",
      "group.read",
      "iam.policy.read",
      "iam.idp.read",
      "user.membership.read",
      "org.feature.read",
    ],
    act: async ({ ask, make }) => {
      await make(`${admin}/ExportData`, { orgIds: [orgId] })
      const refused = await ask(`${admin}/ExportData`, { orgIds: [orgId], withPasswords: true })
      expectDenied(refused)
      expect(JSON.stringify(refused.body)).toContain("instance.outranks_you")
    },
  },
  "it does nothing to anybody; who writes scripts is shown as much by each real run": {
    permissions: ["org.action.write", "user.read"],
    act: async ({ ask }) => {
      await ask("diagnosis/TryScript", {
        organizationId: orgId,
        name: "evil",
        flowType: "3",
        triggerType: "1",
        userId: owner,
        script: "function evil(ctx, api) { api.v1.user.appendMetadata('a', 'b') }",
      })
    },
  },
}

const reasonsIn = (rule: { rankless: string; or?: any }): readonly string[] => [
  ...(rule.rankless ? [rule.rankless] : []),
  ...(rule.or ? reasonsIn(rule.or) : []),
]

test("tries every reason", async () => {
  const given = (await loadOperations()).flatMap(({ method }) =>
    reasonsIn(getOption(method, access)),
  )
  expect([...new Set(given)].toSorted()).toEqual(Object.keys(attempts).toSorted())
})

test.each(Object.entries(attempts))("%s", async (_, { permissions, act }) => {
  const before = ownerState()
  const narrow = await createLimitedCaller(permissions)
  await act(narrow)
  expect(ownerState()).toEqual(before)
  const roles = ["IAM_OWNER"]
  const raise = { userId: narrow.userId, resource: { instance: true }, roles }
  expectRejected(await narrow.ask(`${members}/UpdateAdministrator`, raise))
  expectRejected(await narrow.ask("user/PasswordReset", { userId: owner, returnCode: {} }))
  const checks = { user: { userId: owner }, password: { password: "Correct-horse-7" } }
  expect((await stage.ask("session/CreateSession", { checks })).status).toBe(200)
})

test("organization managers read the providers of the instance, and nothing else", async () => {
  const manager = await newPerson()
  await stage.make(`${members}/CreateAdministrator`, {
    userId: manager,
    resource: { instance: true },
    roles: ["IAM_ORG_MANAGER"],
  })
  const { id } = await stage.make(
    `${admin}/AddGenericOIDCProvider`,
    oidc("https://idp.example.com"),
  )
  const as = { as: `${manager} ${orgId}` }
  // By the tables the role includes org.idp.read, which these two need, and not iam.idp.read.
  const listed = await stage.make(`${management}/ListProviders`, {}, as)
  expect(listed.result.map((each: any) => each.id)).toContain(id)
  expect(JSON.stringify(listed)).not.toContain("secret")
  expectDenied(await stage.ask(`${admin}/ListProviders`, {}, as))
  expectDenied(await stage.ask(`${admin}/GetProviderByID`, { id }, as))
  expectDenied(await stage.ask(`${admin}/UpdateGenericOIDCProvider`, { id, ...oidc(evil) }, as))
  expectDenied(await stage.ask(`${admin}/ListEmailProviders`, {}, as))
  expectDenied(await stage.ask(`${admin}/ListSMSProviders`, {}, as))
})
