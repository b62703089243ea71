import { aggregate, type Event } from "../../../store/index.ts"

/** Who started an intent and for what. */
export type IntentOrigin = {
  readonly idpId: string
  /** The browser that started it on the login pages; empty if started through the API. */
  readonly agentId: string
  /** The sign-in it belongs to; empty if none. */
  readonly requestId: string
  /** The user who started it through the API; empty for a browser. */
  readonly creatorId: string
  /** The user to link the external account to; absent for a sign-in. */
  readonly linkUserId?: string
}

/** Where the browser is sent after the answer; empty on the login pages. */
export type ReturnUrls = { readonly successUrl: string; readonly failureUrl: string }

export type IntentEvent =
  /**
   * Sealed: values that the answer is checked against (nonce, code verifier). In older events the
   * return URLs are in the data.
   */
  | Event<
      "idpintent.started",
      IntentOrigin & Partial<ReturnUrls>,
      { readonly sealed: string; readonly stateHash: string } & Partial<ReturnUrls>
    >
  /** Sealed: the user at the provider, and the provider's tokens. */
  | Event<
      "idpintent.succeeded",
      Record<never, never>,
      { readonly sealed: string; readonly tokenHash: string }
    >
  /** A posted answer that the browser has not retrieved yet; sealed like the next one. */
  | Event<"idpintent.saml.succeeded", Record<never, never>, { readonly sealed: string }>
  /** Started and answered in one event, without a redirect. */
  | Event<
      "idpintent.ldap.succeeded",
      IntentOrigin,
      { readonly sealed: string; readonly tokenHash: string }
    >
  | Event<"idpintent.failed", { readonly reason: string }>
  | Event<"idpintent.consumed">

type StoredIntent = IntentOrigin & {
  readonly sealed: string
  /** ms UTC. */
  readonly expires: number
}

export type Intent =
  | { readonly status: "absent" }
  | (StoredIntent & ReturnUrls & { readonly status: "started"; readonly stateHash: string })
  | (StoredIntent & { readonly status: "brought" })
  | (StoredIntent & { readonly status: "succeeded"; readonly tokenHash: string })
  | (StoredIntent & { readonly status: "ended" })

const minute = 60_000

/** Ten minutes for the provider to answer, one hour to use the answer. */
export const intentLifetimes = { started: 10 * minute, succeeded: 60 * minute } as const

function endedState(state: Intent): Intent {
  return state.status === "absent" ? state : { ...storedFields(state), status: "ended", sealed: "" }
}

/** The fields that remain after the start event is erased. */
function storedFields(stored: StoredIntent): StoredIntent {
  const { idpId, agentId, requestId, creatorId, linkUserId, sealed, expires } = stored
  const linking = linkUserId === undefined ? {} : { linkUserId }
  return { idpId, agentId, requestId, creatorId, ...linking, sealed, expires }
}

/** One sign-in with an identity provider; can be used once. */
export const intent = aggregate<IntentEvent, Intent>({
  stream: "idpintent",
  retention: "transient",
  // One hour of tolerance for clock skew.
  expires: (state) => (state.status === "absent" ? undefined : state.expires + 60 * minute),
  revision: 1,
  initial: { status: "absent" },
  evolve: {
    "idpintent.started": (_, { data, private: secret, time }) => ({
      ...data,
      successUrl: secret?.successUrl ?? data.successUrl ?? "",
      failureUrl: secret?.failureUrl ?? data.failureUrl ?? "",
      status: "started",
      sealed: secret?.sealed ?? "",
      stateHash: secret?.stateHash ?? "",
      expires: time + intentLifetimes.started,
    }),
    "idpintent.succeeded": (state, { private: secret, time }) =>
      state.status === "started" || state.status === "brought"
        ? {
            ...storedFields(state),
            status: "succeeded",
            sealed: secret?.sealed ?? "",
            tokenHash: secret?.tokenHash ?? "",
            expires: time + intentLifetimes.succeeded,
          }
        : state,
    "idpintent.saml.succeeded": (state, { private: secret }) =>
      state.status === "started"
        ? { ...storedFields(state), status: "brought", sealed: secret?.sealed ?? "" }
        : state,
    "idpintent.ldap.succeeded": (_, { data, private: secret, time }) => ({
      ...data,
      status: "succeeded",
      sealed: secret?.sealed ?? "",
      tokenHash: secret?.tokenHash ?? "",
      expires: time + intentLifetimes.succeeded,
    }),
    "idpintent.failed": endedState,
    "idpintent.consumed": endedState,
  },
})
