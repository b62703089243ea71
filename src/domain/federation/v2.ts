import type { JsonObject } from "@bufbuild/protobuf"
import { bindHandlers } from "../../api/method.ts"
import {
  type StartIdentityProviderIntentRequest,
  UserService,
} from "../../gen/core/user/v2/user_service_pb.ts"
import { fieldError } from "../../kernel/fault.ts"
import { parsePage } from "../../kernel/page.ts"
import { toDetails, toTimestamp } from "../../protocol/api/response.ts"
import { type Cx, paginate } from "../../store/index.ts"
import {
  createAnsweredIntent,
  findIdpById,
  getIntentReceipt,
  type Identity,
  type Intent,
  idpNotFoundError,
  type OwnedIdp,
  type RequestedSignIn,
  signInMethodOf,
  startIntent,
} from "../idp/index.ts"
import { findLinkedUser, listUsableLinks } from "../user-link/index.ts"
import { requireIntent } from "./check.ts"
import { authenticateWithDirectory, type Credentials } from "./directory.ts"
import { linkUser, unlinkUser } from "./link.ts"

/** Sign-ins with providers for custom login pages, and the links of users. */
export const v2 = bindHandlers<Cx>()(UserService, {
  startIdentityProviderIntent: async (req, cx) => {
    const found = findIdpById(cx, req.idpId)
    if (!found) throw idpNotFoundError()
    const creatorId = cx.caller.kind === "user" ? cx.caller.userId : ""
    const started = { agentId: "", requestId: "", creatorId }
    return signInMethodOf(found.idp.settings) === "directory"
      ? startWithDirectory(cx, found, { ...started, ...parseCredentials(req) })
      : startRedirect(cx, found, { ...started, ...parseUrls(req), ...parseRequestedSignIn(req) })
  },
  retrieveIdentityProviderIntent: ({ idpIntentId: id, idpIntentToken: token }, cx) => {
    const intent = requireIntent(cx, id, token)
    const { idpId, answered } = intent
    const { externalId } = answered.identity
    const userId = findLinkedUser(cx, { idpId, externalId }) ?? ""
    return {
      details: toDetails(getIntentReceipt(cx, id)),
      idpInformation: informationOf(cx, intent),
      userId,
      userAction: userId === "" ? toNewUser(intent) : { case: undefined },
    }
  },
  addIDPLink: async ({ userId, idpLink }, cx) => {
    if (!idpLink) throw fieldError("request.field_invalid", "idp_link", "is required")
    const { idpId, userId: externalId, userName: name } = idpLink
    return { details: toDetails(await linkUser(cx, userId, { idpId, externalId, name })) }
  },
  listIDPLinks: ({ userId, query }, cx) => {
    const found = paginate(cx, listUsableLinks(cx, userId), {
      page: parsePage(query),
      requested: ["idp_links", userId],
      by: ({ added, linkId }) => [added, linkId],
    })
    return {
      details: {
        totalResult: BigInt(found.total),
        processedSequence: BigInt(cx.store.log.durable()),
        timestamp: toTimestamp(cx.clock.now()),
      },
      result: found.rows.map(({ idpId, externalId, name }) => ({
        idpId,
        userId: externalId,
        userName: name,
      })),
    }
  },
  removeIDPLink: async ({ userId, ...named }, cx) => ({
    details: toDetails(await unlinkUser(cx, userId, named)),
  }),
})

type IntentContext = {
  readonly agentId: string
  readonly requestId: string
  readonly creatorId: string
}

/** Redirects the browser to a provider with its own pages. */
async function startRedirect(
  cx: Cx,
  idp: OwnedIdp,
  started: IntentContext & ReturnType<typeof parseUrls> & ReturnType<typeof parseRequestedSignIn>,
) {
  const { id, authUrl } = await startIntent(cx, idp, started)
  const nextStep = { case: "authUrl", value: authUrl } as const
  return { details: toDetails(getIntentReceipt(cx, id)), nextStep }
}

/** The requirements of the application's request for the sign-in. */
function parseRequestedSignIn({ signIn }: StartIdentityProviderIntentRequest): {
  readonly requested?: RequestedSignIn
} {
  if (!signIn) return {}
  const { forceLogin, maxAge, loginHint, acrValues } = signIn
  const refuse = (field: string, requirement: string) =>
    fieldError("request.field_invalid", `sign_in.${field}`, requirement)
  if (maxAge && maxAge.seconds < 0n) throw refuse("max_age", "must not be negative")
  if (loginHint.length > 200) throw refuse("login_hint", "must be at most 200 characters")
  if (acrValues.length > 10 || acrValues.some((value) => !/^[^\s]{1,200}$/.test(value))) {
    throw refuse("acr_values", "must have at most 10 values of at most 200 characters")
  }
  const maxAgeSeconds = maxAge && Number(maxAge.seconds)
  return { requested: { mustSignIn: forceLogin, maxAgeSeconds, loginHint, acrValues } }
}

/** Authenticates with a directory, using the credentials from the custom login page. */
async function startWithDirectory(
  cx: Cx,
  idp: OwnedIdp,
  { username, password, ...started }: IntentContext & Credentials,
) {
  const answered = await authenticateWithDirectory(cx, idp, { username, password })
  const { id, token } = await createAnsweredIntent(cx, idp, { ...started, answered })
  const { externalId } = answered.identity
  const userId = findLinkedUser(cx, { idpId: idp.idp.id, externalId }) ?? ""
  const value = { idpIntentId: id, idpIntentToken: token, userId }
  return {
    details: toDetails(getIntentReceipt(cx, id)),
    nextStep: { case: "idpIntent", value } as const,
  }
}

function parseCredentials({ content }: StartIdentityProviderIntentRequest): Credentials {
  if (content.case === "ldap") return content.value
  const requirement = "must contain the user name and the password for the directory"
  throw fieldError("request.field_invalid", "ldap", requirement)
}

/** The return URLs on the custom login page. */
function parseUrls({ content }: StartIdentityProviderIntentRequest) {
  if (content.case !== "urls") {
    throw fieldError(
      "request.field_invalid",
      "urls",
      "must contain the URLs to which the browser returns",
    )
  }
  const { successUrl, failureUrl } = content.value
  validateWebUrl("urls.success_url", successUrl)
  validateWebUrl("urls.failure_url", failureUrl)
  return { successUrl, failureUrl }
}

function validateWebUrl(field: string, text: string): void {
  const protocol = URL.parse(text)?.protocol
  const isWeb = protocol === "https:" || protocol === "http:"
  if (isWeb && text.length <= 2048) return
  throw fieldError("request.field_invalid", field, "must start with https:// or http://")
}

function informationOf(cx: Cx, { idpId, answered }: Intent) {
  const { identity, raw } = answered
  const rawInformation: JsonObject = JSON.parse(JSON.stringify(raw))
  const isDirectory = findIdpById(cx, idpId)?.idp.settings.kind === "ldap"
  return {
    access: isDirectory
      ? ({ case: "ldap", value: { attributes: rawInformation } } as const)
      : providerData(answered),
    idpId,
    userId: identity.externalId,
    userName: identity.userName,
    rawInformation,
  }
}

/** The data from a provider: an assertion or tokens. */
function providerData({ assertion, accessToken, idToken }: Intent["answered"]) {
  if (assertion !== undefined) {
    return { case: "saml", value: { assertion: new TextEncoder().encode(assertion) } } as const
  }
  return { case: "oauth", value: { accessToken, ...(idToken && { idToken }) } } as const
}

/** The data for a new user; the login page sets the organization and asks for missing fields. */
function toNewUser({ idpId, answered: { identity } }: Intent) {
  const { email, phone, externalId, userName } = identity
  const name = userName || email || externalId
  const human = {
    profile: profileOf(identity),
    email: { email, ...verification(identity.emailVerified) },
    ...(phone && { phone: { phone, ...verification(identity.phoneVerified) } }),
    idpLinks: [{ idpId, userId: externalId, userName: name }],
  }
  const value = { username: userName || email, userType: { case: "human", value: human } } as const
  return { case: "createUser", value } as const
}

const verification = (isVerified: boolean) =>
  isVerified ? ({ verification: { case: "isVerified", value: true } } as const) : {}

const profileOf = (identity: Identity) => {
  const { givenName, familyName, nickName, displayName, preferredLanguage } = identity
  return { givenName, familyName, nickName, displayName, preferredLanguage }
}
