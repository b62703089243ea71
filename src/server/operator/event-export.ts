import {
  hashOfLine,
  isSealedBy,
  publicJwkOf,
  readSeal,
  type Seal,
  sealLine,
} from "../../boot/audit/chain.ts"
import { type ExportAsked, type ExportPart, exportAsked } from "../../boot/audit/part.ts"
import type { Commands } from "../../boot/control.ts"
import { type OpenEvent, storedEventsOf } from "../../domain/history/index.ts"
import { removedInstances } from "../../domain/instance/index.ts"
import type { Signer } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { callOn, type Lent } from "./session.ts"

/** Events of one part, while which is made nobody else is answered. */
const most = 200

/** What the command line asks a running server for that keeps its events elsewhere. */
export const eventExportOf = (services: Lent): Commands => ({
  "events-export": (input) => {
    const asked = exportAsked.parse(input)
    return partOf(exportCallOn(services, asked), asked)
  },
  "events-key": async (input) => {
    const cx = exportCallOn(services, exportAsked.parse(input))
    return publicJwkOf(signerOf(cx).key)
  },
})

/** On the instance that is named, or that the file is of where that is removed by now. */
function exportCallOn(services: Lent, { instance, seal }: ExportAsked): Cx {
  const named = instance ?? (seal === undefined ? undefined : readSeal(seal)?.seal.instance)
  const gone = removedInstances(services.store).find((each) => each.instance === named)
  return gone ? services.call(gone.instance, "transfer") : callOn(services, instance)
}

/** As whoever runs the server is told of it: by ids, without names. */
export const shownEvent = ({ editor, ...event }: OpenEvent) => ({
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

/** Where a file stands: all that follows hangs from it. */
type Standing = Pick<Seal, "position" | "events" | "hash">

type Wanted = Pick<ExportAsked, "seal" | "after"> & {
  /** The seal of a part that was made before: the same once more, by the byte. */
  readonly again?: Seal | undefined
}

/** The next lines behind a seal, or the first, with a seal of their own at the end. */
export async function partOf(cx: Cx, asked: Wanted): Promise<ExportPart> {
  const { again } = asked
  const signer = signerOf(cx, asked.seal)
  const lines: string[] = []
  const standing = asked.seal === undefined ? begin(cx, signer, asked) : resumed(cx, asked.seal)
  if (asked.seal === undefined) lines.push(standing.line)
  // What a power cut could still take is told once it can't: nothing is to be told twice otherwise.
  const last = Math.min(cx.store.log.durable(), again?.position ?? Number.POSITIVE_INFINITY)
  const found = await storedEventsOf(cx, { from: standing.position, asc: true, limit: most })
  const events = found.filter(({ position }) => position <= last).map(shownEvent)
  let previous = hashOfLine(standing.line)
  for (const event of events) {
    const line = JSON.stringify({ previous, ...event })
    previous = hashOfLine(line)
    lines.push(line)
  }
  if (lines.length === 0) return { lines, isMore: false }
  const position = events.at(-1)?.position ?? standing.position
  const count = standing.events + events.length
  const iat = again?.iat ?? Math.floor(cx.clock.now() / 1000)
  const seal = { instance: cx.instance, position, events: count, hash: previous, iat }
  return { lines: [...lines, sealLine(signer, seal)], isMore: events.length === most }
}

/** The first line says what the file is, and which key has sealed it. */
function begin(cx: Cx, { id, key }: Signer, { after = 0 }: ExportAsked) {
  const jwk = { ...publicJwkOf(key), kid: id }
  const head = { latchkey: "events", version: 1, instance: cx.instance, after, key: jwk }
  return { position: after, events: 0, hash: "", line: JSON.stringify(head) }
}

/** Goes on from a seal of this server's own alone: it never signs what others have written. */
function resumed(cx: Cx, line: string): Standing & { readonly line: string } {
  const { kid = "", seal } = readSeal(line) ?? {}
  const signer = cx.secrets.signer(aboutOf(cx), kid)
  const isOurs = signer !== undefined && isSealedBy(signer.key, line)
  if (!seal || !isOurs || seal.instance !== cx.instance) throw foreignError()
  return { ...seal, line }
}

const aboutOf = ({ instance }: Cx): string => `events of ${instance}`

/** A file has one key from beginning to end. */
function signerOf(cx: Cx, seal?: string): Signer {
  const signer = cx.secrets.signer(aboutOf(cx), seal && readSeal(seal)?.kid)
  if (signer) return signer
  throw foreignError()
}

const foreignError = () =>
  new Fault(
    "failed_precondition",
    "events.seal_foreign",
    "the last seal in the file is not this server's; name a file that does not exist yet",
  )
