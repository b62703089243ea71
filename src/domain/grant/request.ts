import { aggregate, type Event } from "../../store/index.ts"
import type { Binding, NameIdFormat } from "../../xml/names.ts"
import type { PushedReference } from "./pushed.ts"

export type Prompt = "none" | "login" | "select_account" | "consent" | "create"
export type ResponseMode = "query" | "fragment" | "form_post"
/** What the client gets at the front channel; the words in the order of the alphabet. */
export type ResponseType = "code" | "id_token" | "id_token token"

/** OpenID Connect Core §5.5: names of single claims, for the id_token and for userinfo. */
export type RequestedClaims = {
  readonly idToken: readonly string[]
  readonly userinfo: readonly string[]
}

/** What a client asked for at the authorization endpoint, checked. */
export type Requested = {
  readonly clientId: string
  readonly appId: string
  readonly redirectUri: string
  /** Absent in requests from before there was another: a code. */
  readonly responseType?: ResponseType
  readonly responseMode: ResponseMode
  readonly scopes: readonly string[]
  /** What was asked for, too, and not granted. */
  readonly leftOut?: readonly string[]
  readonly audience: readonly string[]
  /** Those of the audience that the person must allow by name; absent where there are none. */
  readonly foreign?: readonly string[]
  readonly state?: string
  readonly nonce?: string
  /** S256 of the PKCE verifier. */
  readonly challenge?: string
  readonly prompts: readonly Prompt[]
  /** Seconds. */
  readonly maxAge?: number
  readonly languages: readonly string[]
  /** The user that an id_token_hint, or a claim that is asked for, names. */
  readonly hintedUser?: string
  readonly claims?: RequestedClaims
  /** Values of `acr` that are wished for; any where there are none, absent where none is. */
  readonly acr?: readonly string[]
  /** `acr_values` as they were sent, for providers that know others than we do; best first. */
  readonly acrValues?: readonly string[]
  /** Whether it is worth nothing without more than one factor. */
  readonly needsFactor?: boolean
  /** RFC 9449 §10: thumbprint of the key that the code is bound to. */
  readonly dpopJkt?: string
  /** The organisation whose users alone may sign in; "" is nobody's. */
  readonly home?: string
  /** Whom the answer is for, where that is a device and no redirect URI. */
  readonly device?: { readonly id: string; readonly userCode: string }
  /** The pushed request that it came in, which its answer uses up. */
  readonly pushed?: PushedReference
  /** Who tries the application out: they alone see what comes of it, and no client does. */
  readonly testedBy?: string
  /** Of an application that speaks SAML: it has no client id, and gets no code. */
  readonly saml?: SamlRequested
}

/** Whether a request asks for a code, and not for the tokens themselves. */
export const isForCode = ({ responseType = "code" }: Pick<Requested, "responseType">): boolean =>
  responseType === "code"

/** What a service provider asked for, checked (SAML Core §3.4.1). */
export type SamlRequested = {
  /** Who the service provider says it is. */
  readonly entityId: string
  /** The ID of its request; absent where nobody has asked, and the sign-in began here. */
  readonly requestId?: string
  /** How it wants the answer. */
  readonly binding: Binding
  readonly nameIdFormat: NameIdFormat
  /** Classes of which the sign-in must fit one, best first; absent where any will do. */
  readonly contexts?: readonly string[]
  /** Whether a sign-in that fits none of them is answered all the same, with what it was. */
  readonly isContextOptional?: true
  /** Whether a class needs a password. */
  readonly needsPassword?: true
}

/**
 * The last withdrawal before the answer, of the user from the application; absent where there was
 * none. A later one voids the code.
 */
type LastWithdrawal = { readonly withdrawalId?: string }

/** What a consent to a request relies on until its answer; absent in events from before. */
type AllowedWhen = {
  /** The last withdrawal before it; empty where there was none. Any other one voids the consent. */
  readonly withdrawalId?: string
  /** As `Registration.identity` was; absent where the application did not register itself. */
  readonly identity?: number
}

/**
 * A request that was answered as it came, by a session that the browser had: the code says it all,
 * so nothing is written until the code is used.
 */
export type AnsweredAtOnce = LastWithdrawal & {
  readonly asked: Requested
  readonly sessionId: string
  /** ms UTC. */
  readonly codeAt: number
}

/** What the client alone is to know again, by which it tells its own answer from another's. */
type Echoed = Pick<Requested, "state" | "nonce">

export type AuthRequestEvent =
  /** In requests from before, what is echoed stands in `asked`. */
  | Event<
      "auth_request.added",
      { readonly agentId: string; readonly asked: Requested },
      { readonly loginHint: string } & Echoed
    >
  | Event<"auth_request.session.linked", { readonly sessionId: string }>
  | Event<"auth_request.consent.given", { readonly sessionId: string } & AllowedWhen>
  | Event<"auth_request.consent.denied">
  | Event<"auth_request.code.added", { readonly sessionId: string } & LastWithdrawal>
  | Event<
      "auth_request.code.exchanged",
      {
        readonly grantId: string
        /** Whose code it was, where nothing was kept of the request before. */
        readonly clientId?: string
      }
    >
  | Event<"auth_request.failed", { readonly reason: string }>

type Open = {
  readonly agentId: string
  readonly asked: Requested
  readonly loginHint: string
  readonly created: number
  /** The session that was chosen or made for this request; empty before. */
  readonly sessionId: string
  /** The session whose person has allowed what is asked for; absent before. */
  readonly consent?: string
  /** When that was; see `consentTo`. */
  readonly allowedWhen?: AllowedWhen
  /** Whether the person has refused it. */
  readonly isDenied?: boolean
}

/** What is kept of a finished request, so that its browser can be led to the application. */
export type FinishedRequest = Pick<Open, "agentId"> &
  Pick<Requested, "clientId" | "appId" | "redirectUri" | "languages">

/** `answered`: a code is under way, since `codeAt`. `exchanged`: it has become a grant. */
export type AuthRequest =
  | { readonly status: "absent" }
  | {
      readonly status: "failed"
      readonly created: number
      readonly finished?: FinishedRequest
    }
  | (Open & { readonly status: "open" })
  | (Open & LastWithdrawal & { readonly status: "answered"; readonly codeAt: number })
  | {
      readonly status: "exchanged"
      readonly created: number
      readonly clientId: string
      readonly grantId: string
      /** When its code was used, ms UTC; absent in requests of earlier versions. */
      readonly exchangedAt?: number
      /** Of the request; a code that says it all contains it instead. */
      readonly challenge?: string
      /** Absent where nothing was kept of the request before its code was used. */
      readonly finished?: FinishedRequest
    }

const absent: AuthRequest = { status: "absent" }

/** As long as a person has to sign in and a token counts: a code shown again ends its grant. */
const kept = 13 * 3_600_000

/** One run of the authorization endpoint in one browser, until its code was used. */
export const authRequest = aggregate<AuthRequestEvent, AuthRequest>({
  stream: "auth_request",
  retention: "transient",
  expires: (state) => (state.status === "absent" ? undefined : state.created + kept),
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
          finished: finishedOf(state),
        }
      }
      return clientId === undefined
        ? state
        : { status: "exchanged", created: time, clientId, grantId, exchangedAt: time }
    },
    "auth_request.failed": (state, { time }) =>
      state.status === "open" && state.asked.testedBy === undefined
        ? { status: "failed", created: time, finished: finishedOf(state) }
        : { status: "failed", created: time },
  },
})

function finishedOf({ agentId, asked }: Open): FinishedRequest {
  const { clientId, appId, redirectUri, languages } = asked
  return { agentId, clientId, appId, redirectUri, languages }
}
