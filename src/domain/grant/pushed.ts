import { aggregate, type Draft, type Event, type Transaction } from "../../store/index.ts"

export type PushedRequestEvent =
  | Event<"pushed_request.added", { readonly clientId: string }, { readonly search: string }>
  | Event<"pushed_request.used">

type PushedRequest =
  | { readonly status: "absent" }
  | {
      readonly status: "waiting" | "used"
      readonly clientId: string
      /** The parameters, form-urlencoded; empty once they were used. */
      readonly search: string
      readonly expires: number
    }

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
      clientId: data.clientId,
      search: secret?.search ?? "",
      expires: time + pushedLifetimeSeconds * 1000,
    }),
    "pushed_request.used": (state) =>
      state.status === "absent" ? state : { ...state, status: "used", search: "" },
  },
})

type NewPushedRequest = { readonly clientId: string; readonly search: string }

/** Keeps a request for the browser that will come. */
export function pushRequest(tx: Transaction, id: string, pushed: NewPushedRequest): void {
  const { clientId, search } = pushed
  const added: Draft<PushedRequestEvent> = {
    type: "pushed_request.added",
    data: { clientId },
    private: { search },
  }
  tx.append(pushedRequest, id, [added])
}

type Taken = { readonly search: string } | { readonly over: "old" | "other_client" | "used" }

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
  return { search: state.search }
}
