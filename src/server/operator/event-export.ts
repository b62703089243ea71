import {
  createSealLine,
  hashOfLine,
  isSealedBy,
  parseSeal,
  publicJwkOf,
  type Seal,
} from "../../boot/audit/chain.ts"
import { type ExportPart, type ExportRequest, exportRequest } from "../../boot/audit/part.ts"
import type { Commands } from "../../boot/control.ts"
import { type OpenEvent, storedEventsOf } from "../../domain/history/index.ts"
import { removedInstances } from "../../domain/instance/index.ts"
import type { Signer } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { createOperatorCall, type TransferServices } from "./transfer-session.ts"

/** The number of events in a part; creating a part blocks other requests. */
const eventsMax = 200

/** The commands of a running server for exporting events. */
export const createEventExportControl = (services: TransferServices): Commands => ({
  "events-export": (input) => {
    const request = exportRequest.parse(input)
    return createPart(createExportCall(services, request), request)
  },
  "events-key": async (input) => {
    const cx = createExportCall(services, exportRequest.parse(input))
    return publicJwkOf(getSigner(cx).key)
  },
})

/** A call on the named instance, or on the instance of the file if it was removed. */
function createExportCall(services: TransferServices, { instance, seal }: ExportRequest): Cx {
  const named = instance ?? (seal === undefined ? undefined : parseSeal(seal)?.seal.instance)
  const removedInstance = removedInstances(services.store).find((each) => each.instance === named)
  return removedInstance
    ? services.call(removedInstance.instance, "transfer")
    : createOperatorCall(services, instance)
}

/** An event for the operator: with IDs but without names. */
export const eventForOperator = ({ editor, ...event }: OpenEvent) => ({
  position: event.position,
  time: event.time,
  type: event.type,
  stream: event.stream,
  id: event.id,
  owner: event.owner,
  data: event.data,
  client: editor.client,
  editor: editor.user,
})

/** The end of a file, from which the chain continues. */
type ChainEnd = Pick<Seal, "position" | "events" | "hash">

type PartInput = Pick<ExportRequest, "seal" | "after"> & {
  /** The seal of a part that was created before: recreates the same bytes. */
  readonly previousSeal?: Seal | undefined
}

/** The next lines after a seal, or the first lines, followed by a new seal. */
export async function createPart(cx: Cx, request: PartInput): Promise<ExportPart> {
  const { previousSeal } = request
  const signer = getSigner(cx, request.seal)
  const lines: string[] = []
  const chainEnd =
    request.seal === undefined ? createHeader(cx, signer, request) : resumeFrom(cx, request.seal)
  if (request.seal === undefined) lines.push(chainEnd.line)
  // Only durable events, because events lost in a power failure could otherwise be exported with
  // different content.
  const last = Math.min(cx.store.log.durable(), previousSeal?.position ?? Number.POSITIVE_INFINITY)
  const found = await storedEventsOf(cx, { from: chainEnd.position, asc: true, limit: eventsMax })
  const events = found.filter(({ position }) => position <= last).map(eventForOperator)
  let previous = hashOfLine(chainEnd.line)
  for (const event of events) {
    const line = JSON.stringify({ previous, ...event })
    previous = hashOfLine(line)
    lines.push(line)
  }
  if (lines.length === 0) return { lines, isMore: false }
  const position = events.at(-1)?.position ?? chainEnd.position
  const count = chainEnd.events + events.length
  const iat = previousSeal?.iat ?? Math.floor(cx.clock.now() / 1000)
  const seal = { instance: cx.instance, position, events: count, hash: previous, iat }
  return { lines: [...lines, createSealLine(signer, seal)], isMore: events.length === eventsMax }
}

/** The first line describes the file and the key of its seals. */
function createHeader(cx: Cx, { id, key }: Signer, { after = 0 }: ExportRequest) {
  const jwk = { ...publicJwkOf(key), kid: id }
  const head = { latchkey: "events", version: 1, instance: cx.instance, after, key: jwk }
  return { position: after, events: 0, hash: "", line: JSON.stringify(head) }
}

/** Continues only from a seal of this server, so that it never signs foreign lines. */
function resumeFrom(cx: Cx, line: string): ChainEnd & { readonly line: string } {
  const { kid = "", seal } = parseSeal(line) ?? {}
  const signer = cx.secrets.signer(sealContextOf(cx), kid)
  const isOurs = signer !== undefined && isSealedBy(signer.key, line)
  if (!seal || !isOurs || seal.instance !== cx.instance) throw foreignSealError()
  return { ...seal, line }
}

const sealContextOf = ({ instance }: Cx): string => `events of ${instance}`

/** A file has the same key from beginning to end. */
function getSigner(cx: Cx, seal?: string): Signer {
  const signer = cx.secrets.signer(sealContextOf(cx), seal && parseSeal(seal)?.kid)
  if (signer) return signer
  throw foreignSealError()
}

const foreignSealError = () =>
  new Fault(
    "failed_precondition",
    "events.seal_foreign",
    "the last seal in the file is from another server; name a new file",
  )
