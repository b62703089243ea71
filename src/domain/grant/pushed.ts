import { aggregate, type Cx, type Draft, type Event, type Transaction } from "../../store/index.ts"

type Pushed = {
  readonly clientId: string
  /** Who tries the application out with it; absent where the application itself has sent it. */
  readonly testedBy?: string
}

export type PushedRequestEvent =
  | Event<"pushed_request.added", Pushed, { readonly search: string }>
  | Event<"pushed_request.used">

type PushedRequest =
  | { readonly status: "absent" }
  | (Pushed & {
      readonly status: "waiting" | "used"
      /** The parameters, form-urlencoded; empty once they were used. */
      readonly search: string
      readonly expires: number
    })

const absent: PushedRequest = { status: "absent" }

/** How long a browser has to come with what its application pushed. */
export const pushedLifetimeSeconds = 60

/** RFC 9126: an authorization request that its client has sent ahead of the browser. */
export const pushedRequest = aggregate<PushedRequestEvent, PushedRequest>({
  stream: "pushed_request",
  retention: "transient",
  initial: absent,
  expires: (state) => (state.status === "absent" ? undefined : state.expires),
  evolve: {
    "pushed_request.added": (_, { data, private: secret, time }) => ({
      status: "waiting",
      ...data,
      search: secret?.search ?? "",
      expires: time + pushedLifetimeSeconds * 1000,
    }),
    "pushed_request.used": (state) =>
      state.status === "absent" ? state : { ...state, status: "used", search: "" },
  },
})

type NewPushedRequest = Pushed & { readonly search: string }

/** Keeps a request for the browser that will come. */
export function pushRequest(tx: Transaction, id: string, pushed: NewPushedRequest): void {
  const { search, ...data } = pushed
  const added: Draft<PushedRequestEvent> = {
    type: "pushed_request.added",
    data,
    private: { search },
  }
  tx.append(pushedRequest, id, [added])
}

/** RFC 9126 §2.2: what begins so is a request that was pushed here, and fetched from nowhere. */
const prefix = "urn:ietf:params:oauth:request_uri:"

/** The name of a request that was pushed, for whoever shall come with it. */
export const requestUri = (cx: Cx, id: string): string =>
  prefix + cx.secrets.seal("token", id, aboutOf(cx))

/** Which request a name stands for; undefined for a name that we have not given. */
export const requestNamed = (cx: Cx, uri: string): string | undefined =>
  uri.startsWith(prefix)
    ? cx.secrets.open("token", uri.slice(prefix.length), aboutOf(cx))
    : undefined

/** Ids may repeat across instances: a name of one must not open in another. */
const aboutOf = (cx: Cx) => `request_uri/${cx.instance}`

export type TakenRequest = Pick<NewPushedRequest, "search" | "testedBy">

type Taken = TakenRequest | { readonly over: "old" | "other_client" | "used" }

/** Takes what a client has pushed, once; or says why it can't be taken. */
export function takePushedRequest(tx: Transaction, id: string, clientId: string): Taken {
  const state = tx.state(pushedRequest, id)
  if (state.status === "absent") return { over: "old" }
  if (state.clientId !== clientId) return { over: "other_client" }
  if (state.status === "used") return { over: "used" }
  if (tx.now >= state.expires) return { over: "old" }
  const used: Draft<PushedRequestEvent> = {
    type: "pushed_request.used",
    data: {},
    erase: { types: ["pushed_request.added"] },
  }
  tx.append(pushedRequest, id, [used])
  const { search, testedBy } = state
  return { search, ...(testedBy !== undefined && { testedBy }) }
}
