import { aggregate, type Event } from "../../store/index.ts"

/** What a person allowed a client, through one sign-in session. */
type Given = {
  readonly clientId: string
  readonly appId: string
  readonly userId: string
  readonly sessionId: string
  readonly scopes: readonly string[]
  readonly audience: readonly string[]
}

export type GrantEvent =
  | Event<"oidc_session.added", Given>
  | Event<"oidc_session.terminated", { readonly reason: string }>

export type Grant =
  | { readonly status: "absent" }
  | (Given & { readonly status: "active" | "ended" })

const absent: Grant = { status: "absent" }

/** Tokens hang from it: when it ends, they are worth nothing. */
export const grant = aggregate<GrantEvent, Grant>({
  stream: "oidc_session",
  retention: "transient",
  initial: absent,
  evolve: {
    "oidc_session.added": (_, { data }) => ({ ...data, status: "active" }),
    "oidc_session.terminated": (state) =>
      state.status === "absent" ? state : { ...state, status: "ended" },
  },
})
