import { aggregate, type Event } from "../../../store/index.ts"

/** Who has begun an intent. */
export type Begun = {
  readonly idpId: string
  /** The browser that began it on our own pages; empty where an application did by the API. */
  readonly agentId: string
  /** The sign-in that it is for; empty for none. */
  readonly requestId: string
  /** Who began it by the API; empty for a browser. */
  readonly creatorId: string
  /** To whom it is to link who comes back; absent where it signs somebody in. */
  readonly linkUserId?: string
}

/** Where the browser goes in the end; empty on our own pages. */
export type Back = { readonly successUrl: string; readonly failureUrl: string }

export type IntentEvent =
  /**
   * Sealed: what is compared when the provider answers (nonce, code verifier). In those from before
   * the way back stands in the data.
   */
  | Event<
      "idpintent.started",
      Begun & Partial<Back>,
      { readonly sealed: string; readonly stateHash: string } & Partial<Back>
    >
  /** Sealed: who it is at the provider, and the tokens of the provider. */
  | Event<
      "idpintent.succeeded",
      Record<never, never>,
      { readonly sealed: string; readonly tokenHash: string }
    >
  /** What a form has brought that its browser has not taken up yet; sealed as the next one is. */
  | Event<"idpintent.saml.succeeded", Record<never, never>, { readonly sealed: string }>
  /** The same where nobody was sent anywhere: begun and done in one. */
  | Event<
      "idpintent.ldap.succeeded",
      Begun,
      { readonly sealed: string; readonly tokenHash: string }
    >
  | Event<"idpintent.failed", { readonly reason: string }>
  | Event<"idpintent.consumed">

type Kept = Begun & {
  readonly sealed: string
  /** ms UTC. */
  readonly expires: number
}

export type Intent =
  | { readonly status: "absent" }
  | (Kept & Back & { readonly status: "started"; readonly stateHash: string })
  | (Kept & { readonly status: "brought" })
  | (Kept & { readonly status: "succeeded"; readonly tokenHash: string })
  | (Kept & { readonly status: "ended" })

const minute = 60_000

/** Ten minutes to the provider and back, an hour to use what came of it. */
export const intentLifetimes = { started: 10 * minute, succeeded: 60 * minute } as const

function ended(state: Intent): Intent {
  return state.status === "absent" ? state : { ...keptOf(state), status: "ended", sealed: "" }
}

/** What is still known of one that was begun when what it began with is erased. */
function keptOf(found: Kept): Kept {
  const { idpId, agentId, requestId, creatorId, linkUserId, sealed, expires } = found
  const linking = linkUserId === undefined ? {} : { linkUserId }
  return { idpId, agentId, requestId, creatorId, ...linking, sealed, expires }
}

/** One sign-in with an identity provider; it is used once. */
export const intent = aggregate<IntentEvent, Intent>({
  stream: "idpintent",
  retention: "transient",
  // An hour for clocks that are wrong.
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
            ...keptOf(state),
            status: "succeeded",
            sealed: secret?.sealed ?? "",
            tokenHash: secret?.tokenHash ?? "",
            expires: time + intentLifetimes.succeeded,
          }
        : state,
    "idpintent.saml.succeeded": (state, { private: secret }) =>
      state.status === "started"
        ? { ...keptOf(state), status: "brought", sealed: secret?.sealed ?? "" }
        : state,
    "idpintent.ldap.succeeded": (_, { data, private: secret, time }) => ({
      ...data,
      status: "succeeded",
      sealed: secret?.sealed ?? "",
      tokenHash: secret?.tokenHash ?? "",
      expires: time + intentLifetimes.succeeded,
    }),
    "idpintent.failed": ended,
    "idpintent.consumed": ended,
  },
})
