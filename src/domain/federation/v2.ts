import type { JsonObject } from "@bufbuild/protobuf"
import { share } from "../../api/method.ts"
import {
  type StartIdentityProviderIntentRequest,
  UserService,
} from "../../gen/core/user/v2/user_service_pb.ts"
import { fieldError } from "../../kernel/fault.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, details } from "../../protocol/api/answer.ts"
import { type Cx, windowOf } from "../../store/index.ts"
import {
  entranceOf,
  type Found,
  type Identity,
  type Intent,
  idpById,
  intentStand,
  missingError,
  noteAnswered,
  type RequestedSignIn,
  startIntent,
} from "../idp/index.ts"
import { linkedUser, usableLinks } from "../user-link/index.ts"
import { ownIntent } from "./check.ts"
import { answeredByDirectory, type Credentials } from "./directory.ts"
import { linkUser, unlinkUser } from "./link.ts"

/** Sign-ins with providers for a login page of one's own, and what people are linked to. */
export const v2 = share<Cx>()(UserService, {
  startIdentityProviderIntent: async (req, cx) => {
    const found = idpById(cx, req.idpId)
    if (!found) throw missingError()
    const creatorId = cx.caller.kind === "user" ? cx.caller.userId : ""
    const begun = { agentId: "", requestId: "", creatorId }
    return entranceOf(found.idp.settings) === "directory"
      ? askDirectory(cx, found, { ...begun, ...credentialsOf(req) })
      : sendThere(cx, found, { ...begun, ...urlsOf(req), ...requestedIn(req) })
  },
  retrieveIdentityProviderIntent: ({ idpIntentId: id, idpIntentToken: token }, cx) => {
    const intent = ownIntent(cx, id, token)
    const { idpId, answered } = intent
    const { externalId } = answered.identity
    const userId = linkedUser(cx, { idpId, externalId }) ?? ""
    return {
      details: details(intentStand(cx, id)),
      idpInformation: informationOf(cx, intent),
      userId,
      userAction: userId === "" ? newcomer(intent) : { case: undefined },
    }
  },
  addIDPLink: async ({ userId, idpLink }, cx) => {
    if (!idpLink) throw fieldError("request.field_invalid", "idp_link", "is missing")
    const { idpId, userId: externalId, userName: name } = idpLink
    return { details: details(await linkUser(cx, userId, { idpId, externalId, name })) }
  },
  listIDPLinks: ({ userId, query }, cx) => {
    const found = windowOf(cx, usableLinks(cx, userId), {
      page: pageOf(query),
      requested: ["idp_links", userId],
      by: ({ added, linkId }) => [added, linkId],
    })
    return {
      details: {
        totalResult: BigInt(found.total),
        processedSequence: BigInt(cx.store.log.durable()),
        timestamp: at(cx.clock.now()),
      },
      result: found.rows.map(({ idpId, externalId, name }) => ({
        idpId,
        userId: externalId,
        userName: name,
      })),
    }
  },
  removeIDPLink: async ({ userId, ...named }, cx) => ({
    details: details(await unlinkUser(cx, userId, named)),
  }),
})

type Begun = { readonly agentId: string; readonly requestId: string; readonly creatorId: string }

/** Sends the browser to a provider that has pages of its own. */
async function sendThere(
  cx: Cx,
  found: Found,
  begun: Begun & ReturnType<typeof urlsOf> & ReturnType<typeof requestedIn>,
) {
  const { id, authUrl } = await startIntent(cx, found, begun)
  const nextStep = { case: "authUrl", value: authUrl } as const
  return { details: details(intentStand(cx, id)), nextStep }
}

/** What the request of an application requires of the sign-in. */
function requestedIn({ signIn }: StartIdentityProviderIntentRequest): {
  readonly requested?: RequestedSignIn
} {
  if (!signIn) return {}
  const { forceLogin, maxAge, loginHint, acrValues } = signIn
  const refuse = (field: string, wanted: string) =>
    fieldError("request.field_invalid", `sign_in.${field}`, wanted)
  if (maxAge && maxAge.seconds < 0n) throw refuse("max_age", "must not be negative")
  if (loginHint.length > 200) throw refuse("login_hint", "must have 200 characters at most")
  if (acrValues.length > 10 || acrValues.some((value) => !/^[^\s]{1,200}$/.test(value))) {
    throw refuse("acr_values", "must be 10 words of 200 characters at most")
  }
  const maxAgeSeconds = maxAge && Number(maxAge.seconds)
  return { requested: { mustSignIn: forceLogin, maxAgeSeconds, loginHint, acrValues } }
}

/** A directory is asked at once, with what the person has typed on the page of whoever asks. */
async function askDirectory(
  cx: Cx,
  found: Found,
  { username, password, ...begun }: Begun & Credentials,
) {
  const answered = await answeredByDirectory(cx, found, { username, password })
  const { id, token } = await noteAnswered(cx, found, { ...begun, answered })
  const { externalId } = answered.identity
  const userId = linkedUser(cx, { idpId: found.idp.id, externalId }) ?? ""
  const value = { idpIntentId: id, idpIntentToken: token, userId }
  return { details: details(intentStand(cx, id)), nextStep: { case: "idpIntent", value } as const }
}

function credentialsOf({ content }: StartIdentityProviderIntentRequest): Credentials {
  if (content.case === "ldap") return content.value
  const wanted = "must say the name and the password, which the directory asks for"
  throw fieldError("request.field_invalid", "ldap", wanted)
}

/** Where the browser goes in the end: a page of whoever asks. */
function urlsOf({ content }: StartIdentityProviderIntentRequest) {
  if (content.case !== "urls") {
    throw fieldError("request.field_invalid", "urls", "must say where the browser comes back to")
  }
  const { successUrl, failureUrl } = content.value
  mustBeWeb("urls.success_url", successUrl)
  mustBeWeb("urls.failure_url", failureUrl)
  return { successUrl, failureUrl }
}

function mustBeWeb(field: string, text: string): void {
  const protocol = URL.parse(text)?.protocol
  const isWeb = protocol === "https:" || protocol === "http:"
  if (isWeb && text.length <= 2048) return
  throw fieldError("request.field_invalid", field, "must begin with https:// or http://")
}

function informationOf(cx: Cx, { idpId, answered }: Intent) {
  const { identity, raw } = answered
  const rawInformation: JsonObject = JSON.parse(JSON.stringify(raw))
  const isDirectory = idpById(cx, idpId)?.idp.settings.kind === "ldap"
  return {
    access: isDirectory
      ? ({ case: "ldap", value: { attributes: rawInformation } } as const)
      : saidBy(answered),
    idpId,
    userId: identity.externalId,
    userName: identity.userName,
    rawInformation,
  }
}

/** What a provider with pages of its own has given: an assertion, or tokens. */
function saidBy({ assertion, accessToken, idToken }: Intent["answered"]) {
  if (assertion !== undefined) {
    return { case: "saml", value: { assertion: new TextEncoder().encode(assertion) } } as const
  }
  return { case: "oauth", value: { accessToken, ...(idToken && { idToken }) } } as const
}

/** What a user would be made of; the login page says the organisation, and asks what is missing. */
function newcomer({ idpId, answered: { identity } }: Intent) {
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
