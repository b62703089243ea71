import { aggregate, type Event } from "../../store/index.ts"
import type { Binding, NameIdFormat } from "../../xml/names.ts"
import type { PushedReference } from "./pushed.ts"

export type Prompt = "none" | "login" | "select_account" | "consent" | "create"
export type ResponseMode = "query" | "fragment" | "form_post"
/** The response types of the authorization endpoint; multiple values are sorted alphabetically. */
export type ResponseType = "code" | "id_token" | "id_token token"

/** OpenID Connect Core §5.5: names of individual claims for the ID token and for userinfo. */
export type RequestedClaims = {
  readonly idToken: readonly string[]
  readonly userinfo: readonly string[]
}

/** The validated parameters of an authorization request. */
export type AuthorizationRequest = {
  readonly clientId: string
  readonly appId: string
  readonly redirectUri: string
  /** Absent in older events, which means a code. */
  readonly responseType?: ResponseType
  readonly responseMode: ResponseMode
  readonly scopes: readonly string[]
  /** Scopes that were requested and not granted. */
  readonly leftOut?: readonly string[]
  readonly audience: readonly string[]
  /** Audiences that the user must allow explicitly; absent if there are none. */
  readonly foreign?: readonly string[]
  readonly state?: string
  readonly nonce?: string
  /** The S256 code challenge of PKCE. */
  readonly challenge?: string
  readonly prompts: readonly Prompt[]
  /** In seconds. */
  readonly maxAge?: number
  readonly languages: readonly string[]
  /** The user in the id_token_hint or in a requested claim. */
  readonly hintedUser?: string
  readonly claims?: RequestedClaims
  /** Preferred values of `acr`; empty for any, absent if none was requested. */
  readonly acr?: readonly string[]
  /** `acr_values` as sent, for providers that support other values; most preferred first. */
  readonly acrValues?: readonly string[]
  /** Whether the request requires more than one factor. */
  readonly needsFactor?: boolean
  /** RFC 9449 §10: thumbprint of the key that the code is bound to. */
  readonly dpopJkt?: string
  /** The organization whose users alone can sign in; "" if users of all organizations can. */
  readonly home?: string
  /** The device that the response is for, if there is no redirect URI. */
  readonly device?: { readonly id: string; readonly userCode: string }
  /** The pushed request that contained it; completing the request marks it as used. */
  readonly pushed?: PushedReference
  /**
   * The administrator who tests the application. Only they see the result; no client receives it.
   */
  readonly testedBy?: string
  /** Present for SAML applications, which have no client ID and receive no code. */
  readonly saml?: SamlAuthnRequest
}

/** Whether the response is a code and not the tokens themselves. */
export const isForCode = ({
  responseType = "code",
}: Pick<AuthorizationRequest, "responseType">): boolean => responseType === "code"

/** The validated AuthnRequest of a service provider (SAML Core §3.4.1). */
export type SamlAuthnRequest = {
  /** The entity ID of the service provider. */
  readonly entityId: string
  /** The ID of the AuthnRequest; absent for a sign-in that the identity provider initiated. */
  readonly requestId?: string
  /** The binding for the response. */
  readonly binding: Binding
  readonly nameIdFormat: NameIdFormat
  /**
   * Authentication context classes, one of which the sign-in must match; most preferred first;
   * absent if any is accepted.
   */
  readonly contexts?: readonly string[]
  /**
   * Whether a sign-in that matches none of them is accepted; the response then contains its actual
   * class.
   */
  readonly isContextOptional?: true
  /** Whether a class requires a password. */
  readonly needsPassword?: true
}

/**
 * The user's last withdrawal of consent to the application before the response; absent if there was
 * none. A later one makes the code invalid.
 */
type LastWithdrawal = { readonly withdrawalId?: string }

/** What a consent to a request depends on until the response; absent in older events. */
type ConsentBasis = {
  /**
   * The last withdrawal before the consent; empty if there was none. Any other one makes the
   * consent invalid.
   */
  readonly withdrawalId?: string
  /** `Registration.identity` at the time; absent if the application did not register itself. */
  readonly identity?: number
}

/**
 * A request that was completed immediately with an existing session. The code contains it all, so
 * nothing is stored until the code is used.
 */
export type ImmediateResponse = LastWithdrawal & {
  readonly asked: AuthorizationRequest
  readonly sessionId: string
  /** ms UTC. */
  readonly codeAt: number
}

/** Parameters that only the client needs again, to match the response to its request. */
type ClientState = Pick<AuthorizationRequest, "state" | "nonce">

export type AuthRequestEvent =
  /** In older events, these parameters are in `asked`. */
  | Event<
      "auth_request.added",
      { readonly agentId: string; readonly asked: AuthorizationRequest },
      { readonly loginHint: string } & ClientState
    >
  | Event<"auth_request.session.linked", { readonly sessionId: string }>
  | Event<"auth_request.consent.given", { readonly sessionId: string } & ConsentBasis>
  | Event<"auth_request.consent.denied">
  | Event<"auth_request.code.added", { readonly sessionId: string } & LastWithdrawal>
  | Event<
      "auth_request.code.exchanged",
      {
        readonly grantId: string
        /** The client of the code, if the request was not stored before. */
        readonly clientId?: string
      }
    >
  | Event<"auth_request.failed", { readonly reason: string }>

type OpenRequest = {
  readonly agentId: string
  readonly asked: AuthorizationRequest
  readonly loginHint: string
  readonly created: number
  /** The session that was selected or created for this request; empty before. */
  readonly sessionId: string
  /** The session whose user consented to the request; absent before. */
  readonly consent?: string
  /** What the consent depends on; see `findConsentSession`. */
  readonly allowedWhen?: ConsentBasis
  /** Whether the user denied consent. */
  readonly isDenied?: boolean
}

/** The part of a finished request that leads its browser back to the application. */
export type FinishedRequest = Pick<OpenRequest, "agentId"> &
  Pick<AuthorizationRequest, "clientId" | "appId" | "redirectUri" | "languages">

/** `answered`: a code was issued at `codeAt`. `exchanged`: the code was exchanged for a grant. */
export type AuthRequestState =
  | { readonly status: "absent" }
  | {
      readonly status: "failed"
      readonly created: number
      readonly finished?: FinishedRequest
    }
  | (OpenRequest & { readonly status: "open" })
  | (OpenRequest & LastWithdrawal & { readonly status: "answered"; readonly codeAt: number })
  | {
      readonly status: "exchanged"
      readonly created: number
      readonly clientId: string
      readonly grantId: string
      /** When the code was used, ms UTC; absent in older events. */
      readonly exchangedAt?: number
      /**
       * The code challenge of the request; in a self-contained code, the code contains it instead.
       */
      readonly challenge?: string
      /** Absent if the request was not stored before its code was used. */
      readonly finished?: FinishedRequest
    }

const absent: AuthRequestState = { status: "absent" }

/** The time to sign in plus the lifetime of a token: until then, reusing a code ends its grant. */
const retentionMs = 13 * 3_600_000

/** One authorization request in one browser, until its code is used. */
export const authRequest = aggregate<AuthRequestEvent, AuthRequestState>({
  stream: "auth_request",
  retention: "transient",
  expires: (state) => (state.status === "absent" ? undefined : state.created + retentionMs),
  revision: 6,
  initial: absent,
  evolve: {
    "auth_request.added": (_, { data: { agentId, asked }, private: secret, time }) => {
      const { loginHint, ...echoed } = secret ?? { loginHint: "" }
      const whole = { ...asked, ...echoed }
      return { status: "open", agentId, asked: whole, loginHint, created: time, sessionId: "" }
    },
    "auth_request.session.linked": (state, { data }) =>
      state.status === "open" ? { ...state, sessionId: data.sessionId } : state,
    "auth_request.consent.given": (state, { data: { sessionId, ...allowedWhen } }) =>
      state.status === "open" ? { ...state, sessionId, consent: sessionId, allowedWhen } : state,
    "auth_request.consent.denied": (state) =>
      state.status === "open" ? { ...state, isDenied: true } : state,
    "auth_request.code.added": (state, { data, time }) =>
      state.status === "open" ? { ...state, ...data, status: "answered", codeAt: time } : state,
    "auth_request.code.exchanged": (state, { data: { grantId, clientId }, time }) => {
      if (state.status === "answered") {
        return {
          status: "exchanged",
          created: state.created,
          clientId: state.asked.clientId,
          grantId,
          exchangedAt: time,
          ...(state.asked.challenge !== undefined && { challenge: state.asked.challenge }),
          finished: finishedRequestOf(state),
        }
      }
      return clientId === undefined
        ? state
        : { status: "exchanged", created: time, clientId, grantId, exchangedAt: time }
    },
    "auth_request.failed": (state, { time }) =>
      state.status === "open" && state.asked.testedBy === undefined
        ? { status: "failed", created: time, finished: finishedRequestOf(state) }
        : { status: "failed", created: time },
  },
})

function finishedRequestOf({ agentId, asked }: OpenRequest): FinishedRequest {
  const { clientId, appId, redirectUri, languages } = asked
  return { agentId, clientId, appId, redirectUri, languages }
}
