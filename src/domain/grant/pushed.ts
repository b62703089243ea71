import { Fault } from "../../kernel/fault.ts"
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

const minute = 60_000

const absent: PushedRequest = { status: "absent" }

/** How long a browser has to come with what its application pushed. */
export const pushedLifetimeSeconds = 60

/** How long a person has to sign in, ms. */
export const requestLifetimeMs = 60 * 60_000

/** RFC 9126: an authorization request that its client has sent ahead of the browser. */
export const pushedRequest = aggregate<PushedRequestEvent, PushedRequest>({
  stream: "pushed_request",
  retention: "transient",
  revision: 2,
  initial: absent,
  // Its last sign-in can begin when it expires, and must then learn whether it was used meanwhile.
  expires: (state) =>
    state.status === "absent" ? undefined : state.expires + requestLifetimeMs + minute,
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

/** What was pushed, or why nobody may come with it. */
type Found =
  | Pick<NewPushedRequest, "search" | "testedBy">
  | { readonly over: "old" | "other_client" | "used" }

/** What a client has pushed, while it is valid and was not used. */
export const findPushedRequest = (cx: Cx, id: string, clientId: string): Found =>
  foundIn(cx.store.state(cx, pushedRequest, id), clientId, cx.clock.now())

function foundIn(state: PushedRequest, clientId: string, now: number): Found {
  if (state.status === "absent") return { over: "old" }
  if (state.clientId !== clientId) return { over: "other_client" }
  if (state.status === "used") return { over: "used" }
  if (now >= state.expires) return { over: "old" }
  const { search, testedBy } = state
  return { search, ...(testedBy !== undefined && { testedBy }) }
}

/** Takes what was pushed, once, before anybody signs in; or says why it can't be taken. */
export function takePushedRequest(tx: Transaction, id: string, clientId: string): Found {
  const found = foundIn(tx.state(pushedRequest, id), clientId, tx.now)
  if (!("over" in found)) spendPushedRequest(tx, id)
  return found
}

/**
 * RFC 9126 §4: uses a request up, as the first part of its answer. Fails where it was answered
 * meanwhile, since it may have been opened several times.
 */
export function spendPushedRequest(tx: Transaction, id: string): void {
  if (tx.state(pushedRequest, id).status !== "waiting") throw requestOverError()
  const used: Draft<PushedRequestEvent> = {
    type: "pushed_request.used",
    data: {},
    erase: { types: ["pushed_request.added"] },
  }
  tx.append(pushedRequest, id, [used])
}

/** RFC 9126: the pushed request that an authorization request came in. */
export type PushedReference = {
  readonly id: string
  /** Whether it counts against the limit of its address until it is answered. */
  readonly isCharged: boolean
}

type Came = { readonly pushed?: PushedReference }

/** Whether a request was answered where it was opened once more, or nobody knows any more. */
export const isPushedOver = (read: Pick<Transaction, "state">, { pushed }: Came): boolean =>
  pushed !== undefined && read.state(pushedRequest, pushed.id).status !== "waiting"

/** Refunds what a pushed request has cost, once it is answered. */
export function refundPushed(cx: Cx, { pushed }: Came): void {
  if (pushed?.isCharged) cx.allowance?.refund("request")
}

const requestOver = "auth_request.over"

export const requestOverError = () =>
  new Fault(
    "failed_precondition",
    requestOver,
    "this sign-in is over; go back to the application and start again",
  )

/** Whether something failed because the request was answered meanwhile, or has expired. */
export const isRequestOver = (cause: unknown): boolean =>
  cause instanceof Fault && cause.id === requestOver
