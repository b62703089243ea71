import type { Peer } from "../kernel/net/address.ts"

/** Answers requests. */
export type RequestHandler = {
  readonly answer: (request: Request, peer: Peer) => Promise<Response>
  /** Returns frequently requested documents synchronously; undefined for all other requests. */
  readonly publishedDocument: (request: Request) => Response | undefined
}

/** Observes every request and its response, and can replace the response. */
export type Watcher = {
  readonly answer: (
    request: Request,
    peer: Peer,
    next: () => Promise<Response>,
  ) => Promise<Response>
  readonly publishedDocument?: (
    request: Request,
    next: () => Response | undefined,
  ) => Response | undefined
}

/** Wraps a request handler with a watcher. */
export const withWatcher = (
  { answer, publishedDocument }: RequestHandler,
  watcher: Watcher,
): RequestHandler => ({
  answer: (request, peer) => watcher.answer(request, peer, () => answer(request, peer)),
  publishedDocument: (request) =>
    watcher.publishedDocument
      ? watcher.publishedDocument(request, () => publishedDocument(request))
      : publishedDocument(request),
})
