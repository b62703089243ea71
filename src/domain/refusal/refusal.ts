import type { Page } from "../../kernel/page.ts"
import { type Cx, paginate, type Store } from "../../store/index.ts"
import { app, findClient, findReferencedApplication } from "../app/index.ts"
import type { Finding } from "./finding.ts"

/** A rejected request of an application, with the reasons. */
export type Refusal = {
  /** Identifies the request; also in the response and the log. */
  readonly requestId: string
  /** ms UTC. */
  readonly time: number
  /** The request path. */
  readonly endpoint: string
  /** The response to the client. */
  readonly error: string
  readonly description: string
  /** The client ID in the request; it may not exist. */
  readonly clientId: string
  /** The application, if the request identifies it in another way. */
  readonly appId?: string
  readonly findings: readonly Finding[]
}

/** `sequence` numbers the rejected requests of an instance. */
type StoredRefusal = Refusal & { readonly sequence: number }

const refusalsByStore = new WeakMap<Store, Map<string, StoredRefusal[]>>()

/** Per instance; the oldest are dropped. */
const refusalsMax = 500
const textMax = 500
const listMax = 20

/**
 * Records a rejected request in memory, for current troubleshooting. Anyone can cause one, so
 * their number and size are limited and nothing is stored on disk.
 */
export function storeRefusal(cx: Cx, refusal: Omit<Refusal, "requestId" | "time">): Refusal {
  const byInstance = refusalsByStore.get(cx.store) ?? new Map<string, StoredRefusal[]>()
  refusalsByStore.set(cx.store, byInstance)
  const refusals = byInstance.get(cx.instance) ?? []
  byInstance.set(cx.instance, refusals)
  const { endpoint, error, description, clientId, appId, findings } = refusal
  const { requestId } = cx
  const time = cx.clock.now()
  const noted = {
    requestId,
    time,
    endpoint,
    error,
    description,
    ...(appId !== undefined && { appId }),
    clientId: replaceControlCharacters(maskSecrets(clientId)).slice(0, textMax),
    findings: findings.slice(0, listMax).map(truncateFinding),
  }
  refusals.push({ ...noted, sequence: (refusals.at(-1)?.sequence ?? 0) + 1 })
  if (refusals.length > refusalsMax) refusals.shift()
  return noted
}

const truncateFinding = (finding: Finding): Finding => ({
  ...finding,
  subject: maskSecrets(finding.subject).slice(0, textMax),
  received: redact(finding, finding.received),
  expected: finding.expected.slice(0, listMax).map((text) => redact(finding, text)),
})

/**
 * Hashes are shown; any other text could contain a misplaced secret, including expected values,
 * which may come from another part of the request.
 */
const redact = ({ subject }: Finding, text: string): string =>
  (subject.startsWith("SHA-256 of ") ? text : maskSecrets(text)).slice(0, textMax)

/**
 * Masks likely secrets, which are sometimes sent in place of an ID: long words with letters of both
 * cases and digits. The first characters and the length are enough to find the mistake.
 */
const maskSecrets = (text: string): string =>
  text.replace(/[\w-]{32,}/g, (word) =>
    [/[a-z]/, /[A-Z]/, /\d/].every((kind) => kind.test(word))
      ? `${word.slice(0, 4)}… (${word.length} characters)`
      : word,
  )

/** Prevents log injection through client-supplied text. */
const replaceControlCharacters = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\u{FFFD}")

/** A rejected request with the application of its client. */
export type RefusalWithApplication = StoredRefusal & {
  readonly application: { readonly id: string; readonly name: string } | undefined
}

type SearchOptions = { readonly requestId: string; readonly appId: string; readonly page: Page }

/**
 * Rejected requests of applications in the caller's scope, newest first. Those of unknown clients
 * are visible only to callers who can see the whole instance.
 */
export function searchRefusals(cx: Cx, { requestId, appId, page }: SearchOptions) {
  const { scope } = cx
  if (!scope) throw new Error("searching rejected requests requires the scope of the caller")
  const all = refusalsByStore.get(cx.store)?.get(cx.instance) ?? []
  const seen = all.flatMap((refusal): readonly RefusalWithApplication[] => {
    const id = refusal.appId ?? findClient(cx, refusal.clientId)?.appId
    const state =
      id === undefined ? undefined : findReferencedApplication(cx, { clientId: "", appId: id })
    if (requestId !== "" && refusal.requestId !== requestId) return []
    if (appId !== "" && id !== appId) return []
    const owner = cx.store.receipt(cx, app, id ?? "")?.owner
    const isSeen =
      scope.all ||
      (state !== undefined &&
        (scope.orgs.includes(owner ?? "") || scope.projects.includes(state.projectId)))
    const application = id !== undefined && state ? { id, name: state.name } : undefined
    return isSeen ? [{ ...refusal, application }] : []
  })
  const requested = ["refusals", requestId, appId]
  return paginate(cx, seen, { page, requested, by: ({ sequence }) => [sequence] })
}
