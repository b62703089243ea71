import type { Peer } from "../kernel/net/address.ts"

/** What answers requests. */
export type Answering = {
  readonly answer: (request: Request, peer: Peer) => Promise<Response>
  /** The hot documents, at once; undefined for what `answer` is for. */
  readonly published: (request: Request) => Response | undefined
}

/** What sees every request and its response; it may put another response in its place. */
export type Watcher = {
  readonly answer: (
    request: Request,
    peer: Peer,
    next: () => Promise<Response>,
  ) => Promise<Response>
  readonly published?: (request: Request, next: () => Response | undefined) => Response | undefined
}

/** The same, seen by a watcher. */
export const watchedBy = ({ answer, published }: Answering, watcher: Watcher): Answering => ({
  answer: (request, peer) => watcher.answer(request, peer, () => answer(request, peer)),
  published: (request) =>
    watcher.published ? watcher.published(request, () => published(request)) : published(request),
})
